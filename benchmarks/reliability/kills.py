"""Kills: the real `familiar run` is killed around its posts, again and again; each question is answered once.

Each round strikes at another moment: as something is said, while the model is asked, while a message is on its way,
right as it arrives, between two pieces, or while the reply is recorded. A start that finishes what the run before
left is struck like any other. Questions are asked while the program is away, too. A room has at most one open
question, so that each reply tells by its number which one it answers.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.reliability.harness import (
    TrialServer,
    find_misheard,
    history,
    is_all_stored,
    make_home,
    make_trial_server,
    until,
)
from benchmarks.reliability.program import NumberModel, Program, running_program
from benchmarks.reliability.traffic import TrafficMessage
from benchmarks.table import Row
from familiar_connect.extensions.discord.demo.server import DiscordServer, Note

ROUNDS = 200
ROOMS, PEOPLE, PIECES = 8, 6, 2
AT_ONCE_ASKED = 2
SETTINGS = 'decide_with = "rules"\n'
TYPED = """\
mode = "text_conversation_rp"
[typing_simulation]
enabled = true
chars_per_second = 1000.0
min_delay_s = 0.02
max_delay_s = 0.1
inter_line_pause_s = 0.2
"""
"""A channel in which each paragraph is a message of its own, a moment after the one before."""
MOMENTS = ("on its way", "posted", "between pieces", "recording", "asked the model", "said", "posted", "any")
HEAR_S = 30.0
STRIKE_S = 20.0
SETTLE_S = 60.0


async def measure(
    *, rounds: int = ROUNDS, moments: Sequence[str] = MOMENTS, seed: int = 5, is_forked: bool = False
) -> dict[str, Any]:
    """*is_forked*: each life from a process that has the program loaded; else each is a start of its own."""
    with tempfile.TemporaryDirectory(prefix="familiar-kills-") as folder:
        home, model = Path(folder), NumberModel(pieces=PIECES)
        async with DiscordServer() as server, model.running():
            stage = make_trial_server(server, rooms=ROOMS, people=PEOPLE)
            root = make_home(home, stage.rooms, settings=SETTINGS, channel=TYPED)
            slot = f'\n[llm.main_prose]\nmodel = "numbers"\nbase_url = "{model.base_url}"\n'
            with (root / "character.toml").open("a", encoding="utf-8") as settings:
                settings.write(slot)
            trial = _Trial(stage, home, root, model, random.Random(seed), is_forked=is_forked)
            await trial.introduce()
            struck: Counter[str] = Counter()
            for number in range(rounds):
                struck[await trial.strike(moments[number % len(moments)])] += 1
                print(f"\rkilled {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
            await trial.recover()
            return {"rounds": rounds, "struck": dict(struck), "heard": find_misheard(root, stage), **trial.verdict()}


class _Trial:
    """One familiar through all its deaths."""

    def __init__(
        self,
        stage: TrialServer,
        home: Path,
        root: Path,
        model: NumberModel,
        rng: random.Random,
        *,
        is_forked: bool,
    ) -> None:
        self._stage = stage
        self._server = stage.server
        self._home = home
        self._root = root
        self._model = model
        self._rng = rng
        self._is_forked = is_forked
        self._count = 0
        self._asked: dict[int, int] = {}
        """The room of each question, by its number."""

    async def introduce(self) -> None:
        """A word in every room, heard: from then on what is missed is looked up."""
        async with running_program(self._home, self._server, is_forked=self._is_forked) as program:
            for room in range(ROOMS):
                await self._say(room, "good morning")
            await until(lambda: is_all_stored(self._root, self._stage), within_s=HEAR_S)
            await program.leave()

    async def strike(self, moment: str) -> str:
        """Ask things, and kill the program at *moment*; the moment it was hit at."""
        async with running_program(self._home, self._server, is_forked=self._is_forked) as program:
            hit = asyncio.create_task(self._hit(moment, program), name="hit")
            await asyncio.sleep(0)
            for _ in range(AT_ONCE_ASKED):
                await self._ask()
            found = await hit
        if self._rng.random() < 0.3:
            await self._ask()
        return found

    async def _hit(self, moment: str, program: Program) -> str:
        if moment in ("said", "any"):
            await asyncio.sleep(self._rng.uniform(0.0, 0.05 if moment == "said" else 1.5))
            await program.kill()
            return moment
        struck = asyncio.Event()

        def strike(after_s: float = 0.0) -> None:
            if not struck.is_set():
                struck.set()
                if after_s:
                    asyncio.get_running_loop().call_later(after_s, program.kill_now)
                else:
                    program.kill_now()

        self._watch(moment, strike)
        try:
            async with asyncio.timeout(STRIKE_S):
                await struck.wait()
            await asyncio.sleep(0.2)
        except TimeoutError:
            return "late"
        finally:
            self._watch("", strike)
            await program.kill()
        return moment

    def _watch(self, moment: str, strike: Callable[[float], None]) -> None:
        """Have *strike* called at *moment*; nothing is watched for any other word."""

        def on_request(method: str, path: str) -> None:
            if method == "POST" and path.endswith("/messages"):
                strike(0.0)

        def on_note(note: Note) -> None:
            if note.what != "posted":
                return
            is_last = f"part {PIECES}" in note.facts["message"]["content"]
            if moment == "posted":
                strike(0.0)
            elif moment == "between pieces" and not is_last:
                strike(0.05)
            elif moment == "recording" and is_last:
                strike(self._rng.uniform(0.001, 0.03))

        self._server.faults.on_unforeseen = on_request if moment == "on its way" else None
        self._server.follow(on_note if moment in ("posted", "between pieces", "recording") else None)
        self._model.on_asked = (lambda: strike(0.0)) if moment == "asked the model" else None

    async def _ask(self) -> None:
        """Ask a question in a room where none is open, if there is one."""
        free = [room for room in range(ROOMS) if not self._open_in(room)]
        if free:
            room = self._rng.choice(free)
            self._asked[self._count] = room
            await self._say(room, f"{self._stage.mention} what about the lamp?", is_asked=True)

    def _open_in(self, room: int) -> list[int]:
        """The questions in *room* that are not answered to the end."""
        said = set(self._stage.replies(self._stage.rooms[room]))
        return [each for each, where in self._asked.items() if where == room and _piece(each, PIECES) not in said]

    async def _say(self, room: int, text: str, *, is_asked: bool = False) -> None:
        number = self._count
        self._count += 1
        await self._stage.say(
            TrafficMessage(
                number=number,
                at_s=0.0,
                room=room,
                person=self._rng.randrange(PEOPLE),
                text=f"{text} [m{number:06d}]",
                is_asked=is_asked,
            )
        )

    async def recover(self) -> None:
        """One last life, long enough to hear and answer everything."""
        async with running_program(self._home, self._server, is_forked=self._is_forked) as program:
            await until(
                lambda: (
                    is_all_stored(self._root, self._stage) and not any(self._open_in(room) for room in range(ROOMS))
                ),
                within_s=SETTLE_S,
            )
            await program.leave()

    def verdict(self) -> dict[str, int]:
        """What became of every piece that was posted and of every question."""
        posted = [(room.id, text) for room in self._stage.rooms for text in self._stage.replies(room)]
        kept: dict[int, str] = {}
        for row in history(self._root):
            if row.role == "assistant":
                kept[row.channel_id] = f"{kept.get(row.channel_id, '')}\n{row.text}"
        said = {text for _, text in posted}
        return {
            "posted": len(posted),
            "in_history": sum(text in kept.get(room, "") for room, text in posted),
            "recorded_twice": sum(kept.get(room, "").count(text) > 1 for room, text in set(posted)),
            "said_twice": len(posted) - len(set(posted)),
            "asked": len(self._asked),
            "never_answered": sum(_piece(number, 1) not in said for number in self._asked),
            "half_answered": sum(
                _piece(number, 1) in said and _piece(number, PIECES) not in said for number in self._asked
            ),
        }


def _piece(number: int, part: int) -> str:
    return f"I heard [m{number:06d}], part {part}."


def rows(found: dict[str, Any]) -> list[Row]:
    heard = found["heard"]
    moments = ", ".join(f"{count} {moment}" for moment, count in found["struck"].items())
    forgotten = found["posted"] - found["in_history"] + found["recorded_twice"]
    unanswered = found["never_answered"] + found["half_answered"]
    return [
        Row(
            name=f"`familiar run` killed {found['rounds']} times ({moments}): heard and lost, stored twice",
            value=f"{heard['lost']}, {heard['twice']} of {heard['said']:,}",
            bar="0, 0",
            ok=not heard["lost"] + heard["twice"],
        ),
        Row(
            name="pieces posted, in the history, in it twice",
            value=f"{found['posted']:,}, {found['in_history']:,}, {found['recorded_twice']}",
            bar="all, once",
            ok=not forgotten,
        ),
        Row(name="said twice", value=f"{found['said_twice']}", bar="0", ok=not found["said_twice"]),
        Row(
            name=f"of {found['asked']} questions: never answered, answered by half",
            value=f"{found['never_answered']}, {found['half_answered']}",
            bar="0, 0",
            ok=not unanswered,
        ),
    ]
