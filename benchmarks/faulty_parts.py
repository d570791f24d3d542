"""Faulty parts: what a provider of a stranger's extension costs a turn when it raises, hangs, or blocks its event loop.

Each has a deadline of 50 ms; one that blocks does so for 300 ms, once asleep and once at work without a pause. A
familiar for each, loaded as the program loads them, is spoken to by turns with one whose extension does nothing, so
that a busy machine slows all alike. A turn is measured from what somebody says to the reply being posted; the model
costs nothing. Run `python -m benchmarks.faulty_parts`; `--quick` for a short form, `--json` for a script.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchmarks.fixtures import ANA, QuietPlace, say, without_warnings
from benchmarks.table import Row, run_part, spread
from familiar_connect.context.types import ContextRequest, Contribution
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.extensions.parts import Extension
from familiar_connect.extensions.testing.trial_familiar import open_trial_familiar
from familiar_connect.extensions.turn_parts import ProviderPart
from familiar_connect.familiar import Familiar

DEADLINE_S = 0.05
BLOCKED_S = 0.3
MOST_COST_MS = 80.0
ROUNDS, QUICK_ROUNDS = 25, 6


async def do_nothing() -> None:
    """What the others are measured against."""


async def fail() -> None:
    raise ValueError("no luck")


async def hang() -> None:
    await asyncio.Event().wait()


async def sleep_on_the_loop() -> None:
    time.sleep(BLOCKED_S)  # noqa: ASYNC251 - the fault that is measured


async def compute() -> None:
    ends = time.perf_counter() + BLOCKED_S
    while time.perf_counter() < ends:
        pass


SOUND = "does nothing"
KINDS: dict[str, Callable[[], Awaitable[None]]] = {
    SOUND: do_nothing,
    "raises": fail,
    "hangs": hang,
    "blocks asleep": sleep_on_the_loop,
    "blocks computing": compute,
}


class Faulty:
    """A provider with one fault."""

    id = "faulty"
    deadline_s = DEADLINE_S

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self.is_done = threading.Event()

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        try:
            await self._work()
        finally:
            self.is_done.set()
        return []


class TimedPlace(QuietPlace):
    """Notes when something was posted."""

    posted = 0.0

    async def send(self, text: str) -> None:
        self.posted = time.perf_counter()
        await super().send(text)


@dataclass(frozen=True)
class Room:
    """A familiar that was spoken to once, and the part it has."""

    familiar: Familiar
    part: Faulty
    place: TimedPlace

    async def time_turn(self) -> float:
        """Seconds from something said to the reply; the part is free again afterwards."""
        self.part.is_done.clear()
        began = time.perf_counter()
        await say(self.familiar, self.place, ANA, "And what is for tea?", datetime.now(UTC))
        await asyncio.to_thread(self.part.is_done.wait, 60.0)
        return self.place.posted - began


async def open_room(stack: AsyncExitStack, work: Callable[[], Awaitable[None]]) -> Room:
    """With what is loaded once loaded."""
    part = Faulty(work)

    def create(context: PartContext) -> Faulty:
        return part

    extension = Extension(name="stranger", providers=(ProviderPart(create=create),))
    trial = await stack.enter_async_context(open_trial_familiar([extension], lambda messages: "Hello."))
    room = Room(trial.familiar, part, TimedPlace())
    await room.time_turn()
    return room


async def time_turns(rounds: int) -> dict[str, list[float]]:
    """Seconds of each turn, of each kind by turns."""
    async with AsyncExitStack() as stack:
        rooms = {name: await open_room(stack, work) for name, work in KINDS.items()}
        turns: dict[str, list[float]] = {name: [] for name in KINDS}
        for _ in range(rounds):
            for name, room in rooms.items():
                turns[name].append(await room.time_turn())
        return turns


def measure(*, quick: bool = False) -> dict[str, Any]:
    with without_warnings("familiar_connect"):
        turns = asyncio.run(time_turns(QUICK_ROUNDS if quick else ROUNDS))
    told = {name: {"least": min(values) * 1000, **spread(values, 1000)} for name, values in turns.items()}
    sound = told[SOUND]
    cost = {
        name: {which: each[which] - sound[which] for which in ("least", "p50")}
        for name, each in told.items()
        if name != SOUND
    }
    return {"turn_ms": told, "cost_ms": cost}


def rows(found: dict[str, Any]) -> list[Row]:
    turns = found["turn_ms"]
    return [
        Row(
            name=f"a provider that {name}, turn by turn",
            value=f"{cost['p50']:.0f} ms more ({turns[name]['p50']:.0f} against {turns[SOUND]['p50']:.0f}, medians of "
            f"{turns[name]['count']})",
            bar=f"≤ {MOST_COST_MS:.0f} ms",
            ok=cost["p50"] <= MOST_COST_MS,
        )
        for name, cost in found["cost_ms"].items()
    ]


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="faulty parts", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
