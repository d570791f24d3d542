"""An event loop that skips waiting: a recording is played in the time that computing takes, timers keep their order.

While a thread works, or whoever runs the loop says that something is under way elsewhere, time passes as it does.
Else it jumps to whatever is due next.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from familiar_connect.support.clock import SystemClock

T = TypeVar("T")

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
        return self._held_at + (self._held_s() if self._is_overdue() else 0.0)

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

    def _held_s(self) -> float:
        """Seconds for which nothing came of what is held."""
        return super().time() - self._last_change

    def _is_overdue(self) -> bool:
        return self._held_s() >= self._hold_limit_s

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
            return min(max(timeout, HELD_POLL_S), max(HELD_POLL_S, self._hold_limit_s - self._held_s()))
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
