"""What EventSub can be asked to tell here, and whose token may ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from familiar_connect.extensions.twitch.demo.chat_room import ChatRoom
from familiar_connect.extensions.twitch.demo.tokens import Answer, Token, refuse

CHAT = "channel.chat.message"
MESSAGE_DELETED = "channel.chat.message_delete"
USER_CLEARED = "channel.chat.clear_user_messages"
CHAT_CLEARED = "channel.chat.clear"
SETTINGS_CHANGED = "channel.chat_settings.update"
WHISPER = "user.whisper.message"
REDEMPTION = "channel.channel_points_custom_reward_redemption.add"
SUBSCRIPTION, GIFT, RESUBSCRIPTION = "channel.subscribe", "channel.subscription.gift", "channel.subscription.message"
CHEER, FOLLOW, RAID, ADS = "channel.cheer", "channel.follow", "channel.raid", "channel.ad_break.begin"


@dataclass(frozen=True)
class TopicRule:
    """The right that a topic takes, and the field of its condition that must be whose token asks."""

    scope: str
    mine: str | None
    version: str = "1"
    is_chat: bool = False


RULES: Mapping[str, TopicRule] = {
    **{
        kind: TopicRule("user:read:chat", "user_id", is_chat=True)
        for kind in (CHAT, MESSAGE_DELETED, USER_CLEARED, CHAT_CLEARED, SETTINGS_CHANGED)
    },
    WHISPER: TopicRule("user:read:whispers", "user_id"),
    REDEMPTION: TopicRule("channel:read:redemptions", "broadcaster_user_id"),
    **{
        kind: TopicRule("channel:read:subscriptions", "broadcaster_user_id")
        for kind in (SUBSCRIPTION, GIFT, RESUBSCRIPTION)
    },
    CHEER: TopicRule("bits:read", "broadcaster_user_id"),
    FOLLOW: TopicRule("moderator:read:followers", "moderator_user_id", version="2"),
    RAID: TopicRule("", None),
    ADS: TopicRule("channel:read:ads", "broadcaster_user_id"),
}


def why_refused(wish: Mapping[str, Any], token: Token, room: ChatRoom) -> Answer | None:
    """Why a token may not have what it asks for; None: it may."""
    rule = RULES.get(str(wish.get("type")))
    if rule is None or wish.get("version") != rule.version:
        return refuse(400, "Bad Request", "invalid subscription type and version")
    condition = wish.get("condition") or {}
    named = [condition.get(key) for key in ("broadcaster_user_id", "to_broadcaster_user_id", "user_id")]
    if not any(named):
        return refuse(400, "Bad Request", "missing or invalid condition")
    not_allowed = refuse(403, "Forbidden", "subscription missing proper authorization")
    if rule.scope and rule.scope not in token.scopes:
        return not_allowed
    if rule.mine is not None and condition.get(rule.mine) != token.user_id:
        return not_allowed
    asker = room.find_viewer(token.user_id)
    if rule.is_chat and token.user_id in room.banned:
        return not_allowed
    if rule.mine == "moderator_user_id" and not (asker is not None and room.is_in_charge(asker)):
        return not_allowed
    return None
