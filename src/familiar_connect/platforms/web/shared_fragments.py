"""SharedFragments: a piece of a page that many pages ask for at once is drawn once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable

from familiar_connect.support.clock import Clock
from familiar_connect.support.lru import LruCache

MOST_KEPT = 8


class SharedFragments:
    """Answers by what they were asked for; each is good for *keep_s* seconds after it was asked for first."""

    def __init__(self, clock: Clock, keep_s: float) -> None:
        self._clock = clock
        self._keep_s = keep_s
        self._drawn: LruCache[Hashable, tuple[float, asyncio.Future[bytes]]] = LruCache(MOST_KEPT)

    async def get(self, key: Hashable, draw: Callable[[], Awaitable[bytes]]) -> bytes:
        """What *draw* gives, or gave somebody else a moment ago; an error is told to all who wait and is not kept."""
        now = self._clock.monotonic()
        begun, drawing = self._drawn.get(key) or (now, None)
        if drawing is None or now - begun > self._keep_s or drawing.get_loop() is not asyncio.get_running_loop():
            drawing = asyncio.ensure_future(draw())
            self._drawn.put(key, (now, drawing))
        try:
            return await asyncio.shield(drawing)
        except Exception:
            self._drawn.pop(key)
            raise
