"""ChannelQueues: events of one channel are handled in order, and channels do not wait for each other.

A lane has an end: what does not fit is let go, and its channel is told to look back once there is room again.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from familiar_connect.api.support import BackgroundTasks

logger = logging.getLogger(__name__)

MAX_WAITING = 2_000

Step = Callable[[], Awaitable[None]]


@dataclass
class _ChannelQueue:
    waiting: deque[Step] = field(default_factory=deque)
    overflowed: bool = False


class ChannelQueues:
    """One worker per channel in which something waits."""

    def __init__(self, *, look_back: Callable[[int], Awaitable[None]], limit: int = MAX_WAITING) -> None:
        self._look_back = look_back
        self._limit = limit
        self._lanes: dict[int, _ChannelQueue] = {}
        self._background = BackgroundTasks("discord")

    def put(self, channel_id: int, step: Step) -> None:
        """Have *step* done after everything that came before it in the channel."""
        lane = self._lanes.get(channel_id)
        if lane is None:
            lane = self._lanes[channel_id] = _ChannelQueue()
            self._background.start(self._work(channel_id, lane), name=f"channel-{channel_id}")
        if lane.overflowed or len(lane.waiting) >= self._limit:
            lane.overflowed = True  # and nothing newer comes in before the channel has looked back
            return
        lane.waiting.append(step)

    async def _work(self, channel_id: int, lane: _ChannelQueue) -> None:
        while lane.waiting or lane.overflowed:
            if not lane.waiting:
                lane.overflowed = False
                logger.warning("more came in than could be taken in, looking back", extra={"channel_id": channel_id})
                lane.waiting.append(lambda: self._look_back(channel_id))
            step = lane.waiting.popleft()
            try:
                await step()
            except Exception:  # isolation: one event that fails ends nothing else
                logger.exception("discord event failed", extra={"channel_id": channel_id})
        del self._lanes[channel_id]

    async def wait_until_idle(self) -> None:
        await self._background.wait_until_idle()

    async def aclose(self) -> None:
        await self._background.aclose()
        self._lanes.clear()
