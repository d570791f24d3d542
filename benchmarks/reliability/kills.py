"""Kills: the process is killed while it replies, again and again; what people said is kept, nothing is said twice.

Each round strikes at another moment: as something is said, while the familiar types, right as its message arrives
on Discord, or between two pieces of a reply. Things are said while it is away, too.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.reliability.child import Plan
from benchmarks.reliability.harness import (
    Child,
    TrialServer,
    find_misheard,
    history,
    is_all_stored,
    make_home,
    make_trial_server,
    running_process,
    until,
)
from benchmarks.reliability.traffic import NAME, TrafficMessage, number_of
from benchmarks.table import Row
from familiar_connect.testing.discord_server.server import DiscordServer, Note

ROUNDS = 50
ROOMS, PEOPLE = 4, 6
PIECES = 2
FIRST, LAST = "part 1", f"part {PIECES}"
TYPED = """\
mode = "text_conversation_rp"
[typing_simulation]
enabled = true
chars_per_second = 100.0
min_delay_s = 0.05
max_delay_s = 0.3
inter_line_pause_s = 0.5
"""
"""A channel in which each paragraph is a message of its own, half a second after the one before."""
MOMENTS = ("said", "typing", "posted", "between pieces", "any")
HEAR_S = 30.0
SETTLE_S = 30.0


async def measure(*, rounds: int = ROUNDS, moments: Sequence[str] = MOMENTS, seed: int = 5) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="familiar-kills-") as folder:
        async with DiscordServer() as server:
            stage = make_trial_server(server, rooms=ROOMS, people=PEOPLE)
            root = make_home(Path(folder), stage.rooms, channel=TYPED)
            plan = Plan(root=str(root), api_url=server.api_url, token=server.token, pieces=PIECES)
            trial = _Trial(stage, root, plan, random.Random(seed))
            struck: Counter[str] = Counter()
            for number in range(rounds):
                struck[await trial.strike(moments[number % len(moments)])] += 1
            await trial.recover()
            return {"rounds": rounds, "struck": dict(struck), "heard": find_misheard(root, stage), **trial.verdict()}


class _Trial:
    """One familiar through all its deaths."""

    def __init__(self, stage: TrialServer, root: Path, plan: Plan, rng: random.Random) -> None:
        self._stage = stage
        self._root = root
        self._plan = plan
        self._rng = rng
        self._count = 0

    async def strike(self, moment: str) -> str:
        """Say things, and kill the familiar at *moment*; the moment it was hit at."""
        async with running_process(self._stage.server, "child", self._plan) as child:
            if not self._stage.said:
                await self._introduce(child)
            hit = asyncio.create_task(self._hit(moment, child), name="hit")
            await asyncio.sleep(0)
            for _ in range(3):
                await self._say(asked=True)
                await self._say(asked=False)
            found = await hit
        for _ in range(2):
            await self._say(asked=self._rng.random() < 0.5)
        return found

    async def _introduce(self, child: Child) -> None:
        """A word in every room, heard: from then on what is missed is looked up."""
        for room in range(ROOMS):
            await self._say(asked=False, room=room)
        await until(lambda: is_all_stored(self._root, self._stage), within_s=HEAR_S)
        await child.ask("settle")

    async def _hit(self, moment: str, child: Child) -> str:
        if moment in ("said", "any"):
            await asyncio.sleep(self._rng.uniform(0.0, 0.05 if moment == "said" else 0.8))
            await child.kill()
            return moment
        what, after_s = ("typing" if moment == "typing" else "posted"), (0.2 if moment == "between pieces" else 0.0)
        struck = await self._noted(what, child, after_s=after_s)
        return moment if struck else "late"

    async def _noted(self, what: str, child: Child, *, after_s: float) -> bool:
        """Kill the moment the client does *what*, before it learns that it did; or some time *after_s*."""
        seen = asyncio.Event()

        def look(note: Note) -> None:
            if note.what == what and not seen.is_set():
                if not after_s:
                    child.kill_now()
                seen.set()

        self._stage.server.follow(look)
        try:
            async with asyncio.timeout(SETTLE_S):
                await seen.wait()
            await asyncio.sleep(after_s)
        except TimeoutError:
            return False
        finally:
            self._stage.server.follow(None)
            await child.kill()
        return True

    async def _say(self, *, asked: bool, room: int | None = None) -> None:
        number = self._count
        self._count += 1
        to = self._rng.choice((f"{self._stage.mention} ", f"{NAME}, ")) if asked else ""
        await self._stage.say(
            TrafficMessage(
                number=number,
                at_s=0.0,
                room=self._rng.randrange(ROOMS) if room is None else room,
                person=self._rng.randrange(PEOPLE),
                text=f"{to}what about the lamp? [m{number:06d}]",
                is_asked=asked,
            )
        )

    async def recover(self) -> None:
        """One last life, long enough to hear and answer everything."""
        async with running_process(self._stage.server, "child", self._plan) as child:
            await until(lambda: is_all_stored(self._root, self._stage), within_s=HEAR_S)
            await child.ask("settle")
            await child.leave()

    def verdict(self) -> dict[str, int]:
        """What was said twice; and, to know, what was never answered and what the familiar forgot having said."""
        posted = [text for room in self._stage.rooms for text in self._stage.replies(room)]
        kept = "\n".join(row.text for row in history(self._root) if row.role == "assistant")
        answered = {number_of(text) for text in posted}
        return {
            "posted": len(posted),
            "posted_twice": len(posted) - len(set(posted)),
            "replies": len(answered),
            "half_said": sum(posted.count(text.replace(FIRST, LAST)) == 0 for text in posted if FIRST in text),
            "asked": sum(said.is_asked for said in self._stage.said.values()),
            "forgotten": sum(text not in kept for text in set(posted)),
        }


def rows(found: dict[str, Any]) -> list[Row]:
    heard_ = found["heard"]
    wrong = heard_["lost"] + heard_["twice"]
    moments = ", ".join(f"{count} {moment}" for moment, count in found["struck"].items())
    return [
        Row(
            name=f"killed {found['rounds']} times ({moments}): lost, stored twice, out of order",
            value=f"{heard_['lost']}, {heard_['twice']}, {heard_['disordered']} of {heard_['said']:,}",
            bar="0, 0",
            ok=not wrong,
        ),
        Row(
            name="said twice",
            value=f"{found['posted_twice']} of {found['posted']:,} messages",
            bar="0",
            ok=not found["posted_twice"],
        ),
        Row(name="replies that ended in the middle", value=f"{found['half_said']} of {found['replies']}"),
        Row(
            name="said, and not in the history: killed before it could be written down",
            value=f"{found['forgotten']} of {found['posted']:,}",
        ),
    ]
