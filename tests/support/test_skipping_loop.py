"""Waiting is skipped, work is not."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from familiar_connect.support.aio import off_loop
from familiar_connect.support.simulated_time import LoopClock, run_skipping, running_skipping_loop


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


@pytest.mark.parametrize("is_thread", [True, False])
def test_what_hangs_while_time_is_held_reaches_its_timeout(is_thread: bool) -> None:
    """Whether it is a thread or a task; time goes on from there."""
    hangs = threading.Event()

    async def hang() -> None:
        async with asyncio.timeout(0.1):
            with running_skipping_loop().hold(0.1):
                await (off_loop(hangs.wait, 100) if is_thread else asyncio.Event().wait())

    async def run() -> tuple[float, float]:
        loop = running_skipping_loop()
        before = loop.time()
        with pytest.raises(TimeoutError):
            await hang()
        held = loop.time() - before
        await asyncio.sleep(5)
        return held, loop.time() - before

    try:
        held, after = run_skipping(run())
    finally:
        hangs.set()
    assert 0.1 <= held < 60
    assert held + 5 <= after


def test_each_hold_that_opens_or_closes_begins_the_limit_anew() -> None:
    """Many that take their turns are no hang: none of their time passes."""

    async def run() -> float:
        loop = running_skipping_loop()
        with loop.hold(0.3):
            before = loop.time()
            for _ in range(8):
                with loop.hold(0.3):
                    await off_loop(threading.Event().wait, 0.05)
            return loop.time() - before

    assert run_skipping(run()) == 0
