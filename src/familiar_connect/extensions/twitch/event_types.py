"""What happens on a Twitch channel, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from familiar_connect.api import Author, Message

Priority = Literal["normal", "immediate"]
PLATFORM = "twitch"
NOBODY_NAMED = "Twitch"
"""Who tells of an event that has no viewer."""


class Kind(StrEnum):
    """What we ask EventSub to tell, under its own names."""

    chat = "channel.chat.message"
    redemption = "channel.channel_points_custom_reward_redemption.add"
    subscription = "channel.subscribe"
    gift = "channel.subscription.gift"
    resubscription = "channel.subscription.message"
    cheer = "channel.cheer"
    follow = "channel.follow"
    raid = "channel.raid"
    ads_begin = "channel.ad_break.begin"
    message_deleted = "channel.chat.message_delete"
    user_cleared = "channel.chat.clear_user_messages"
    """Somebody was timed out or banned, and their messages are gone."""
    chat_cleared = "channel.chat.clear"


@dataclass(frozen=True)
class TwitchEvent:
    """One thing that happened on a channel, in words."""

    channel: str
    text: str
    priority: Priority
    """`immediate` is answered at once; of `normal` ones the monitor decides."""
    timestamp: datetime
    viewer: Author | None = None

    @property
    def text_with_prefix(self) -> str:
        """The words as the familiar hears them."""
        return f"[{NOBODY_NAMED}] {self.text}"

    def to_message(self) -> Message:
        name = self.viewer.openai_name if self.viewer is not None else None
        return Message(role="user", content=self.text_with_prefix, name=name or NOBODY_NAMED)


@dataclass(frozen=True)
class TwitchWatcherConfig:
    """Which events are told."""

    subscriptions_enabled: bool
    cheers_enabled: bool
    follows_enabled: bool
    ads_enabled: bool
    ads_immediate: bool = True
    redemption_names: list[str] = field(default_factory=list)
    """Rewards whose redemption is told; no other is."""
    raids_enabled: bool = True
    immediate_events: frozenset[str] = frozenset()
    """Kinds of events, as the settings name them, that are answered at once."""

    def priority_of(self, kind: str) -> Priority:
        return "immediate" if kind in self.immediate_events else "normal"


@dataclass(frozen=True, kw_only=True)
class Topic:
    """Something EventSub can be asked to tell, and the right it takes."""

    kind: Kind
    condition: Mapping[str, str]
    scope: str
    version: str = "1"


@dataclass(frozen=True, kw_only=True)
class Notification:
    """EventSub telling that something happened."""

    message_id: str
    kind: str
    event: Mapping[str, Any]
    timestamp: datetime
