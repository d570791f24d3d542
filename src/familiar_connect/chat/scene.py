"""Scene: server, channel and people at this moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Literal, Protocol

from familiar_connect.audience import RuledChannel
from familiar_connect.chat.message_parts import Emoji, Sticker
from familiar_connect.identity import Author


class ChannelKind(Enum):
    text = "text"
    thread = "thread"
    forum_post = "forum_post"
    dm = "dm"
    group_dm = "group_dm"
    voice = "voice"
    stage = "stage"
    forum_root = "forum_root"
    category = "category"


@dataclass(frozen=True)
class ChannelContext:
    """What a channel is called, for people and for the memory writer."""

    name: str
    kind: ChannelKind
    parent_name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Role:
    """A role of a server; the highest position counts most."""

    role_id: str
    name: str
    position: int = 0


@dataclass(frozen=True, kw_only=True)
class ChannelRef:
    """Another channel of the server."""

    channel_id: int
    name: str
    parent_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class Member:
    """Someone here, with what may be said of them."""

    author: Author
    """Under their display name on this server."""
    saved_nickname: str | None = None
    """What they asked the familiar to call them."""
    server_nickname: str | None = None
    global_name: str | None = None
    presence: str | None = None
    activity: str | None = None
    roles: tuple[Role, ...] = ()
    appearance: str | None = None
    is_bot: bool = False
    is_bridge_user: bool = False
    is_blacklisted: bool = False
    """Kept from being personalised on this server."""
    is_personalised: bool = True
    avatar_url: str | None = None


@dataclass(frozen=True, kw_only=True)
class Block:
    """Someone the persona does not want to hear for a while; a mute hides nothing."""

    author: Author
    kind: Literal["block", "mute"] = "block"
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Where we are and who is here. A platform fills what it knows."""

    server_name: str | None = None
    server_description: str | None = None
    channel: ChannelContext | None = None
    participants: tuple[Author, ...] = ()
    server_id: int | None = None
    channel_topic: str | None = None
    is_dm: bool = False
    members: tuple[Member, ...] = ()
    roles: tuple[Role, ...] = ()
    channels: tuple[ChannelRef, ...] = ()
    emojis: tuple[Emoji, ...] = ()
    stickers: tuple[Sticker, ...] = ()
    private_channel_ids: frozenset[int] = frozenset()
    me: Author | None = None
    """Our own account."""
    own_name: str | None = None
    """What we are called on this server."""
    blocks: tuple[Block, ...] = ()
    is_public: bool = False
    """Everybody on the platform can read this channel."""
    is_hidden: bool = False
    """The rules of this channel, or of the channel that its thread is in, let not everybody on the server read it."""
    rules: str = ""
    """A fingerprint of those rules; empty where the platform shows none."""
    private_channel_rules: tuple[tuple[int, str], ...] = ()
    """The fingerprints of other hidden channels, by channel."""
    reader_keys: frozenset[str] = frozenset()
    """In a direct or group message: canonical keys of the people who can read it, besides us."""
    reader_channel_ids: frozenset[int] = frozenset()
    """In a direct message: hidden channels that all of its people can read now."""
    reader_channels: frozenset[RuledChannel] = frozenset()
    """Hidden channels under the rules of some time, which let in everybody who can read here now."""
    reader_server_ids: frozenset[int] = frozenset()
    """In a direct message: servers that all of its people are on now."""
    writing_note: str | None = None
    """How people write here, where that is not as elsewhere and the familiar is told so; {char} is the familiar."""
    listeners: tuple[Author, ...] = ()
    """In a voice channel: who is in it now, whether they speak or not."""

    @property
    def is_room(self) -> bool:
        """Whether this is a channel that people come into, and not a conversation between some of them."""
        kind = self.channel.kind if self.channel is not None else ChannelKind.dm
        return self.is_public or (not self.is_dm and kind not in (ChannelKind.dm, ChannelKind.group_dm))


@dataclass(frozen=True, kw_only=True)
class WindowStart:
    """The first turn shown, as the store knows it."""

    stored: int
    """Turns of the channel before the exchange."""
    history_id: int | None = None
    message_id: str | None = None


class StoredTurns(Protocol):
    """The store's count of a channel, which the start of what is shown rests on."""

    async def window(
        self,
        *,
        familiar_id: str,
        channel_id: int,
        before_id: int | None,
        mode: str | None,
        first: Callable[[int], int],
    ) -> WindowStart:
        """The turn at the ordinal that *first* gives for the number of turns before *before_id*."""
