"""Parts of a platform's message besides its text: reply, forwards, attachments, embeds, reactions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from familiar_connect.identity import Author

NoticeKind = Literal[
    "memory_learned",
    "memory_updated",
    "memory_deleted",
    "reset",
    "reminder_set",
    "system_prompt",
    "compact_summary",
    "compact_refresh",
    "reward",
    "punish",
    "scene",
    "error",
]
"""Kinds of notices the familiar itself posts."""


@dataclass(frozen=True, kw_only=True)
class FileText:
    """What a text file says, as far as it was read."""

    text: str = ""
    lines: int = 0
    of_lines: int | None = None
    """How many lines it has; None: nobody read to its end."""
    is_cut: bool = False
    refused: str = ""
    """Why nothing of it was read, in a few words."""


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """A file that was sent along."""

    url: str
    filename: str | None = None
    mime: str | None = None
    proxy_url: str | None = None
    attachment_id: str | None = None
    size_bytes: int | None = None
    is_voice: bool = False
    duration_s: float | None = None
    """How long it takes to listen to it, where the platform says."""
    transcript: str | None = None
    """What is said in it, once somebody has listened."""
    text: FileText | None = None
    """What it says, where it is a text file that somebody has read."""


@dataclass(frozen=True, kw_only=True)
class MessagePiece:
    """One of several messages that the familiar's own words stand in."""

    message_id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Sticker:
    """A sticker of a server, or one that was sent."""

    name: str
    sticker_id: str | None = None
    url: str | None = None
    description: str | None = None
    note: str | None = None
    """When to use it, in the owner's words."""


@dataclass(frozen=True, kw_only=True)
class Emoji:
    """A custom emoji of a server."""

    name: str
    emoji_id: str | None = None
    url: str | None = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class Reaction:
    """One kind of reaction a message got."""

    label: str
    """The character itself, or the name of a custom emoji without colons."""
    count: int
    emoji_id: str | None = None
    is_custom: bool = False
    users: tuple[Author, ...] | None = ()
    """Who reacted, as far as known. None: nobody has looked yet."""
    by_us: bool = False


@dataclass(frozen=True, kw_only=True)
class EmbedField:
    """One row of a preview: a title and what stands under it."""

    name: str
    value: str


@dataclass(frozen=True, kw_only=True)
class Embed:
    """A framed text: a link preview, or a notice of our own."""

    notice: NoticeKind | None = None
    """Set by the platform on notices we posted; None: somebody else's embed."""
    site: str | None = None
    """What the site of a link calls itself."""
    author: str | None = None
    title: str | None = None
    description: str | None = None
    fields: tuple[EmbedField, ...] = ()
    url: str | None = None
    image_url: str | None = None
    thumbnail_url: str | None = None


@dataclass(frozen=True, kw_only=True)
class PollAnswer:
    """One answer that a poll offers."""

    answer_id: int
    text: str
    votes: int = 0
    voters: tuple[Author, ...] = ()
    """Who voted for it, as far as known."""


@dataclass(frozen=True, kw_only=True)
class Poll:
    """A question with answers to choose from, as it stands."""

    question: str
    answers: tuple[PollAnswer, ...] = ()
    allows_several: bool = False
    is_counted: bool = False
    """The platform says how many votes there are; else those that were seen are counted."""
    is_over: bool = False


@dataclass(frozen=True, kw_only=True)
class WebhookIdentity:
    """Under which name a webhook spoke, and for whom."""

    webhook_id: str
    name: str
    bridge_user: Author | None = None
    """Someone on another platform, relayed here."""
    imitates: Author | None = None
    """A member here whom the familiar spoke for."""


@dataclass(frozen=True, kw_only=True)
class ReferencedMessage:
    """The message that another one answers. Without an author only its id is known."""

    message_id: str
    author: Author | None = None
    text: str = ""
    is_self: bool = False
    webhook: WebhookIdentity | None = None
    attachments: tuple[Attachment, ...] = ()
    embeds: tuple[Embed, ...] = ()
    stickers: tuple[Sticker, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ForwardedMessage:
    """A snapshot of a message that was passed on."""

    author: Author | None = None
    text: str = ""
    channel_name: str | None = None
    timestamp: datetime | None = None
    attachments: tuple[Attachment, ...] = ()
    embeds: tuple[Embed, ...] = ()
    stickers: tuple[Sticker, ...] = ()
    forwards: tuple[ForwardedMessage, ...] = ()
    """What it passed on in turn, when it was itself a forward."""
    is_reachable: bool = True
    """False: the platform does not say what the original was."""
    is_self: bool = False


MediaOrigin = Literal["own", "reply", "forwarded"]


@dataclass(frozen=True, kw_only=True)
class ImageAttachment:
    """A picture of an entry, wherever it came from."""

    url: str
    proxy_url: str | None = None
    mime: str | None = None
    filename: str | None = None
    is_emoji: bool = False
    is_sticker: bool = False
    source_message_id: str | None = None
    origin: MediaOrigin = "own"
    media_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class VideoAttachment:
    """A film of an entry, wherever it came from."""

    url: str
    proxy_url: str | None = None
    mime: str | None = None
    filename: str | None = None
    is_youtube: bool = False
    source_message_id: str | None = None
    origin: MediaOrigin = "own"
    media_id: str | None = None
