"""Backfill: the messages a channel got while we were offline, up to a limit, oldest first."""

from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger(__name__)

MAX_MISSED = 200
"""Per channel. Of more than that the newest count: what was said before them is old news."""


async def fetch_missed(channel: Any, message_id: int, *, limit: int = MAX_MISSED) -> list[Any]:
    """What was said after the message with that id."""
    import discord

    after = discord.Object(id=message_id)
    found = [message async for message in channel.history(limit=limit, after=after, oldest_first=False)]
    if len(found) >= limit:
        logger.warning("more was missed than is looked up", extra={"channel_id": channel.id, "limit": limit})
    return found[::-1]
