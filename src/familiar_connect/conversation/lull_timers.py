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


class LullTimers:
    """The timers of all channels. One left behind by a closed loop can be cancelled like any other."""

    def __init__(self, quiet: Callable[[int], None], later: CallLater = call_later) -> None:
        self._on_lull = quiet
        self._later = later
        self._timers: dict[int, Timer] = {}

    def restart(self, channel_id: int, seconds: float) -> None:
        self.cancel(channel_id)
        self._timers[channel_id] = self._later(seconds, lambda: self._expired(channel_id))

    def cancel(self, channel_id: int) -> None:
        timer = self._timers.pop(channel_id, None)
        if timer is not None:
            timer.cancel()

    def cancel_all(self) -> None:
        for channel_id in list(self._timers):
            self.cancel(channel_id)

    def _expired(self, channel_id: int) -> None:
        self._timers.pop(channel_id, None)
        self._on_lull(channel_id)
