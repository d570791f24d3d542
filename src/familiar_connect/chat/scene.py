"""Scene: server, channel and people at this moment.

Roster: who is meant by a name, among the people somebody knows of.

Names collide, so a name is never guessed at: where several people go by it all of them come back, unless it is what
just one of them is shown as. Each room makes a roster of the people it may speak of; how names are compared, and what
counts as ambiguous, is decided here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Generic, Literal, Protocol, TypeVar

from familiar_connect.audience import RuledChannel
from familiar_connect.chat.message_parts import Emoji, ReferencedMessage, Sticker
from familiar_connect.identity import Author
from familiar_connect.support.system_notes import speaker_name
from familiar_connect.support.text import fold_name


class ChannelKind(Enum):
    """What sort of channel people talk in."""

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
class ServerEvent:
    """Something that people of a server plan to do together."""

    name: str
    begins_at: datetime
    where: str = ""
    description: str = ""
    state: Literal["planned", "active", "ended", "canceled"] = "planned"


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
    program_note: str | None = None
    """What the program through which people write here tells a model: shown as material, and no rule of ours."""
    thread_starter: ReferencedMessage | None = None
    """The message that this thread began with, where all who read here can read it."""
    events: tuple[ServerEvent, ...] = ()
    """What is planned on the server, going on or just over, as far as all who read here can know."""
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


P = TypeVar("P")

NO_USERNAME = "a user"
"""Stands behind a shared name where no user name can."""


def distinct_label(name: str, username: str | None) -> str:
    """*name*, which somebody else has too, with the user name behind it that nobody shares."""
    own = speaker_name(username, "") if username else ""
    return f"{name} ({own if own and own != name else NO_USERNAME})"


@dataclass(frozen=True)
class RosterEntry(Generic[P]):
    """Somebody, what they are shown as, and everything else they go by."""

    person: P
    label: str
    names: tuple[str, ...] = ()


class Roster(Generic[P]):
    """People by name. *own_names* are the familiar's, whom no entry stands for."""

    def __init__(self, entries: Iterable[RosterEntry[P]], *, own_names: Iterable[str] = ()) -> None:
        self._entries = tuple(entries)
        self._own = frozenset(folded for name in own_names if (folded := fold_name(name)))
        self._by_name: dict[str, list[RosterEntry[P]]] = {}
        for entry in self._entries:
            for folded in dict.fromkeys(map(fold_name, (entry.label, *entry.names))):
                if folded:
                    self._by_name.setdefault(folded, []).append(entry)

    def __iter__(self) -> Iterator[RosterEntry[P]]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def resolve(self, name: str) -> tuple[RosterEntry[P], ...]:
        """Whoever *name* may mean: nobody, one person, or several where it is ambiguous."""
        wanted = fold_name(name.strip().removeprefix("@"))
        found = self._by_name.get(wanted, [])
        shown_so = [entry for entry in found if fold_name(entry.label) == wanted]
        return tuple(shown_so if len(shown_so) == 1 else found)

    def owners(self, name: str) -> tuple[P, ...]:
        """Everyone who goes by *name*, under whatever name they are shown."""
        return tuple(entry.person for entry in self._by_name.get(fold_name(name), ()))

    def is_own_name(self, name: str) -> bool:
        """Whether the familiar itself is called *name*."""
        return fold_name(name.strip().removeprefix("@")) in self._own

    def is_shared(self, name: str) -> bool:
        """Whether *name* does not tell one person from every other, the familiar included."""
        return len(self.owners(name)) > 1 or fold_name(name) in self._own
