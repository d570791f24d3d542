"""Twitch's chat messages and events as messages that were heard."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from familiar_connect.api import Author, ReferencedMessage
from familiar_connect.extensions.twitch.event_types import NOBODY_NAMED, PLATFORM, Notification, TwitchEvent
from familiar_connect.extensions.twitch.small_tools import in_one_line
from familiar_connect.extensions.twitch.watcher import viewer_of

ANONYMOUS = Author(platform=PLATFORM, user_id=PLATFORM, username=PLATFORM, display_name=NOBODY_NAMED)
"""Who tells of what nobody did by name."""
MAX_SENT_LINES = 100
MODERATOR_BADGES = frozenset({"broadcaster", "moderator", "lead_moderator"})


@dataclass(frozen=True, kw_only=True)
class HeardLine:
    """Something said in the chat, or told of it."""

    author: Author
    text: str
    said_at: datetime
    message_id: str
    is_mention: bool = False
    is_reply_to_us: bool = False
    is_self: bool = False
    reply_to: ReferencedMessage | None = None
    wants_answer: bool = False


class SentLines:
    """What we said lately, to know it when the chat shows it to us.

    An account that is the streamer's own is also typed with by the streamer: only our words are ours then.
    """

    def __init__(self) -> None:
        self._words: deque[str] = deque(maxlen=MAX_SENT_LINES)

    def add(self, text: str) -> None:
        self._words.append(in_one_line(text))

    def contains(self, text: str) -> bool:
        return in_one_line(text) in self._words


def chat_message(notification: Notification, *, us: str, shared: bool, own: SentLines) -> HeardLine | None:
    """A line of chat; None where nobody can be named. *us*: our user id; *shared*: it is the streamer's too."""
    facts = notification.event
    author = viewer_of(facts, "chatter_user")
    if author is None:
        return None
    message: Mapping[str, Any] = facts["message"]
    text = _without_disguise(str(message["text"]))
    mentions = [part["mention"] for part in message.get("fragments") or () if part.get("mention")]
    ours = author.user_id == us and (not shared or own.contains(text))
    reply = facts.get("reply") or {}
    return HeardLine(
        author=author,
        text=text,
        said_at=notification.timestamp,
        message_id=str(facts.get("message_id") or notification.message_id),
        is_mention=any(str(mention.get("user_id")) == us for mention in mentions),
        is_reply_to_us=str(reply.get("parent_user_id")) == us,
        is_self=ours,
        reply_to=_reply_to(reply, us=us, shared=shared, own=own),
    )


def _without_disguise(text: str) -> str:
    """What somebody wrote, so that it cannot pass for an event of the stream."""
    return f'"{text}"' if text.lstrip().casefold().startswith(f"[{NOBODY_NAMED.casefold()}]") else text


def _reply_to(reply: Mapping[str, Any], *, us: str, shared: bool, own: SentLines) -> ReferencedMessage | None:
    """The message that a line answers, as Twitch quotes it."""
    if not reply.get("parent_message_id"):
        return None
    author = viewer_of(reply, "parent_user")
    text = str(reply.get("parent_message_body") or "")
    ours = author is not None and author.user_id == us and (not shared or own.contains(text))
    return ReferencedMessage(message_id=str(reply["parent_message_id"]), author=author, text=text, is_self=ours)


def is_moderator(notification: Notification) -> bool:
    """Whether a line of chat was written by the streamer or by one of their moderators."""
    badges = notification.event.get("badges") or ()
    is_streamer = notification.event.get("chatter_user_id") == notification.event.get("broadcaster_user_id")
    return is_streamer or any(badge.get("set_id") in MODERATOR_BADGES for badge in badges)


def event_message(event: TwitchEvent, message_id: str) -> HeardLine:
    """An event as something said in the chat; an immediate one wants its answer whoever else is talking."""
    return HeardLine(
        author=event.viewer or ANONYMOUS,
        text=event.text_with_prefix,
        said_at=event.timestamp,
        message_id=message_id,
        wants_answer=event.priority == "immediate",
    )
