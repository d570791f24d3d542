"""Twitch's chat messages and events as messages that were heard."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from familiar_connect.chat.types import InboundMessage
from familiar_connect.identity import Author
from familiar_connect.platforms.twitch.types import NOBODY_NAMED, Notification, TwitchEvent
from familiar_connect.platforms.twitch.watcher import viewer_of
from familiar_connect.support.text import one_line

PLATFORM = "twitch"
ANONYMOUS = Author(platform=PLATFORM, user_id="twitch", username="twitch", display_name=NOBODY_NAMED)
"""Who tells of what nobody did by name."""
MAX_SENT_LINES = 100


class SentLines:
    """What we said lately, to know it when the chat shows it to us.

    An account that is the streamer's own is also typed with by the streamer: only our words are ours then.
    """

    def __init__(self) -> None:
        self._words: deque[str] = deque(maxlen=MAX_SENT_LINES)

    def add(self, text: str) -> None:
        self._words.append(one_line(text))

    def contains(self, text: str) -> bool:
        return one_line(text) in self._words


def chat_message(
    notification: Notification, *, channel_id: int, channel: str, us: str, shared: bool, own: SentLines
) -> InboundMessage | None:
    """A line of chat; None where nobody can be named. *us*: our user id; *shared*: it is the streamer's too."""
    facts = notification.event
    author = viewer_of(facts, "chatter_user")
    if author is None:
        return None
    message: Mapping[str, Any] = facts["message"]
    text = str(message["text"])
    mentions = [part["mention"] for part in message.get("fragments") or () if part.get("mention")]
    ours = author.user_id == us and (not shared or own.contains(text))
    reply = facts.get("reply") or {}
    return InboundMessage(
        platform=PLATFORM,
        channel_id=channel_id,
        author=author,
        text=text,
        timestamp=notification.timestamp,
        message_id=str(facts.get("message_id") or notification.message_id),
        is_mention=any(str(mention.get("user_id")) == us for mention in mentions),
        is_reply_to_us=str(reply.get("parent_user_id")) == us,
        is_bot=ours,
        is_self=ours,
        channel_name=channel,
    )


def event_message(event: TwitchEvent, *, channel_id: int, message_id: str | None) -> InboundMessage:
    """An event as something said in the chat; an immediate one wants its answer whoever else is talking."""
    return InboundMessage(
        platform=PLATFORM,
        channel_id=channel_id,
        author=event.viewer or ANONYMOUS,
        text=event.text_with_prefix,
        timestamp=event.timestamp,
        message_id=message_id,
        wants_answer=event.priority == "immediate",
        channel_name=event.channel,
    )
