"""A platform that crashes comes back, one that is set up wrong stays off, and the others never notice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from familiar_connect.chat.place import Place
from familiar_connect.errors import SetupError
from familiar_connect.platforms.supervise import HEALTHY_AFTER_S, LONGEST_WAIT_S, run_all
from familiar_connect.support.clock import ManualClock


class Door:
    """A platform that does what each of its runs is scripted to; after that it ends."""

    def __init__(self, name: str, *runs: Callable[[], object]) -> None:
        self.id = name
        self.places: tuple[type[Place], ...] = ()
        self._runs = list(runs)
        self.started = 0

    async def run(self) -> None:
        self.started += 1
        if self._runs:
            outcome = self._runs.pop(0)()
            if isinstance(outcome, BaseException):
                raise outcome


class Waits:
    """Sleep that takes no time and remembers."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def hand_clock() -> ManualClock:
    return ManualClock(datetime(2025, 6, 1, tzinfo=UTC))


async def test_a_crash_is_told_and_followed_by_another_start() -> None:
    """Each time after a longer wait."""
    told: list[str] = []
    waits, door = Waits(), Door("twitch", *[lambda: ValueError("private words")] * 3)

    assert await run_all([door], tell=told.append, clock=hand_clock(), sleep=waits) == {}
    assert (door.started, waits.seconds) == (4, [1.0, 2.0, 4.0])
    assert told[0] == "twitch stopped (ValueError) and is started again in 1 s."


async def test_waits_have_a_longest() -> None:
    """However often it crashes."""
    waits, door = Waits(), Door("twitch", *[lambda: OSError()] * 20)
    await run_all([door], tell=lambda _: None, clock=hand_clock(), sleep=waits)

    assert waits.seconds[-1] == LONGEST_WAIT_S


async def test_after_a_long_calm_a_crash_counts_as_the_first() -> None:
    """What was well is not punished for old trouble."""
    clock, waits = hand_clock(), Waits()

    def calm() -> Exception:
        clock.advance(HEALTHY_AFTER_S)
        return OSError()

    door = Door("twitch", lambda: OSError(), lambda: OSError(), calm)
    await run_all([door], tell=lambda _: None, clock=clock, sleep=waits)

    assert waits.seconds == [1.0, 2.0, 1.0]


async def test_what_the_owner_must_mend_is_told_once_and_not_tried_again() -> None:
    """As the sentence it is."""
    told: list[str] = []
    door = Door("discord", lambda: SetupError("the token is wrong: make a new one"))
    problems = await run_all([door], tell=told.append, sleep=Waits())

    assert told == ["discord stays off: the token is wrong: make a new one"]
    assert list(problems) == ["discord"]
    assert door.started == 1


async def test_one_door_that_breaks_closes_no_other() -> None:
    """The good one runs through all the crashes of the bad one."""
    release, running = asyncio.Event(), asyncio.Event()

    class Good:
        id = "discord"
        places = ()
        starts = 0

        async def run(self) -> None:
            Good.starts += 1
            running.set()
            await release.wait()

    async def wait(seconds: float) -> None:
        await running.wait()
        if seconds > 8:
            release.set()

    bad = Door("twitch", *[lambda: OSError()] * 5)
    await run_all([bad, Good()], tell=lambda _: None, sleep=wait)

    assert (bad.started, Good.starts) == (6, 1)


async def test_being_told_to_stop_ends_them_all() -> None:
    """Cancelling is no crash."""
    told: list[str] = []
    running = asyncio.Event()

    class Forever:
        id = "discord"
        places = ()

        async def run(self) -> None:
            running.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(run_all([Forever()], tell=told.append))
    await running.wait()
    task.cancel()
    await asyncio.wait({task})

    assert task.cancelled()
    assert told == []
