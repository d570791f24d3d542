"""SimulatedLoop: an event loop whose time passes only while there is nothing left to do.

Everything that waits on the loop (sleeps, timeouts, timers) waits in simulated time: when no callback is ready, the
loop jumps to the next timer. Work for threads runs at once, where it is asked for, so that nothing overlaps and a run
repeats exactly. What really takes place elsewhere, such as a call to a model over the network, holds time still.

An event loop that skips waiting: a recording is played in the time that computing takes, timers keep their order.

While a thread works, or whoever runs the loop says that something is under way elsewhere, time passes as it does.
Else it jumps to whatever is due next.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar

from familiar_connect.support.clock import SystemClock

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


HELD_POLL_S = 0.02
HOLD_LIMIT_S = 60.0
"""Seconds of the machine after which a hold that nothing came of is over: the time that it took passes after all."""


class SkippingEventLoop(asyncio.SelectorEventLoop):
    """Its time runs ahead of the machine's."""

    def __init__(self) -> None:
        self._ahead_s = 0.0
        self._jobs = 0
        self._held_at: float | None = None
        self._holds = 0
        self._hold_limit_s = HOLD_LIMIT_S
        self._last_change = 0.0
        """When a hold was opened or closed last, by the machine."""
        self._is_busy: Callable[[], bool] = _never
        super().__init__(_SkippingSelector(selectors.DefaultSelector(), self._wait_s))

    def time(self) -> float:
        if self._held_at is None:
            return super().time() + self._ahead_s
        return self._held_at + (self._measure_held_s() if self._is_overdue() else 0.0)

    def skip_unless(self, is_busy: Callable[[], bool]) -> None:
        """Skip nothing while *is_busy* says that something is under way that no thread of ours works at."""
        self._is_busy = is_busy

    @contextmanager
    def hold(self, limit_s: float = HOLD_LIMIT_S) -> Iterator[None]:
        """While this is open, time stands still: what is computed takes none.

        What has hung for *limit_s* by the machine's clock is held no longer, so that a timeout around it is reached.
        """
        self._held_at, self._last_change = self.time(), super().time()
        self._hold_limit_s = limit_s
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            now = self._let_go()
            if self._holds:
                self._held_at, self._last_change = now, super().time()

    def _let_go(self) -> float:
        """Time goes on from where it stands; which is then."""
        now, self._held_at = self.time(), None
        self._ahead_s += now - self.time()
        return now

    def _measure_held_s(self) -> float:
        """Seconds for which nothing came of what is held."""
        return super().time() - self._last_change

    def _is_overdue(self) -> bool:
        return self._measure_held_s() >= self._hold_limit_s

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]  # the library's own types differ between versions
        future: asyncio.Future[T] = super().run_in_executor(executor, func, *args)
        self._jobs += 1
        future.add_done_callback(self._end_job)
        return future

    def _end_job(self, _future: object) -> None:
        self._jobs -= 1

    def _wait_s(self, timeout: float) -> float:
        """How long to wait in truth for something that is due in *timeout* seconds."""
        if self._held_at is not None and self._is_overdue():
            self._let_go()
            return 0.0
        if self._held_at is not None:
            return min(max(timeout, HELD_POLL_S), max(HELD_POLL_S, self._hold_limit_s - self._measure_held_s()))
        if self._jobs or self._is_busy():
            return timeout
        self._ahead_s += timeout
        return 0.0


class _SkippingSelector(selectors.BaseSelector):
    """Waits as long as it is told to, unless something is ready."""

    def __init__(self, inner: selectors.BaseSelector, wait_s: Callable[[float], float]) -> None:
        self._inner = inner
        self._wait_s = wait_s

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.modify(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = self._inner.select(0)
        if found or (timeout is not None and timeout <= 0):
            return found
        return self._inner.select(None if timeout is None else self._wait_s(timeout))

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._inner.get_map()

    def close(self) -> None:
        self._inner.close()


class LoopClock:
    """The running loop's seconds, and the date of the machine."""

    def now(self) -> datetime:
        return SystemClock().now()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


def run_skipping(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, without waiting for what is only waited for."""
    with asyncio.Runner(loop_factory=SkippingEventLoop) as runner:
        return runner.run(work)


def running_skipping_loop() -> SkippingEventLoop:
    """The loop that runs, which is a skipping one."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, SkippingEventLoop):
        raise TypeError("run this with `run_skipping`")
    return loop


def _never() -> bool:
    return False
