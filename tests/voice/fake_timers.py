"""Time that passes when it is told to, with its timers."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class FakeTimers:
    """A clock and the timers set by it."""

    def __init__(self) -> None:
        self._at = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._cancelled: set[int] = set()

    @property
    def waiting(self) -> int:
        return sum(number not in self._cancelled for _, number, _ in self._queue)

    def monotonic(self) -> float:
        return self._at

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._at)

    def later(self, seconds: float, then: Callable[[], None]) -> FakeTimer:
        self._count += 1
        heapq.heappush(self._queue, (self._at + max(0.0, seconds), self._count, then))
        return FakeTimer(self._cancelled, self._count)

    def advance(self, seconds: float) -> None:
        """Let time pass; what is due is called at its own moment."""
        end = self._at + seconds
        while self._queue and self._queue[0][0] <= end:
            self._at, number, then = heapq.heappop(self._queue)
            if number not in self._cancelled:
                then()
        self._at = end


class FakeTimer:
    def __init__(self, cancelled: set[int], number: int) -> None:
        self._cancelled, self._number = cancelled, number

    def cancel(self) -> None:
        self._cancelled.add(self._number)
