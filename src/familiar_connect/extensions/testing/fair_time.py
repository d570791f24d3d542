"""Limits that a slow computer does not reach: what counts is the time in which this program could run.

Of the time between two looks only a little counts. A program that the computer leaves waiting looks seldom, so its
limits come late by the wall clock; one that waits for nothing but itself looks on time, and its limits come on time.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from familiar_connect.support.aio import cancel_and_wait

LOOK_EVERY_S = 0.01
MOST_PER_LOOK_S = 2 * LOOK_EVERY_S
"""How much of the time between two looks counts at most."""


class FairStopwatch:
    """Counts the seconds in which this program could run, as seen by whoever looks every `LOOK_EVERY_S`."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self.seconds = 0.0

    def look(self) -> None:
        now = time.monotonic()
        self.seconds += min(now - self._last, MOST_PER_LOOK_S)
        self._last = now


async def finish_within(work: Coroutine[Any, Any, object], limit_s: float) -> bool:
    """Let *work* come to its end, and raise what it raises; False: it took more than *limit_s*, and was cancelled."""
    task = asyncio.get_running_loop().create_task(_finish(work), name="step of a check")
    watch = FairStopwatch()
    try:
        while watch.seconds < limit_s:
            done, _ = await asyncio.wait({task}, timeout=LOOK_EVERY_S)
            if done:
                task.result()
                return True
            watch.look()
        return False
    finally:
        await cancel_and_wait(task)


async def _finish(work: Coroutine[Any, Any, object]) -> None:
    await work


class LoopWatch:
    """How long the running loop was held at most, so that nobody else's work moved."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._held = FairStopwatch()
        self.longest_hold_s = 0.0

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch the running loop while this is open."""
        thread = threading.Thread(target=self._look, name="watch of the loop", daemon=True)
        beat = asyncio.get_running_loop().create_task(self._beat(), name="watch of the loop")
        thread.start()
        try:
            yield
        finally:
            beat.cancel()
            self._stop.set()
            thread.join()

    def _look(self) -> None:
        while not self._stop.wait(LOOK_EVERY_S):
            held = self._held
            held.look()
            self.longest_hold_s = max(self.longest_hold_s, held.seconds)

    async def _beat(self) -> None:
        while True:
            self._held = FairStopwatch()
            await asyncio.sleep(LOOK_EVERY_S)
