"""ThreadStarters: the message that a thread began with, which stands in the channel that the thread is in.

It has the number of the thread. Looked up where it is not at hand, kept for minutes, and forgotten at once when it is
edited or deleted. A private thread begins with none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from familiar_connect.api import Clock, ReferencedMessage
from familiar_connect.api.servers import ServerHost
from familiar_connect.api.support import LruCache
from familiar_connect.extensions.discord.inbound import to_inbound

logger = logging.getLogger(__name__)

LOOK_S = 0.4
"""Well below the second that a channel may take to be looked at: who reads there does not wait for this."""
LOOK_AGAIN_S = 30.0
"""How long one that could not be looked up is left alone."""
"""How long it may take: a scene is waited for no longer than that."""
KEPT_S = 600.0
MAX_KEPT = 500


class ThreadStarters:
    """Those of the threads that were looked at lately."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: LruCache[int, tuple[float, ReferencedMessage | None]] = LruCache(MAX_KEPT)

    async def find(self, thread: Any, client: Any, servers: ServerHost, rules: str | None) -> ReferencedMessage | None:
        """What *thread* began with; None: nothing, or nothing that all of its readers may be told.

        *rules* are those of the channel that the thread is in; None: nobody knows them.
        """
        if getattr(thread.type, "name", "") not in ("public_thread", "news_thread") or rules is None:
            return None
        starter = await self._look(thread, client)
        if starter is None:
            return None
        parent, server = thread.parent_id, thread.guild.id
        return starter if await servers.is_tellable(parent, server, starter.message_id, rules) else None

    async def _look(self, thread: Any, client: Any) -> ReferencedMessage | None:
        kept = self._kept.get(thread.id)
        now = self._clock.monotonic()
        if kept is not None and now <= kept[0]:
            return kept[1]
        lasts_s = KEPT_S
        found = client.get_message(thread.id)
        if found is None:
            try:
                found = await _fetch(thread)
            except TimeoutError:
                lasts_s = LOOK_AGAIN_S
        inbound = to_inbound(found, me=client.user.id, application=client.application_id) if found is not None else None
        starter = None
        if inbound is not None:
            starter = ReferencedMessage(
                message_id=str(thread.id),
                author=inbound.author,
                text=inbound.text,
                is_self=inbound.is_self,
                webhook=inbound.webhook,
            )
        self._kept.put(thread.id, (now + lasts_s, starter))
        return starter

    def forget(self, message_ids: Iterable[int]) -> None:
        """Messages read otherwise now, or are gone."""
        for each in message_ids:
            self._kept.pop(each)


async def _fetch(thread: Any) -> Any:
    """The message from Discord: of a post of a forum in the post itself, else in the channel of the thread.

    TimeoutError: not now.
    """
    parent = thread.parent
    place = thread if parent is None or not hasattr(parent, "fetch_message") else parent
    try:
        async with asyncio.timeout(LOOK_S):
            return await place.fetch_message(thread.id)
    except TimeoutError:
        raise
    except Exception as error:  # isolation: a thread that began with nothing is one all the same
        logger.debug("what a thread began with is not known", extra={"error": type(error).__name__})
        return None
