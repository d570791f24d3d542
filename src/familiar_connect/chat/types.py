"""What was said, as values: from a platform's message to a turn ready to be answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from familiar_connect.chat.message_ids import MessageIdMap
from familiar_connect.identity import Author


@dataclass(frozen=True, kw_only=True)
class InboundMessage:
    """Someone said this, here, now."""

    platform: str
    channel_id: int
    author: Author
    text: str
    timestamp: datetime
    message_id: str | None = None
    """The platform's own id; the same message delivered twice is stored once."""
    guild_id: int | None = None
    is_mention: bool = False
    is_bot: bool = False
    is_voice: bool = False
    is_dm: bool = False
    channel_name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Directives:
    """The last words of a prompt, by kind; `place_tail` alone decides where each stands."""

    lower: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    queued_reply: str | None = None
    uncensor: str | None = None
    prefill: str | None = None

    def __add__(self, other: Directives) -> Directives:
        return Directives(
            lower=self.lower + other.lower,
            tail=self.tail + other.tail,
            queued_reply=other.queued_reply or self.queued_reply,
            uncensor=other.uncensor or self.uncensor,
            prefill=other.prefill or self.prefill,
        )


@dataclass(frozen=True, kw_only=True)
class MediaDescriptor:
    """A picture or film that was sent, whatever the answering model can see."""

    kind: Literal["image", "video"]
    uri: str
    mime: str | None = None
    fallback_uri: str | None = None
    media_id: str | None = None
    within_window: bool = True
    filename: str | None = None
    is_youtube: bool = False


@dataclass(frozen=True, kw_only=True)
class Sender:
    name: str
    kind: Literal["user", "persona"] = "user"


@dataclass(frozen=True, kw_only=True)
class ListedUser:
    target_id: str
    display_label: str
    aliases: tuple[str, ...] = ()
    mentionable: bool = True


@dataclass(frozen=True, kw_only=True)
class SimplifiedMessage:
    """One entry of the dialogue as it will be shown."""

    id: str
    author_id: str
    author_name: str
    author_type: Literal["user", "persona"]
    content: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class TurnFlags:
    """What this turn is."""

    impersonation: bool = False
    from_queue: bool = False
    stop: bool = False


@dataclass(frozen=True, kw_only=True)
class SaidMessage:
    """One message of the exchange as it was heard, with its row in the history."""

    author: Author
    text: str
    timestamp: datetime
    history_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One exchange made ready to be answered."""

    familiar_id: str
    channel_id: int
    guild_id: int | None = None
    is_voice: bool = False
    said: tuple[SaidMessage, ...]
    """The originals, newest last."""
    messages: tuple[SimplifiedMessage, ...] = ()
    """Simplified and merged, for showing. Empty: the stored turns before the exchange are shown as they are."""
    flags: TurnFlags = TurnFlags()
    directives: Directives = Directives()
    message_ids: MessageIdMap = field(default_factory=MessageIdMap, compare=False)


EMPTY_MENTIONS: Mapping[str, str] = {}
