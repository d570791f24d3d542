"""TwitchPlace: a channel's chat. Everybody reads it, so what is not the familiar speaking goes to the owner.

The chat moves fast: an answer that others have spoken before is shown as the reply to its message.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from familiar_connect.api import (
    InboundMessage,
    ListedUser,
    Place,
    PlaceFeatures,
    PlatformHost,
    ReadBy,
    ReplyTarget,
    Scene,
)
from familiar_connect.extensions.twitch.small_tools import cut_line, fold_case, in_one_line

MESSAGE_LIMIT = 500
EVENT_ID = "event:"
"""Ids of ours that begin so are no messages of the chat: nobody can reply to one."""
WRITING_NOTE = (
    "This is the public chat of a live stream on Twitch. Many people write at once and lines are gone within "
    "moments, so {char} answers in one or two short lines of plain text: no Markdown, no lists, no narration. "
    "Lines that begin with [Twitch] are no chat: they tell what has happened on the stream."
)
_MENTION = re.compile(r"@\{([^{}\n]{1,100})\}")


Recent = Callable[[int], Awaitable[Sequence[InboundMessage]]]
"""The newest messages of the chat, oldest first."""


class SendLine(Protocol):
    """Writes one line into the chat; the id of the message."""

    async def __call__(self, line: str, *, parent_id: str | None) -> str: ...


class TwitchMarks:
    """Mentions as Twitch has them: `@{Ada}` becomes `@Ada`, and anybody who is not here is named without a ping."""

    def __init__(self, users: Sequence[ListedUser]) -> None:
        self._names = {fold_case(alias) for each in users if each.mentionable for alias in each.aliases}

    def encode(self, text: str) -> str:
        return _MENTION.sub(self._mention, text)

    def decode(self, text: str) -> str:
        return text

    def mention(self, user_id: str) -> str:
        return ""  # Twitch pings by name, and a number tells none

    def _mention(self, found: re.Match[str]) -> str:
        name = found[1].strip()
        return f"@{name}" if fold_case(name) in self._names else name


class TwitchPlace(Place):
    """Lines go out as Twitch shows them: in one line, at most 500 characters."""

    features = PlaceFeatures(limit=MESSAGE_LIMIT, posts_answers=True, keeps_owed=True, tells_asker=True)

    def __init__(
        self,
        channel: str,
        *,
        say: SendLine,
        tell: Callable[[str], None],
        recent: Recent,
    ) -> None:
        self._channel = channel
        self._say = say
        self._tell = tell
        self._recent = recent
        self._newest_id: str | None = None

    def note_message(self, message_id: str | None) -> None:
        """Somebody else's line is the newest of the chat now."""
        self._newest_id = message_id

    def text_marks(self, users: Sequence[ListedUser]) -> TwitchMarks:
        return TwitchMarks(users)

    async def send(self, text: str) -> None:
        await self.post_answer(text)

    async def post_answer(self, text: str, *, target: ReplyTarget | None = None) -> str | None:
        line = in_one_line(text)
        return await self._say(line, parent_id=self._parent_id(target)) if line else None

    def _parent_id(self, target: ReplyTarget | None) -> str | None:
        """The message to reply to, where readers could not tell what is answered."""
        if target is None or target.message_id.startswith(EVENT_ID):
            return None
        is_late = self._newest_id not in (None, target.newest_id)
        return target.message_id if target.is_aimed or is_late else None

    async def notice(self, text: str) -> None:
        self._tell(text)

    async def tell_asker(self, asked: InboundMessage, text: str) -> None:
        """One line in the chat, to whoever said *asked*."""
        is_line = asked.message_id is not None and not asked.message_id.startswith(EVENT_ID)
        words = text.removeprefix(f"{asked.author.label}, ")
        line = in_one_line(f"@{asked.author.label} {words}" if is_line else text)
        await self._say(cut_line(line, MESSAGE_LIMIT), parent_id=asked.message_id if is_line else None)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._recent(limit)

    async def scene(self) -> Scene:
        return PlatformHost.scene(self._channel, read_by=ReadBy.everyone, writing_note=WRITING_NOTE)


def rehearsal_chat(channel: str, post: Callable[[str], Awaitable[None]]) -> TwitchPlace:
    """A chat whose lines go to *post* and in which nobody has spoken."""

    async def say(line: str, *, parent_id: str | None) -> str:
        await post(line)
        return ""

    async def recent(limit: int) -> Sequence[InboundMessage]:
        return ()

    return TwitchPlace(channel, say=say, tell=lambda sentence: None, recent=recent)
