"""SimulatedLoop: an event loop whose time passes only while there is nothing left to do.

Everything that waits on the loop (sleeps, timeouts, timers) waits in simulated time: when no callback is ready, the
loop jumps to the next timer. Work for threads runs at once, where it is asked for, so that nothing overlaps and a run
repeats exactly. What really takes place elsewhere, such as a call to a model over the network, holds time still.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")

RESOLUTION_S = 1e-6
"""Timers this close to now are due."""

Ready = list[tuple[selectors.SelectorKey, int]]


class NothingLeftToHappen(RuntimeError):
    """Somebody waits for something, and no timer and no work is left that could bring it."""


class _IdleSelector(selectors.DefaultSelector):
    """A selector that never waits: where the loop would, *on_idle* decides what happens instead."""

    def __init__(self, on_idle: Callable[[float | None], bool]) -> None:
        super().__init__()
        self._on_idle = on_idle

    def select(self, timeout: float | None = None) -> Ready:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        return super().select(None) if self._on_idle(timeout) else []


class SimulatedLoop(asyncio.SelectorEventLoop):
    """The loop. Its time begins at zero."""

    def __init__(self) -> None:
        self._elapsed_s = 0.0
        self._holds = 0
        self._settling: list[asyncio.Future[None]] = []
        super().__init__(_IdleSelector(self._on_idle))
        self._clock_resolution = RESOLUTION_S

    def time(self) -> float:
        return self._elapsed_s

    async def settle(self) -> None:
        """Wait until everything that can happen without time passing has happened."""
        settled = self.create_future()
        self._settling.append(settled)
        await settled

    @contextmanager
    def hold(self) -> Iterator[None]:
        """While this is open something real is under way: time stands still and the loop waits for it."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1

    def _on_idle(self, timeout: float | None) -> bool:
        """Nothing is ready: whether the loop is really to wait for something from outside."""
        if self._holds:
            return True
        if self._settling:
            settling, self._settling = self._settling, []
            for settled in settling:
                if not settled.done():
                    settled.set_result(None)
            return False
        if timeout is None:
            raise NothingLeftToHappen("somebody waits for something that cannot come any more")
        self._elapsed_s += timeout
        return False

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run *func* here and now; its result is there after the callbacks that are ready already."""
        future: asyncio.Future[T] = self.create_future()
        try:
            result = func(*args)
        except Exception as error:
            self.call_soon(_fail, future, error)
        else:
            self.call_soon(_finish, future, result)
        return future


def _finish(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


class SimulatedClock:
    """The time of a `SimulatedLoop` as a Clock: *start* when the loop begins."""

    def __init__(self, start: datetime, loop: SimulatedLoop) -> None:
        self._start = start
        self._loop = loop

    def now(self) -> datetime:
        return self._start + timedelta(seconds=round(self._loop.time(), 6))

    def monotonic(self) -> float:
        return self._loop.time()


def run_simulated(main: Callable[[SimulatedLoop], Coroutine[Any, Any, T]]) -> T:
    """Run *main* to its end on a simulated loop of its own, as `asyncio.run` does on a real one."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, SimulatedLoop)
        return runner.run(main(loop))
