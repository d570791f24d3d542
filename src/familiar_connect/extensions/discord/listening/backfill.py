"""Backfill: the messages a channel got while we were offline, up to a limit, oldest first."""

from __future__ import annotations

from typing import Any

MAX_MISSED = 200
"""Per channel, read before anything newer is heard. What was missed before them is read in the background."""
PAGE = 100
"""Messages that Discord gives at once."""


async def fetch_missed(channel: Any, message_id: int, *, limit: int) -> list[Any]:
    """The newest messages said after the one with that id."""
    import discord

    after = discord.Object(id=message_id)
    found = [message async for message in channel.history(limit=limit, after=after, oldest_first=False)]
    return found[::-1]


async def fetch_between(channel: Any, after_id: int, before_id: int, *, limit: int) -> list[Any]:
    """The newest *limit* messages said after the one message and before the other.

    Page by page: the library, given both ends, would read on past the older one.
    """
    import discord

    found: list[Any] = []
    while len(found) < limit:
        before = discord.Object(id=before_id)
        page = [each async for each in channel.history(limit=PAGE, before=before, oldest_first=False)]
        found += [each for each in page if each.id > after_id]
        if len(page) < PAGE or page[-1].id <= after_id:
            break
        before_id = page[-1].id
    return found[:limit][::-1]
