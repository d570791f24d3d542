"""Waiting is skipped, work is not."""

from __future__ import annotations

import asyncio
import time

from familiar_connect.support.aio import off_loop
from familiar_connect.support.skipping_loop import LoopClock, run_skipping, running_skipping_loop


def test_hours_pass_in_no_time_and_in_order() -> None:
    """What is due first comes first."""
    seen: list[str] = []

    async def sleeper(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        seen.append(name)

    async def run() -> float:
        began = LoopClock().monotonic()
        await asyncio.gather(sleeper("last", 7200), sleeper("first", 0.001), sleeper("second", 60))
        return LoopClock().monotonic() - began

    began = time.monotonic()
    assert run_skipping(run()) >= 7200
    assert time.monotonic() - began < 60
    assert seen == ["first", "second", "last"]


def test_no_timer_is_reached_while_a_thread_works() -> None:
    """A timeout of an hour is not skipped to."""

    async def run() -> str:
        async with asyncio.timeout(3600):
            return await off_loop(lambda: "done")

    assert run_skipping(run()) == "done"


def test_time_stands_still_while_it_is_held() -> None:
    """And goes on from there."""

    async def run() -> tuple[float, float]:
        loop = running_skipping_loop()
        with loop.hold():
            before = loop.time()
            await off_loop(lambda: None)
            held = loop.time() - before
        await asyncio.sleep(5)
        return held, loop.time() - before

    held, after = run_skipping(run())
    assert held == 0
    assert 5 <= after < 65
