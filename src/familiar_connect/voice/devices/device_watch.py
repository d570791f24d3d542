"""Keeping a device open: it is watched, and tried again where it goes away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

RETRY_S = (0.5, 1.0, 2.0, 4.0, 8.0)
"""How long is waited before each new try; after the last the device is given up."""
SILENT_S = 6.0
"""A device that has not asked for a block for so long is gone, even where nobody was told."""

Sleep = Callable[[float], Awaitable[None]]


class DeviceWatch:
    """Knows whether an open device is still there. `beat` and `end` are called from the library's thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._beat = now()
        self._has_ended = False

    def begin(self) -> None:
        """The device was opened."""
        self._beat, self._has_ended = self._now(), False

    def beat(self) -> None:
        """It has asked for a block."""
        self._beat = self._now()

    def end(self) -> None:
        """It has stopped."""
        self._has_ended = True

    @property
    def is_gone(self) -> bool:
        return self._has_ended or self._now() - self._beat > SILENT_S


async def try_again(open_device: Callable[[], Awaitable[None]], *, sleep: Sleep = asyncio.sleep) -> bool:
    """Open a device that went away; whether it came back in time."""
    for wait_s in RETRY_S:
        await sleep(wait_s)
        try:
            await open_device()
        except OSError:
            continue
        return True
    return False
