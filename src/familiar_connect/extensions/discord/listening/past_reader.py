"""PastReader: what was said in a channel before the familiar listened there, or during a long absence.

Nobody is answered for it. What is read when a channel is new to us stands before anything newer; what is read
after newer messages were stored is marked as belated: searched and remembered, and in no window.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from familiar_connect.extensions.discord.errors import delivery_error
from familiar_connect.extensions.discord.listening.backfill import fetch_between
from familiar_connect.extensions.discord.listening.channel_queues import ChannelQueues
from familiar_connect.extensions.discord.scene import is_forum
from familiar_connect.extensions.discord.settings import Settings

logger = logging.getLogger(__name__)

MAX_PAST = 1_000
"""Messages of before that are read at most, whatever the setting says."""
MAX_READ_ON = 10_000
"""As much, of a long absence."""
MAX_POSTS = 50
"""Posts of a forum that are read when it is subscribed; the newest."""

HearPast = Callable[[Any, bool], Awaitable[None]]
"""Given a message, and whether something newer is stored already."""


class PastReader:
    """Reads channels through the platform; *hear* takes in one message as heard before."""

    def __init__(
        self,
        settings: Settings,
        lanes: ChannelQueues,
        *,
        channel_at: Callable[[int], Awaitable[Any]],
        hear: HearPast,
    ) -> None:
        self._settings = settings
        self._lanes = lanes
        self._channel_at = channel_at
        self._hear = hear
        self._one_at_a_time = asyncio.Lock()

    @property
    def reads_past(self) -> bool:
        """Whether what was said before is read when a channel is new to us."""
        return self._settings.history_on_subscribe > 0

    def read_soon(self, channel_id: int) -> None:
        """Have a channel read, after what came in already and before anything newer; of a forum its posts."""
        self._lanes.put(channel_id, partial(self.read, channel_id))

    async def read(self, channel_id: int) -> None:
        limit = min(MAX_PAST, self._settings.history_on_subscribe)
        try:
            channel = await self._channel_at(channel_id)
            if is_forum(channel):
                for post in sorted(channel.threads, key=lambda each: int(each.id))[-MAX_POSTS:]:
                    self.read_soon(post.id)
                return
            found = [message async for message in channel.history(limit=limit, oldest_first=False)]
        except Exception as error:  # isolation: it listens from now on all the same
            _log_unread(channel_id, error)
            return
        for message in reversed(found):
            await self._hear(message, False)

    async def read_on(self, channel_id: int, *, after_id: int, before_id: int) -> None:
        """Read what was said between two messages, in the background and one channel at a time."""
        limit = min(MAX_READ_ON, self._settings.history_on_return)
        if limit == 0:
            return
        async with self._one_at_a_time:
            try:
                channel = await self._channel_at(channel_id)
                found = await fetch_between(channel, after_id, before_id, limit=limit)
            except Exception as error:  # isolation: what came last is heard all the same
                _log_unread(channel_id, error)
                return
            for message in found:
                await self._hear(message, True)
        logger.info("a longer absence was read", extra={"channel_id": channel_id, "messages": len(found)})


def _log_unread(channel_id: int, error: Exception) -> None:
    reason = str(delivery_error(error))
    logger.warning("what was said before cannot be read", extra={"channel_id": channel_id, "reason": reason})
