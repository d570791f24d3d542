"""Bursts: up to eight people ask in each of up to eight channels at once, and edit, delete or have PluralKit repeat it.

The model answers only whom the last line of its prompt names. Each question must be answered once, to whoever asked it
as it stands; no answer may go to words whose edit or deletion had reached the program before the answer was sent.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.reliability.child import Plan
from benchmarks.reliability.harness import (
    Child,
    TrialServer,
    is_all_stored,
    make_home,
    make_trial_server,
    running_process,
    until,
)
from benchmarks.reliability.program import NumberModel, running_program
from benchmarks.reliability.traffic import TrafficMessage
from benchmarks.table import Row
from familiar_connect.extensions.discord.demo.pluralkit import replace_by_twin
from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.world import Payload, Room

MENTIONS, ROOMS, PEOPLE = 2_000, 8, 8
SEED = 34
MODEL_S = 0.1
LONGEST_AFTER_S = 2.0
"""An edit, a deletion or a twin comes at most so long after the words."""
LONGEST_APART_S = 0.5
"""The questions of one burst are all said within so long."""
SETTLE_S = 60.0
SIDE_BY_SIDE_MODEL_S, SIDE_BY_SIDE_WITHIN_S = 2.0, 3.0
KINDS = ("plain", "edited", "deleted", "twin", "mention added")
WEIGHTS = (50, 18, 12, 12, 8)
SETTINGS = "text_lull_timeout = 3600.0\n"
_REPLY = re.compile(r"To (\w+): \[m(\d{6})\] v(\d)")


@dataclass
class Question:
    """One mention, and what happens to it."""

    number: int
    room: Room
    kind: str
    asker: str
    twin: str = ""
    message_id: str = ""
    replies: list[tuple[str, int]] = field(default_factory=list)
    """Who was answered, and after how many edits."""


async def measure(*, mentions: int, seed: int, model_s: float = MODEL_S) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="familiar-bursts-") as folder:
        async with DiscordServer() as server:
            stage = make_trial_server(server, rooms=ROOMS, people=PEOPLE)
            root = make_home(Path(folder), stage.rooms, settings=SETTINGS)
            plan = Plan(
                root=str(root),
                api_url=server.api_url,
                token=server.token,
                model_s=model_s,
                names_asker=True,
                never_joins_in=True,
                hurry=True,
            )
            async with running_process(server, "child", plan) as child:
                trial = _Trial(stage, root, child, random.Random(seed))
                began = time.perf_counter()
                while len(trial.questions) < mentions:
                    await trial.play_burst(mentions - len(trial.questions))
                    print(f"\rasked {len(trial.questions)} of {mentions}", end="", file=sys.stderr, flush=True)
                noted = await child.ask("events")
                await child.leave()
            print(file=sys.stderr)
            return {
                "mentions": len(trial.questions),
                "bursts": trial.bursts,
                "seed": seed,
                "seconds": time.perf_counter() - began,
                "kinds": dict(Counter(each.kind for each in trial.questions)),
                **verdict(trial.questions, stage, noted),
            }


class _Trial:
    def __init__(self, stage: TrialServer, root: Path, child: Child, rng: random.Random) -> None:
        self._stage = stage
        self._server = stage.server
        self._root = root
        self._child = child
        self._rng = rng
        self.questions: list[Question] = []
        self.bursts = 0

    async def play_burst(self, most: int) -> None:
        """Some people ask in some channels, each once there; it is over when nothing is under way."""
        rng = self._rng
        rooms = rng.sample(self._stage.rooms, rng.randint(1, ROOMS))
        asked = [(room, person) for room in rooms for person in rng.sample(range(PEOPLE), rng.randint(1, PEOPLE))]
        rng.shuffle(asked)
        self.bursts += 1
        await asyncio.gather(*(self._ask(room, person, rng.random()) for room, person in asked[:most]))
        await until(lambda: is_all_stored(self._root, self._stage), within_s=SETTLE_S)
        for _ in range(3):  # what is put back by an edit is under way once more
            await self._child.ask("settle")

    async def _ask(self, room: Room, person: int, delay: float) -> None:
        rng, server, mention = self._rng, self._server, self._stage.mention
        number, kind = len(self.questions), rng.choices(KINDS, WEIGHTS)[0]
        asker = self._stage.people[person]
        question = Question(number, room, kind, asker.username, twin=f"luna{number:06d}" if kind == "twin" else "")
        self.questions.append(question)
        after_s, order = rng.random() * LONGEST_AFTER_S, rng.choice(("twin first", "delete first"))
        await asyncio.sleep(delay * LONGEST_APART_S)
        words = f"tell me of the tide [m{number:06d}]"
        text = words if kind == "mention added" else f"{mention} {words}"
        message = await server.post(room, asker, text)
        question.message_id = message["id"]
        self._note_said(message, question)
        await asyncio.sleep(after_s)
        if kind == "edited" or kind == "mention added":
            await server.edit(room, message, f"{mention} edit1 {words}")
        elif kind == "deleted":
            await server.delete(room, message)
        elif kind == "twin":
            twin = await replace_by_twin(server, room, message, question.twin, order=order)  # type: ignore[arg-type]
            self._note_said(twin, question)

    def _note_said(self, message: Payload, question: Question) -> None:
        self._stage.said[message["id"]] = TrafficMessage(
            number=question.number, at_s=0.0, room=0, person=0, text=message["content"], is_asked=True
        )


def verdict(questions: list[Question], stage: TrialServer, noted: dict[str, Any]) -> dict[str, Any]:
    """What became of each question, as Discord shows it and as the program noted it."""
    told: Counter[int] = Counter()
    for room in stage.rooms:
        for text in stage.replies(room):
            for name, number, version in _REPLY.findall(text):
                questions[int(number)].replies.append((name, int(version)))
    reached: dict[str, dict[str, float]] = {}
    for kind, message_id, at in noted["events"]:
        reached.setdefault(message_id, {}).setdefault(kind, at)
    late: list[str] = []
    margins: list[float] = []
    for text, sent_at in noted["sent"]:
        for _name, number, version in _REPLY.findall(text):
            question = questions[int(number)]
            told[question.number] += 1
            known = reached.get(question.message_id, {})
            is_original = not question.twin or _name != question.twin
            outdated = [at for kind, at in known.items() if is_original and (kind == "delete" or int(version) < 1)]
            if any(at < sent_at for at in outdated):
                late.append(f"{question.kind} [m{question.number:06d}]")
                margins.append(sent_at - min(outdated))
    unanswered = [f"{each.kind} {each.number}" for each in questions if not each.replies and each.kind != "deleted"]
    wrong_name = [
        f"{each.kind} {each.number} of {each.asker} {each.replies}"
        for each in questions
        if any(name not in (each.asker, each.twin) for name, _ in each.replies)
    ]
    return {
        "answered": sum(bool(each.replies) for each in questions),
        "unanswered": unanswered,
        "twice": [f"{each.kind} {each.number} {each.replies}" for each in questions if len(each.replies) > 1],
        "misnamed": wrong_name,
        "outdated": late,
        "outdated_by_ms": [round(each * 1000, 1) for each in margins],
    }


async def measure_side_by_side(*, rooms: int = ROOMS, model_s: float = SIDE_BY_SIDE_MODEL_S) -> dict[str, Any]:
    """One question in each channel at the same moment, to the real program with a slow endpoint."""
    with tempfile.TemporaryDirectory(prefix="familiar-side-by-side-") as folder:
        model = NumberModel(pieces=1, takes_s=model_s)
        async with DiscordServer() as server, model.running():
            stage = make_trial_server(server, rooms=rooms, people=rooms)
            root = make_home(Path(folder), stage.rooms, settings=f'decide_with = "rules"\n{SETTINGS}')
            with (root / "character.toml").open("a", encoding="utf-8") as settings:
                settings.write(f'\n[llm.main_prose]\nmodel = "numbers"\nbase_url = "{model.base_url}"\n')
            async with running_program(Path(folder), server) as program:
                await _ask_everywhere(stage, first=0)  # a first reply loads what every later one has
                await _ask_everywhere(stage, first=0, is_awaited=True)
                took_s = await _ask_everywhere(stage, first=rooms, is_awaited=True)
                await program.leave()
        return {"rooms": rooms, "model_s": model_s, "took_s": took_s}


async def _ask_everywhere(stage: TrialServer, *, first: int, is_awaited: bool = False) -> list[float]:
    """Ask in every channel at once; after how long each had its answer."""
    began = time.perf_counter()
    if first or not is_awaited:
        for at, room in enumerate(stage.rooms):
            await stage.server.post(room, stage.people[at], f"{stage.mention} the tide [m{first + at:06d}]")
    took: dict[int, float] = {}

    def look() -> bool:
        for at, room in enumerate(stage.rooms):
            mark = f"[m{first + at:06d}]"
            if at not in took and any(mark in text for text in stage.replies(room)):
                took[at] = time.perf_counter() - began
        return len(took) == len(stage.rooms)

    if is_awaited:
        await until(look, within_s=SETTLE_S)
    return sorted(took.values())


def rows(found: dict[str, Any]) -> list[Row]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in found["kinds"].items())
    return [
        Row(
            name=f"mentions in {found['bursts']} bursts, seed {found['seed']}", value=f"{found['mentions']:,}: {kinds}"
        ),
        _none_row("unanswered without a word", found["unanswered"]),
        _none_row("answered twice", found["twice"]),
        _none_row("answered under another's name", found["misnamed"]),
        _none_row("answers to words whose edit or deletion was known", found["outdated"]),
        Row(name="took", value=f"{found['seconds']:.0f} s"),
    ]


def side_by_side_rows(found: dict[str, Any]) -> list[Row]:
    took = found["took_s"]
    is_all = len(took) == found["rooms"]
    slowest = took[-1] if is_all else float("inf")
    return [
        Row(
            name=f"{found['rooms']} channels at once, a model of {found['model_s']:g} s: the last answer after",
            value=f"{slowest:.2f} s",
            bar=f"{SIDE_BY_SIDE_WITHIN_S:g} s",
            ok=slowest <= SIDE_BY_SIDE_WITHIN_S,
        )
    ]


def _none_row(name: str, wrong: list[Any]) -> Row:
    shown = f": {', '.join(map(str, wrong[:8]))}" if wrong else ""
    return Row(name=name, value=f"{len(wrong)}{shown}", bar="0", ok=not wrong)
