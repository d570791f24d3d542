"""Admission: whose messages are taken in, and from where."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.limits import ReplyLimits
from familiar_connect.conversation.owner import OwnerContact
from familiar_connect.identity import LOCAL_PLATFORMS, Privacy
from familiar_connect.subscriptions import SubscriptionKind, SubscriptionRegistry


@dataclass(frozen=True, kw_only=True)
class Admission:
    """What decides whether a message is heard: the person's wish, the subscriptions and the setting for DMs."""

    subscriptions: SubscriptionRegistry
    privacy: Privacy
    owner: OwnerContact
    dms: str = "owner"
    """Whose direct messages are heard: `off`, `owner` or `everyone`."""
    limits: ReplyLimits | None = None
    """Who is heard and not answered; None: nobody."""

    def is_subscribed(self, message: InboundMessage) -> bool:
        """Whether *message* comes from where the familiar listens."""
        if message.platform in LOCAL_PLATFORMS:
            return True
        if message.is_dm:
            return self.dms == "everyone" or (self.dms == "owner" and self.owner.is_owner(message.author))
        kind = SubscriptionKind.voice if message.is_voice else SubscriptionKind.text
        return self.subscriptions.get(channel_id=message.channel_id, kind=kind) is not None
