"""PersonaWebhooks: the webhook of a channel through which further personas of the familiar speak.

People who let the familiar speak for them are heard through it, too. One for each channel, made when it is first needed
and found again afterwards. Where the bot may not have one, its owner is told, and the persona speaks under the bot's
own name.
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any

from familiar_connect.api import Author, DeliveryError, PlatformHost
from familiar_connect.api.support import LruCache
from familiar_connect.extensions.discord.errors import delivery_error

logger = logging.getLogger(__name__)

MAX_KNOWN = 500
MAX_NAME = 80
POST_WITHIN_S = 30.0
ASKED_AGAIN_S = 600.0
"""How long a channel that refused a webhook is not asked again."""
_FORBIDDEN_NAMES = re.compile("clyde|discord", re.IGNORECASE)
_UNSEEN = "\u200b"


def webhook_name(name: str) -> str:
    """*name* as a webhook may bear it: Discord refuses some words, which look the same with a space of no width."""
    parted = _FORBIDDEN_NAMES.sub(lambda found: f"{found[0][0]}{_UNSEEN}{found[0][1:]}", name)
    return parted[:MAX_NAME]


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

    async def post_for(self, client: Any, channel: Any, person: Author, text: str) -> str:
        """Post *text* under the name and picture of *person*, who may write there themselves; the message's id."""
        import discord

        guild = getattr(channel, "guild", None)
        member = guild.get_member(int(person.user_id)) if guild is not None and person.user_id.isdigit() else None
        if member is None:
            raise DeliveryError("I can write under someone's name only on a server, for its members")
        is_thread = getattr(channel, "parent", None) is not None
        rights = channel.permissions_for(member)
        if not (rights.send_messages_in_threads if is_thread else rights.send_messages):
            raise DeliveryError("you may not write here yourself")
        webhook = await self.find(client, channel)
        if webhook is None:
            raise DeliveryError("I need the right to manage webhooks here")
        try:
            async with asyncio.timeout(POST_WITHIN_S):
                posted = await webhook.send(
                    text,
                    username=webhook_name(member.display_name),
                    avatar_url=member.display_avatar.url,
                    wait=True,
                    allowed_mentions=discord.AllowedMentions.none(),
                    **({"thread": discord.Object(id=channel.id)} if is_thread else {}),
                )
        except Exception as error:  # whatever the library raises
            self.forget(channel)
            raise delivery_error(error) from error
        return str(posted.id)

    def forget(self, channel: Any) -> None:
        """The webhook of *channel* is gone."""
        self._known.pop((getattr(channel, "parent", None) or channel).id)

    async def _find_or_make(self, client: Any, home: Any) -> Any:
        own = (client.user.id, client.application_id)
        for each in await home.webhooks():
            if each.token and each.user is not None and each.user.id in own:
                return each
        return await home.create_webhook(name=webhook_name(self._host.name), reason="further personas speak through it")

    async def _tell_owner(self, home: Any, reason: str) -> None:
        logger.warning("no webhook for further personas", extra={"channel_id": home.id, "reason": reason})
        try:
            await self._host.write_to_owner(
                f"My further personas speak under my own name in #{home.name}: I need the right to manage webhooks "
                f"there ({reason})."
            )
        except Exception as error:  # isolation: the owner may be out of reach
            logger.warning("the owner could not be told", extra={"error": type(error).__name__})
