"""Twenty openings to the default familiar on the embedded model, and how well it keeps to its character.

Every opening meets a familiar just made, which has said its greeting. Sampling is what ships, with a fixed
seed. The checks are proxies that a program can run; `--show` lists every reply for a person to judge.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks.fixtures import without_warnings
from benchmarks.table import Row
from familiar_connect.bootstrap.starter import STARTER, STARTER_ID, make_starter
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.llm import SLOT_TEMPERATURES
from familiar_connect.familiar import Familiar
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author
from familiar_connect.llm.embedded.client import EmbeddedModel
from familiar_connect.llm.embedded.server import EmbeddedServer
from familiar_connect.llm.types import Message
from familiar_connect.platforms.terminal.place import CHANNEL_ID, TerminalPlace
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.platforms.terminal.welcome import greet

OPENINGS = (
    "hi",
    "Hello! Who are you?",
    "What's your name?",
    "I'm Sam. Nice to meet you!",
    "How are you today?",
    "What do you like?",
    "Where do you live?",
    "I had a long day and I'm tired.",
    "Tell me a secret.",
    "What's your favourite tea?",
    "It's raining outside.",
    "Can you tell me a short story?",
    "I'm a bit sad today.",
    "What can you do?",
    "Are you a robot?",
    "Do you ever get cold?",
    "good morning :)",
    "I brought you a cup of tea.",
    "What should I do tonight?",
    "Do you remember me?",
)
QUICK_OPENINGS = 2
SEEDS = (1, 2, 3)
LONGEST_ECHO = 60
"""So many characters in a row taken from the instructions, or from what was just said, are an echo."""
LONGEST_REPEAT = 40
"""So many characters in a row taken from its own greeting or examples are told apart: its own voice, but stale."""
_USER = Author("terminal", "sam", "sam", "Friend")
_MACHINE = re.compile(
    r"\b(?:as an ai|ai (?:assistant|model|language)|language model|chatbot|smollm|hugging ?face|openai"
    r"|virtual assistant|(?:can|may|could) i (?:help|assist) you|(?:here|happy|glad) to (?:help|assist)|assist you"
    r"|how can i be of)\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|me|my|mine|we|we're|our|us|let's|you|you're|your)\b", re.IGNORECASE)
_OF_ITSELF = re.compile(r"\bEmber(?: is|'s| has| was| loves| lives| likes| says| smiles| looks)\b|\bthe user\b")
_TO_ITSELF = re.compile(r"(?<!me), (?:little |dear |my )?Ember[.!?,]|\bnamed Ember\b")
"""Its own name said to someone else, or told of someone else."""
_CALLED = re.compile(r"\b(?:[Mm]y name is|[Mm]y name's)\s+([A-Z]\w+)|\bI(?:'m| am) ([A-Z][a-z]+)\b")
_LABEL = re.compile(r"(?m)^\s*(?:\[\d\d:\d\d\]|(?:User|Friend|Sam|System|Assistant|Ember)\s*:|\{\{|<\|)")


class SeededModel(EmbeddedModel):
    """The embedded model as it ships, but for the dice."""

    seed = SEEDS[0]

    def build_payload(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {**super().build_payload(messages), "seed": self.seed}


@dataclass(frozen=True, kw_only=True)
class JudgedReply:
    """One reply and what the checks say of it."""

    opening: str
    reply: str
    seed: int
    finish_reason: str | None
    checks: Mapping[str, bool]
    repeats_itself: bool
    seconds: float

    @property
    def ok(self) -> bool:
        return all(self.checks.values())


def judge(opening: str, reply: str, finish_reason: str | None) -> dict[str, bool]:
    """What a program can check of *reply*: each True when it is as it should be."""
    instructions = STARTER["description"]
    named = {a or b for a, b in _CALLED.findall(reply)}
    return {
        "says something": bool(re.search(r"\w", reply)),
        "in its own voice": bool(_OWN.search(reply))
        and not _MACHINE.search(reply)
        and not _OF_ITSELF.search(reply)
        and not _TO_ITSELF.search(reply)
        and not (named - {"Ember"}),
        "no echo of the prompt": _longest_run(reply, instructions) < LONGEST_ECHO
        and _longest_run(reply, opening) < LONGEST_ECHO
        and _bare(reply) != _bare(opening),
        "no other speaker's words": not _LABEL.search(reply),
        "comes to an end": finish_reason != "length" or reply.rstrip().endswith((".", "!", "?", "…", '"', ")", "*")),
    }


def repeats_itself(reply: str) -> bool:
    own = [line.partition("{{char}}:")[2] for line in STARTER["mes_example"].splitlines() if "{{char}}:" in line]
    return any(_longest_run(reply, line.strip()) >= LONGEST_REPEAT for line in [*own, STARTER["first_mes"]])


def _longest_run(one: str, other: str) -> int:
    match = SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).find_longest_match()
    return match.size


def _bare(text: str) -> str:
    return re.sub(r"\W+", "", text).lower()


def measure(*, quick: bool = False) -> dict[str, Any]:
    openings = OPENINGS[:QUICK_OPENINGS] if quick else OPENINGS
    seeds = SEEDS[:1] if quick else SEEDS
    with without_warnings("familiar_connect"):
        judged = asyncio.run(_ask_all(openings, seeds))
    names = list(judged[0].checks)
    return {
        "openings": len(openings),
        "seeds": list(seeds),
        "share": sum(each.ok for each in judged) / len(judged),
        "share_by_seed": {seed: sum(e.ok for e in judged if e.seed == seed) / len(openings) for seed in seeds},
        "share_by_check": {name: sum(each.checks[name] for each in judged) / len(judged) for name in names},
        "repeats_itself": sum(each.repeats_itself for each in judged) / len(judged),
        "replies": [
            {
                "opening": each.opening,
                "seed": each.seed,
                "reply": each.reply,
                "finish_reason": each.finish_reason,
                "failed": [name for name, fine in each.checks.items() if not fine],
                "repeats_itself": each.repeats_itself,
                "seconds": round(each.seconds, 2),
            }
            for each in judged
        ],
    }


async def _ask_all(openings: Sequence[str], seeds: Sequence[int]) -> list[JudgedReply]:
    server = EmbeddedServer()
    server.retain()  # the server outlives each familiar, which would otherwise end it
    judged = []
    try:
        for seed in seeds:
            for opening in openings:
                judged.append(await _ask(server, opening, seed))
    finally:
        await server.release()
    return judged


async def _ask(server: EmbeddedServer, opening: str, seed: int) -> JudgedReply:
    """One opening to a familiar that was made for it."""
    with tempfile.TemporaryDirectory(prefix="familiar-openings-") as folder:
        root = make_starter(Path(folder), STARTER_ID)
        model = SeededModel(server, is_main=True)
        model.seed = seed
        familiar = Familiar.load_from_disk(root, llm_clients=dict.fromkeys(SLOT_TEMPERATURES, model))
        screen = Screen(StringIO(), StringIO(), plain=True)
        stored = StoredMessages(familiar.history_store, familiar.id, CHANNEL_ID)
        place = TerminalPlace(screen, familiar.name, _USER, stored, lambda: "")
        try:
            await greet(familiar, screen)
            message = InboundMessage(
                platform="terminal", channel_id=CHANNEL_ID, author=_USER, text=opening, timestamp=datetime.now(UTC)
            )
            await familiar.intake.receive(message, place)
            await familiar.reply_path.queue.wait_until_channel_idle(CHANNEL_ID)
            last = familiar.history_store.recent(familiar_id=familiar.id, channel_id=CHANNEL_ID, limit=1)[-1]
        finally:
            await familiar.aclose()
        trace = familiar.reply_path.collector.last_trace(familiar.id)
    reply = last.content if last.role == "assistant" else ""
    finish = str(trace.fact("finish_reason")) if trace is not None else None
    return JudgedReply(
        opening=opening,
        reply=reply,
        seed=seed,
        finish_reason=finish,
        checks=judge(opening, reply, finish),
        repeats_itself=repeats_itself(reply),
        seconds=trace.total_duration_s if trace is not None else 0.0,
    )


def rows(found: dict[str, Any]) -> list[Row]:
    total = len(found["replies"])
    each = ", ".join(f"{name} {share:.0%}" for name, share in found["share_by_check"].items())
    seeds = ", ".join(f"{share:.0%}" for share in found["share_by_seed"].values())
    return [
        Row(
            name=f"{found['openings']} openings, share that passes every check",
            value=f"{found['share']:.0%} of {total} replies (by seed: {seeds}); {each}",
        ),
        Row(
            name="replies that say a line of its greeting or examples again",
            value=f"{found['repeats_itself']:.0%}",
        ),
    ]


def format_replies(found: dict[str, Any]) -> str:
    """Every reply, for a person to judge."""
    lines = []
    for each in found["replies"]:
        mark = "✗ " + ", ".join(each["failed"]) if each["failed"] else "✓"
        again = " (says a line of its own again)" if each["repeats_itself"] else ""
        lines.append(f"- [{each['seed']}] {each['opening']}\n  {each['reply']!r} {mark}{again}")
    return "\n".join(lines)
