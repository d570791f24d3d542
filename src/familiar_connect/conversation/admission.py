"""Admission: whose messages are taken in, and from where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.limits import ReplyLimits
from familiar_connect.conversation.owner import OwnerContact
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import LOCAL_PLATFORMS, Privacy
from familiar_connect.subscriptions import SubscriptionKind, SubscriptionRegistry


@dataclass(frozen=True, kw_only=True)
class Admission:
    """What decides whether a message is heard: the person's wish, the subscriptions and the setting for DMs."""

    subscriptions: SubscriptionRegistry
    privacy: Privacy
    owner: OwnerContact
    dms: dict[str, str] = field(default_factory=dict)
    """Platform → whose direct messages are heard there: `off`, `owner` or `everyone`; the owner's where it is none."""
    limits: ReplyLimits | None = None
    """Who is heard and not answered; None: nobody."""
    bots: frozenset[str] = frozenset()
    """Canonical keys of bots that are heard as people are."""
    bot_reply_limit: int = 0
    """Replies between two messages of people, after which those bots are not answered."""
    view: Callable[[InboundMessage], str | None] | None = None
    """What the regex scripts in force make of a message, if anything, for prompts to show; called in a thread."""

    def is_refused_bot(self, message: InboundMessage) -> bool:
        """Whether *message* is a bot's that is not to be heard; our own words never are."""
        is_heard = message.author.canonical_key in self.bots and not message.is_self
        return message.is_bot and not is_heard

    def has_answered_bots_enough(self, turns: Sequence[HistoryTurn]) -> bool:
        """Whether, by the latest *turns* of a channel, only a person may be answered next."""
        replies = 0
        for turn in reversed(turns):
            if turn.role == "assistant":
                replies += 1
            elif turn.author is None or turn.author.canonical_key not in self.bots:
                break
        return replies >= self.bot_reply_limit

    def is_subscribed(self, message: InboundMessage) -> bool:
        """Whether *message* comes from where the familiar listens; threads follow the channel they are in."""
        if message.platform in LOCAL_PLATFORMS:
            return True
        if message.is_dm:
            whose = self.dms.get(message.platform, "owner")
            return whose == "everyone" or (whose == "owner" and self.owner.is_owner(message.author))
        kind = SubscriptionKind.voice if message.is_voice else SubscriptionKind.text
        channels = (message.channel_id, message.parent_channel_id)
        return any(each is not None and self.subscriptions.get(channel_id=each, kind=kind) for each in channels)
