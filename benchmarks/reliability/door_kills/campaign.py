"""A campaign: one door, one home, life after life. Each life finishes what the one before left, asks up to five
questions, and is ended at one write. Places that are seen for the first time are ended at, too.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.reliability.door_kills.doors import PIECES, Door, mark

TOP = Path(__file__).resolve().parent.parent.parent.parent
LOOK_EVERY_S = 0.02
READY_S, ANSWER_S, LEAVE_S = 60.0, 30.0, 10.0
MAX_MISSES = 3
"""A place that did not come again in so many lives is left out; it is named."""
LAST_LIVES = 10
"""So many whole lives in a row without a new side end a campaign: a checkpoint comes in few of them."""


@dataclass(frozen=True, kw_only=True)
class Strike:
    """Where a life is ended: at which occurrence of a place, before the call or after it."""

    place: str
    at: int
    is_after: bool

    def facts(self) -> dict[str, Any]:
        return {"place": self.place, "at": self.at, "is_after": self.is_after}


class Runner:
    """The process that has the program loaded."""

    def __init__(self, process: asyncio.subprocess.Process, why_no_trace: str | None) -> None:
        self._process = process
        self.why_no_trace = why_no_trace

    async def begin(self, asked: dict[str, Any]) -> Life:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        await self._process.stdin.drain()
        return Life((await self.line())["pid"], asyncio.create_task(self.line(), name="life"))

    async def line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        text = await self._process.stdout.readline()
        if not text:
            raise RuntimeError("the process that lives the lives has ended")
        found: dict[str, Any] = json.loads(text)
        return found


@asynccontextmanager
async def running_runner() -> AsyncIterator[Runner]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FAMILIAR_", "OPENROUTER_"))}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.reliability.door_kills.runner",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=TOP,
        env={
            **kept,
            "FAMILIAR_HOME": "/nowhere",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join((str(TOP / "src"), str(TOP))),
            "PYTHONWARNINGS": "ignore",
        },
        limit=64 * 1024 * 1024,
        start_new_session=True,
    )
    runner = Runner(process, None)
    try:
        runner.why_no_trace = (await runner.line())["why_no_trace"]
        yield runner
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@dataclass
class Life:
    """One run of the program."""

    pid: int
    end: asyncio.Task[dict[str, Any]]

    @property
    def is_over(self) -> bool:
        return self.end.done()

    async def wait(self, condition: Callable[[], Coroutine[Any, Any, bool]], within_s: float) -> bool:
        """Until *condition* holds, the life is over or it has taken too long; whether it holds."""
        ends = time.monotonic() + within_s
        while time.monotonic() < ends:
            if await condition():
                return True
            if self.is_over:
                return await condition()
            await asyncio.sleep(LOOK_EVERY_S)
        return False

    def signal(self, number: int) -> None:
        if not self.is_over:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def leave(self, *, ends_itself: bool) -> dict[str, Any]:
        """Ask it to end as a service manager does, where it does not by itself; what it wrote."""
        if not ends_itself:
            self.signal(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                return await asyncio.shield(self.end)
        self.signal(signal.SIGKILL)
        return await self.end


@dataclass
class Campaign:
    """All lives behind one door."""

    door: Door
    runner: Runner
    rng: random.Random
    count: int = 0
    """Questions asked so far; their numbers are those below."""
    settled: set[int] = field(default_factory=set)
    unheard: set[int] = field(default_factory=set)
    silent: set[int] = field(default_factory=set)
    """Neither answered nor told in a whole life."""
    places: dict[str, int] = field(default_factory=dict)
    """The places that write, and the most often that each did in one life."""
    struck: Counter[tuple[str, bool]] = field(default_factory=Counter)
    missed: Counter[tuple[str, bool]] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    hit: tuple[str, bool] | None = None
    """Where the last life was ended."""
    whole_lives: int = 0
    """Lives that met no side which was not struck before: after a few of them any side is struck again."""

    async def run(self, kills: int, *, part: tuple[int, int] = (1, 1)) -> None:
        """A life that makes everything, one that is counted, *kills* of them that are ended, and one that is not."""
        for _ in range(2):
            self.places.clear()  # what is written once in a home's life does not come again
            await self.live(None)
        done = 0
        while done < kills:
            began = time.monotonic()
            is_traced = self.runner.why_no_trace is None
            if is_traced and self.whole_lives < MAX_MISSES:
                was_hit = await self._strike({}, anything_new=True)
            else:
                was_hit = await self._strike(self._choose(part).facts(), anything_new=is_traced)
            if was_hit:
                done += 1
                self.seconds.append(time.monotonic() - began)
                print(f"\r{self.door.name}: killed {done} of {kills}", end="", file=sys.stderr, flush=True)
        await self._strike_what_is_left(kills // 3)
        print(file=sys.stderr)
        await self.live(None)

    async def _strike_what_is_left(self, most: int) -> None:
        """Lives that are ended at nothing but sides not struck yet: some are only met by a life that is left alone."""
        self.whole_lives = 0
        for _ in range(most if self.runner.why_no_trace is None else 0):
            if self.whole_lives == LAST_LIVES:
                break
            await self._strike({}, anything_new=True)

    async def _strike(self, wanted: dict[str, Any], *, anything_new: bool) -> bool:
        """A life that is ended at the place that is wanted or, before that, at a side that was not struck yet."""
        struck = {"struck": [list(side) for side, count in self.struck.items() if count]} if anything_new else {}
        was_hit = await self.live({**wanted, **struck})
        side = self.hit or ((wanted["place"], wanted["is_after"]) if wanted else None)
        self.whole_lives += not wanted and not was_hit
        if side is not None:
            self.struck[side] += was_hit
            self.missed[side] = 0 if was_hit else self.missed[side] + 1
        return was_hit

    def _choose(self, part: tuple[int, int]) -> Strike:
        """A place that was not struck yet; when all were, any."""
        mine, of = part
        sides = [(place, is_after) for place in sorted(self.places) for is_after in (False, True)]
        reachable = [side for side in sides if self.missed[side] < MAX_MISSES]
        todo = [
            side for at, side in enumerate(sides) if side in reachable and not self.struck[side] and at % of == mine - 1
        ]
        place, is_after = self.rng.choice(todo or reachable)
        most = self.places[place]
        at = 1 if self.missed[place, is_after] else self.rng.randint(1, most)  # the first comes soonest
        return Strike(place=place, at=at, is_after=is_after)

    async def live(self, strike: dict[str, Any] | None) -> bool:
        """One life; whether it was ended where it was to be, and in `hit` where that was."""
        door = self.door
        door.between_lives()
        asked = door.begin(self.count)
        life = await self.runner.begin({**asked, "kill": strike})
        try:
            if await life.wait(door.is_ready, READY_S):
                await self._talk(life)
        finally:
            told = await (life.leave(ends_itself=door.ends_itself) if not life.is_over else life.end)
        for place, times in told["counts"].items():
            self.places[place] = max(self.places.get(place, 0), times)
        if strike is None and not self.settled:
            errors = door.folder / "errors"
            why = errors.read_text(encoding="utf-8", errors="replace")[-2000:] if errors.exists() else ""
            raise RuntimeError(f"{door.name}: nothing was answered in a whole life. {why}")
        side = told.get("side")
        self.hit = (str(side[0]), bool(side[1])) if told["hit"] and side else None
        return bool(told["hit"])

    async def _talk(self, life: Life) -> None:
        await self._settle(life, life_is_whole=False)
        for _ in range(self.door.asks):
            if life.is_over and self.door.asks > 1:
                break
            number = self.count
            self.count += 1
            await self.door.ask(number)
            await life.wait(partial(self._is_settled, number), ANSWER_S)
            if life.is_over:
                break
            await self._settle(life, life_is_whole=True)

    async def _settle(self, life: Life, *, life_is_whole: bool) -> None:
        """Wait for every open question; who was not heard asks in vain and knows it."""
        for number in [each for each in range(self.count) if each not in self.settled | self.unheard | self.silent]:
            if not self.door.hears_later and not self.door.is_heard(number):
                self.unheard.add(number)
                continue
            if not await life.wait(partial(self._is_settled, number), ANSWER_S) and not life.is_over:
                self.silent.add(number)

    async def _is_settled(self, number: int) -> bool:
        seen = await self.door.look()
        if number in seen.told or any(last_piece(number) in text for text in seen.said):
            self.settled.add(number)
        return number in self.settled

    async def verdict(self) -> dict[str, Any]:
        """What became of every question and of every word."""
        seen = await self.door.look()
        said = "\n".join(seen.said)
        kept = self.door.answers_kept()
        questions = [each for each in range(self.count) if each not in self.unheard]
        pieces = [piece(number, at) for number in questions for at in range(1, PIECES + 1)]
        answered = [number for number in questions if last_piece(number) in said]
        posts = self.door.hears_later
        return {
            "door": self.door.name,
            "traced": self.runner.why_no_trace,
            "kills": sum(self.struck.values()),
            "places": len(self.places),
            "sides": len(self.places) * 2,
            "sides_struck": sum(1 for (place, _), count in self.struck.items() if count and place in self.places),
            "left_out": sorted(
                f"{'after' if after else 'before'} {place}"
                for place in self.places
                for after in (False, True)
                if not self.struck[place, after]
            ),
            "asked": self.count,
            "unheard": len(self.unheard),
            "answered": len(answered),
            "told": len([number for number in questions if number not in answered and number in seen.told]),
            "silent": [n for n in questions if n not in answered and n not in seen.told],
            "lost": [n for n in questions if not self.door.is_heard(n)]
            + [each for each in pieces if posts and each in said and each not in kept],
            "doubled": [each for each in pieces if said.count(each) > 1 or kept.count(each) > 1],
            "seconds_a_kill": round(sum(self.seconds) / len(self.seconds), 2) if self.seconds else 0.0,
        }


def piece(number: int, part: int) -> str:
    return f"I heard {mark(number)}, part {part}."


def last_piece(number: int) -> str:
    return piece(number, PIECES)
