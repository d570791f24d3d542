"""SimulatedLoop: time passes only while there is nothing to do, and a run repeats exactly."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest

from familiar_connect.support.aio import off_loop
from familiar_connect.support.simulated_time import NothingLeftToHappen, SimulatedClock, SimulatedLoop, run_simulated

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_a_sleep_of_a_week_is_over_at_once_and_the_clock_shows_it() -> None:
    """Both the wall clock and the loop's own."""

    async def main(loop: SimulatedLoop) -> tuple[datetime, float]:
        clock = SimulatedClock(NOON, loop)
        await asyncio.sleep(7 * 24 * 3600)
        return clock.now(), clock.monotonic()

    assert run_simulated(main) == (NOON + timedelta(days=7), 7 * 24 * 3600.0)


def test_timers_go_off_in_order_and_at_their_own_time() -> None:
    """Whatever order they were set in."""
    seen: list[tuple[str, float]] = []

    async def main(loop: SimulatedLoop) -> None:
        loop.call_later(30, lambda: seen.append(("late", loop.time())))
        loop.call_later(10, lambda: seen.append(("early", loop.time())))
        await asyncio.sleep(60)

    run_simulated(main)

    assert seen == [("early", 10.0), ("late", 30.0)]


def test_work_off_the_loop_costs_no_simulated_time() -> None:
    """A deadline around it does not strike, and its failure arrives."""

    def fail() -> None:
        raise ValueError("no")

    async def main(loop: SimulatedLoop) -> tuple[int, float]:
        async with asyncio.timeout(0.001):
            found = await off_loop(threading.get_ident)
            with pytest.raises(ValueError, match="no"):
                await off_loop(fail)
        return found, loop.time()

    assert run_simulated(main) == (threading.get_ident(), 0.0)


def test_settling_waits_for_everything_but_time() -> None:
    """A chain of tasks and off-loop work is over; a timer is not."""
    done: list[str] = []

    async def chain(left: int) -> None:
        await off_loop(done.append, str(left))
        if left:
            await asyncio.create_task(chain(left - 1))

    async def main(loop: SimulatedLoop) -> float:
        task = asyncio.create_task(chain(5))
        timer = loop.call_later(1, done.append, "timer")
        await loop.settle()
        timer.cancel()
        await task
        return loop.time()

    assert run_simulated(main) == 0.0
    assert done == ["5", "4", "3", "2", "1", "0"]


def test_time_stands_still_while_something_real_is_under_way() -> None:
    """A timer that is due a moment later does not go off before it."""
    go_on = threading.Event()

    async def main(loop: SimulatedLoop) -> list[str]:
        seen: list[str] = []
        loop.call_later(0.5, seen.append, "timer")
        arrived = loop.create_future()

        def outside() -> None:
            go_on.wait(100)
            loop.call_soon_threadsafe(arrived.set_result, None)

        thread = threading.Thread(target=outside)
        thread.start()
        with loop.hold():
            loop.call_soon(go_on.set)
            await arrived
            seen.append("real")
        await asyncio.sleep(1)
        thread.join()
        return seen

    assert run_simulated(main) == ["real", "timer"]


def test_waiting_for_what_cannot_come_is_an_error_and_no_hang() -> None:
    """With no timer and no work left."""

    async def main(loop: SimulatedLoop) -> None:
        await asyncio.Event().wait()

    with pytest.raises(NothingLeftToHappen):
        run_simulated(main)
