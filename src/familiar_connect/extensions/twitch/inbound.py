"""Twitch's chat messages and events as messages that were heard."""

from __future__ import annotations

import asyncio
import re
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
UNSEEN = "\U000e0000\u034f \t"
"""What chat programs put behind a line so that Twitch does not take it for the same line again."""
_ACTION = re.compile(r"\x01ACTION (.*)\x01", re.DOTALL)
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
    roles: tuple[str, ...] | None = None
    """The badges of the author, by Twitch's own names; None: nobody in particular spoke."""


class SentLines:
    """What we said lately, to know it when the chat shows it to us.

    An account that is the streamer's own is also typed with by the streamer: only our words are ours then. The chat
    may show a line before we are told that it was sent, and shows a reply with the name of whom it answers before it.
    """

    def __init__(self) -> None:
        self._words: deque[str] = deque(maxlen=MAX_SENT_LINES)
        self._shown: dict[str, asyncio.Future[str]] = {}
        """Lines under way, each with the id under which the chat will have shown it."""

    def add(self, text: str) -> None:
        line = in_one_line(text)
        self._words.append(line)
        self._shown[line] = asyncio.get_running_loop().create_future()

    def contains(self, text: str) -> bool:
        return in_one_line(text) in self._words or in_one_line(without_mention(text)) in self._words

    def note_shown(self, text: str, message_id: str) -> None:
        """The chat shows a line of ours."""
        for line in (in_one_line(text), in_one_line(without_mention(text))):
            shown = self._shown.get(line)
            if shown is not None and not shown.done():
                shown.set_result(message_id)

    async def wait_until_shown(self, text: str, within_s: float) -> str | None:
        """The id of a line that nobody said was sent; None: the chat does not show it."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._shown[in_one_line(text)]), within_s)
        except (KeyError, TimeoutError):
            return None

    def forget_pending(self, text: str) -> None:
        """Nothing more is to be learnt of a line."""
        self._shown.pop(in_one_line(text), None)


def chat_message(notification: Notification, *, us: str, shared: bool, own: SentLines) -> HeardLine | None:
    """A line of chat; None where nobody can be named. *us*: our user id; *shared*: it is the streamer's too."""
    facts = notification.event
    author = viewer_of(facts, "chatter_user")
    if author is None:
        return None
    message: Mapping[str, Any] = facts["message"]
    text = hear_text(str(message["text"]))
    fragments = message.get("fragments") or ()
    own_words = fragments[1:] if facts.get("reply") else fragments  # the name before a reply was not typed
    mentions = [part["mention"] for part in own_words if part.get("mention")]
    ours = author.user_id == us and (not shared or own.contains(text))
    reply_to = _reply_to(facts.get("reply") or {}, us=us, shared=shared, own=own)
    return HeardLine(
        author=author,
        text=text,
        said_at=notification.timestamp,
        message_id=str(facts.get("message_id") or notification.message_id),
        is_mention=any(str(mention.get("user_id")) == us for mention in mentions),
        is_reply_to_us=reply_to is not None and reply_to.is_self,
        is_self=ours,
        reply_to=reply_to,
        roles=tuple(str(badge.get("set_id")) for badge in facts.get("badges") or ()),
    )


def without_mention(text: str) -> str:
    """*text* without the name that Twitch puts before a reply."""
    return text.partition(" ")[2] if text.startswith("@") else text


def hear_text(text: str) -> str:
    """What the familiar hears of a line."""
    return _without_disguise(_as_written(text))


def _as_written(text: str) -> str:
    """What somebody wrote, without what their program put around it: the mark of `/me`, and signs nobody sees."""
    found = _ACTION.fullmatch(text)
    return (found[1] if found is not None else text).rstrip(UNSEEN)


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


def event_message(event: TwitchEvent, message_id: str, *, us: str) -> HeardLine:
    """An event as something said in the chat; an immediate one wants its answer whoever else is talking.

    *us* is our login: in the words of an event Twitch does not say who is mentioned.
    """
    words = {word.rstrip(",.!?:;").casefold() for word in event.text_with_prefix.split()}
    return HeardLine(
        author=event.viewer or ANONYMOUS,
        text=event.text_with_prefix,
        said_at=event.timestamp,
        message_id=message_id,
        is_mention=f"@{us}".casefold() in words,
        wants_answer=event.priority == "immediate",
    )
