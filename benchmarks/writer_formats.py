"""Which form of answer a small model can give: parse rate of the memory writer's candidates on the embedded model.

Session transcripts (of LoCoMo-style dialogues given by path, else made up) are put to the real embedded
model once for each candidate form: the marked sections the writer asks for, JSON held to a schema by the
server, and plain labelled lines. Each answer goes through the writer's own reading and checks. Printed for
each form: how many answers could be read, how many proposals survived the checks, and how many of their
sentences have turns behind them. The last row is the extractive form, which asks no model.

Run `python -m benchmarks.writer_formats [DIALOGUES.json] [--limit N] [--form FORM] [--json]`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.llm.embedded.client import EmbeddedModel
from familiar_connect.llm.embedded.server import EmbeddedServer
from familiar_connect.llm.openai_compatible import CallLimits
from familiar_connect.llm.types import Message
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import parts_of
from familiar_connect.memory.writing.attribution import SourceFinder
from familiar_connect.memory.writing.batch import Batch, Bounds, cut_batch, format_transcript
from familiar_connect.memory.writing.plan import Plan
from familiar_connect.memory.writing.plan_edits import (
    WriterRun,
    interpret_reply,
    plan_from_answer,
    plan_from_transcript,
)
from familiar_connect.memory.writing.prompt import PromptMaterial, build_messages
from familiar_connect.support.text import sentences

TURNS = 8
BOUNDS = Bounds(turns=TURNS, transcript=1_200, turn=200)
MAX_TOKENS = 200
START = datetime(2026, 4, 7, 19, 0, tzinfo=UTC)
NAME = "Wren"
FORMS = ("sections", "json", "lines")

LINES = (
    "Read the conversation. Write down what is worth remembering, one thing a line, in exactly this form:\n"
    "SUMMARY: what happened, in one sentence\n"
    "PERSON slug: one thing about that person\n"
    "TOPIC name: one thing about that topic\n"
    "Write only such lines. Use the slug given for each person."
)
OBJECT = (
    "Read the conversation and answer with one JSON object: session is a short summary of what happened, people "
    "holds for each person, by slug, what is worth remembering about them, topics holds for each topic, by name, "
    "what was said about it."
)
_SUBJECTS = ("the garden", "a new job", "the marathon", "my sister's wedding", "a trip to Lisbon", "the old piano")
_TEMPLATES = (
    "I have been thinking about {} all week.",
    "Next month I start with {}, and I am a bit nervous.",
    "My brother helped me with {} yesterday.",
    "I never told you, but {} changed my life.",
    "We should celebrate {} on Friday at seven.",
)


@dataclass
class Tally:
    """What became of one form's answers."""

    form: str
    asked: int = 0
    parsed: int = 0
    with_session: int = 0
    proposed: int = 0
    accepted: int = 0
    sentences: int = 0
    supported: int = 0
    seconds: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        return {
            "form": self.form,
            "asked": self.asked,
            "parse_rate": self.parsed / self.asked if self.asked else 0.0,
            "with_session": self.with_session,
            "proposed": self.proposed,
            "accepted": self.accepted,
            "supported_sentences": self.supported / self.sentences if self.sentences else None,
            "seconds_per_answer": self.seconds / self.asked if self.asked else 0.0,
            "reasons": self.reasons,
        }


class SchemaModel(EmbeddedModel):
    """The embedded model, with its words held to a JSON schema while one is set."""

    schema: dict[str, Any] | None = None

    def build_payload(self, messages: Sequence[Message]) -> dict[str, Any]:
        payload = super().build_payload(messages)
        if self.schema is not None:
            payload["response_format"] = {"type": "json_schema", "json_schema": {"name": "m", "schema": self.schema}}
        return payload


def batches(path: Path | None, limit: int) -> list[Batch]:
    """Up to *limit* session transcripts."""
    sources = _from_dialogues(path) if path is not None else _made_up()
    found: list[Batch] = []
    for turns in sources:
        batch = cut_batch(turns, zone=UTC, bounds=BOUNDS)
        if batch is not None:
            found.append(batch)
        if len(found) >= limit:
            break
    return found


def _from_dialogues(path: Path) -> Iterator[list[HistoryTurn]]:
    for entry in json.loads(path.read_text(encoding="utf-8")):
        conversation = entry["conversation"]
        names = [conversation["speaker_a"], conversation["speaker_b"]]
        numbers = (name.removeprefix("session_") for name in conversation if name.startswith("session_"))
        for number in sorted((name for name in numbers if name.isdigit()), key=int):
            yield _turns(
                [(names.index(t["speaker"]), t["speaker"], t["text"]) for t in conversation[f"session_{number}"]]
            )


def _made_up() -> Iterator[list[HistoryTurn]]:
    chance = random.Random(7)
    while True:
        said = [
            (who, ("Ada", "Ben")[who], chance.choice(_TEMPLATES).format(chance.choice(_SUBJECTS)))
            for who in (chance.randrange(2) for _ in range(TURNS))
        ]
        yield _turns(said)


