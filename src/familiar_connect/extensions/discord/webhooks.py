"""PersonaWebhooks: the webhook of a channel through which further personas of the familiar speak.

One for each channel, made when it is first needed and found again afterwards. Where the bot may not have one, its
owner is told, and the persona speaks under the bot's own name.
"""

from __future__ import annotations

import logging
from typing import Any

from familiar_connect.api import PlatformHost
from familiar_connect.api.support import LruCache
from familiar_connect.extensions.discord.errors import delivery_error

logger = logging.getLogger(__name__)

MAX_KNOWN = 500
ASKED_AGAIN_S = 600.0
"""How long a channel that refused a webhook is not asked again."""


class PersonaWebhooks:
    """The webhooks of one bot account."""

    def __init__(self, host: PlatformHost) -> None:
        self._host = host
        self._known: LruCache[int, tuple[Any, Any]] = LruCache(MAX_KNOWN)
        """Client and webhook by channel: a webhook is of use only to the client that it was found with."""
        self._refused: LruCache[int, float] = LruCache(MAX_KNOWN)

    async def find(self, client: Any, channel: Any) -> Any | None:
        """The webhook that posts into *channel*, or into the channel that its thread is in; None: there is none."""
        home = getattr(channel, "parent", None) or channel
        if getattr(home, "guild", None) is None or not hasattr(home, "create_webhook"):
            return None
        known = self._known.get(home.id)
        if known is not None and known[0] is client:
            return known[1]
        now = self._host.clock.monotonic()
        if (self._refused.get(home.id) or now) > now:
            return None
        try:
            webhook = await self._find_or_make(client, home)
        except Exception as error:  # whatever the library raises: the words go out all the same
            self._refused.put(home.id, now + ASKED_AGAIN_S)
            await self._tell_owner(home, str(delivery_error(error)))
            return None
        self._known.put(home.id, (client, webhook))
        return webhook

    def forget(self, channel: Any) -> None:
        """The webhook of *channel* is gone."""
        self._known.pop((getattr(channel, "parent", None) or channel).id)

    async def _find_or_make(self, client: Any, home: Any) -> Any:
        own = (client.user.id, client.application_id)
        for each in await home.webhooks():
            if each.token and each.user is not None and each.user.id in own:
                return each
        return await home.create_webhook(name=self._host.name[:80], reason="further personas speak through it")

    async def _tell_owner(self, home: Any, reason: str) -> None:
        logger.warning("no webhook for further personas", extra={"channel_id": home.id, "reason": reason})
        try:
            await self._host.write_to_owner(
                f"My further personas speak under my own name in #{home.name}: I need the right to manage webhooks "
                f"there ({reason})."
            )
        except Exception as error:  # isolation: the owner may be out of reach
            logger.warning("the owner could not be told", extra={"error": type(error).__name__})
