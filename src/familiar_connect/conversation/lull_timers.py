"""Lull timers: one per channel, restarted by every message, that fires when nobody has spoken for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Timer]
"""Calls something after so many seconds, unless it is cancelled before."""


def call_later(seconds: float, then: Callable[[], None]) -> Timer:
    return asyncio.get_running_loop().call_later(seconds, then)


class RestartableTimer:
    """One timer that can be started anew. One left behind by a closed loop can be cancelled like any other."""

    def __init__(self, then: Callable[[], None], later: CallLater = call_later) -> None:
        self._then = then
        self._later = later
        self._timer: Timer | None = None

    def restart(self, seconds: float) -> None:
        self.cancel()
        self._timer = self._later(seconds, self._expire)

    def cancel(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _expire(self) -> None:
        self._timer = None
        self._then()


class LullTimers:
    """The timers of all channels."""

    def __init__(self, quiet: Callable[[int], None], later: CallLater = call_later) -> None:
        self._on_lull = quiet
        self._later = later
        self._timers: dict[int, RestartableTimer] = {}

    def restart(self, channel_id: int, seconds: float) -> None:
        if channel_id not in self._timers:
            self._timers[channel_id] = RestartableTimer(lambda: self._expire(channel_id), self._later)
        self._timers[channel_id].restart(seconds)

    def cancel(self, channel_id: int) -> None:
        timer = self._timers.pop(channel_id, None)
        if timer is not None:
            timer.cancel()

    def cancel_all(self) -> None:
        for channel_id in list(self._timers):
            self.cancel(channel_id)

    def _expire(self, channel_id: int) -> None:
        self._timers.pop(channel_id, None)
        self._on_lull(channel_id)