def _turns(said: Sequence[tuple[int, str, str]]) -> list[HistoryTurn]:
    return [
        HistoryTurn(
            number,
            START + timedelta(seconds=20 * number),
            "user",
            Author(platform="discord", user_id=str(who + 1), username=None, display_name=name),
            text,
        )
        for number, (who, name, text) in enumerate(said, start=1)
    ]


def prompt_for(form: str, batch: Batch) -> list[Message]:
    """The prompt for one form."""
    if form == "sections":
        return build_messages(batch, PromptMaterial(name=NAME), BOUNDS)
    people = "\n".join(f"- {person.label}, slug {person.slug}" for person in batch.roster)
    user = f"People:\n{people}\n\n<transcript>\n{format_transcript(batch, BOUNDS)}\n</transcript>"
    return [Message(role="system", content=LINES if form == "lines" else OBJECT), Message(role="user", content=user)]


def schema_of(batch: Batch) -> dict[str, Any]:
    """JSON whose people can only be those of the transcript."""
    text = {"type": "string", "maxLength": 300}
    people = {person.slug: text for person in batch.roster}
    return {
        "type": "object",
        "properties": {
            "session": {"type": "string", "maxLength": 400},
            "people": {"type": "object", "properties": people, "required": list(people), "additionalProperties": False},
        },
        "required": ["session", "people"],
        "additionalProperties": False,
    }


async def measure(found: Sequence[Batch], forms: Sequence[str] = FORMS) -> list[Tally]:
    tallies = [Tally(form=form) for form in forms]
    server = EmbeddedServer()
    server.start_in_background()
    model = SchemaModel(server, temperature=0.0, limits=CallLimits(max_output_tokens=MAX_TOKENS, timeout_s=300.0))
    try:
        for tally in tallies:  # one form after the other: the instructions stay worked in the model's cache
            for batch in found:
                model.schema = schema_of(batch) if tally.form == "json" else None
                began = time.monotonic()
                reply = (await model.chat(prompt_for(tally.form, batch))).content
                tally.seconds += time.monotonic() - began
                _judge(tally, batch, reply)
                print(f"{tally.form}: {tally.parsed} of {tally.asked} read", file=sys.stderr)
    finally:
        await model.close()
    extractive = Tally(form="extractive")
    for batch in found:
        _judge_extract(extractive, batch)
    return [*tallies, extractive]


def _judge(tally: Tally, batch: Batch, reply: str) -> None:
    tally.asked += 1
    answer = interpret_reply(reply, NAME)
    if isinstance(answer, str):
        tally.reasons[answer] = tally.reasons.get(answer, 0) + 1
        return
    tally.parsed += 1
    tally.with_session += bool(answer.session)
    tally.proposed += answer.weight
    with tempfile.TemporaryDirectory(prefix="familiar-formats-") as folder:
        plan = plan_from_answer(MemoryStore(folder), batch, PromptMaterial(name=NAME), answer, _run())
    _count(tally, batch, plan)


def _judge_extract(tally: Tally, batch: Batch) -> None:
    tally.asked += 1
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="familiar-formats-") as folder:
        plan = plan_from_transcript(MemoryStore(folder), batch, _run())
    tally.seconds += time.monotonic() - began
    tally.parsed += 1
    tally.with_session += any(write.rel_path.startswith("sessions/") for write in plan.writes)
    tally.proposed += len(plan.writes)
    _count(tally, batch, plan)


def _count(tally: Tally, batch: Batch, plan: Plan) -> None:
    support = SourceFinder(batch)
    tally.accepted += len(plan.writes)
    for write in plan.writes:
        kept = {source.part for source in write.parts}
        for part in parts_of(write.content):
            if part.hash in kept and part.heading != "Who was there":
                for sentence in sentences(part.text):
                    tally.sentences += 1
                    tally.supported += bool(support.sources(sentence))


def _run() -> WriterRun:
    return WriterRun(run_id="bench", familiar_id="wren", now=START)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("dialogues", nargs="?", type=Path)
    parser.add_argument("--limit", type=int, default=30)
    parser.add_argument("--form", action="append", choices=FORMS, help="only this form; may be given again")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = batches(options.dialogues, options.limit)
    rows = [tally.facts() for tally in asyncio.run(measure(found, options.form or FORMS))]
    if options.json:
        print(json.dumps({"transcripts": len(found), "forms": rows}))
        return
    print(f"{len(found)} transcripts of up to {TURNS} turns, embedded model\n")
    print(f"{'form':<12}{'read':>8}{'sessions':>10}{'proposed':>10}{'accepted':>10}{'supported':>11}{'s/answer':>10}")
    for row in rows:
        share = "-" if row["supported_sentences"] is None else format(row["supported_sentences"], ".0%")
        print(
            f"{row['form']:<12}{row['parse_rate']:>8.0%}{row['with_session']:>10}{row['proposed']:>10}"
            f"{row['accepted']:>10}{share:>11}{row['seconds_per_answer']:>10.1f}"
        )
        for reason, count in row["reasons"].items():
            print(f"{'':<12}{count:>8} × {reason}")


if __name__ == "__main__":
    main()
