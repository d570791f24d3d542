"""RoomWorld: servers, channels, roles and people at one moment, and our own reckoning of who can read and hear what.

Written from Discord's documentation and from the documented rule alone; nothing of the program is used, so that the
program can be held against it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

VIEW, CONNECT, ADMIN = 1, 2, 4
EVERYONE = "everyone"
OWNER = "owner"

Signature = tuple[object, ...]


@dataclass
class Server:
    name: str
    members: set[str]
    everyone: int = VIEW | CONNECT
    role_rights: dict[str, int] = field(default_factory=dict)
    owner: str | None = None


@dataclass
class Place:
    """`kind`: text, voice, forum_root, forum_post, thread, private_thread, dm, terminal or telegram.

    The last is a group of Telegram, where a bot cannot ask who is in it.
    """

    key: str
    kind: str = "text"
    server: str = ""
    parent: str = ""
    overwrites: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Name of a person, a role, or everyone → what is allowed, what is denied."""
    inside: set[str] = field(default_factory=set)
    """Members of a private thread; whom a direct message is with."""
    is_for_adults: bool = False
    category: str = ""


@dataclass
class Word:
    """One planted word: where and to whom it was said, and under which rules."""

    text: str
    topic: str
    place: str
    readers: frozenset[str]
    signature: Signature
    is_open: bool
    was_hidden: bool = False
    """Its channel has been closed to somebody since."""
    is_withdrawn: bool = False
    message: int = 0
    """Number of the event that said it."""


@dataclass
class RoomWorld:
    people: list[str]
    servers: dict[str, Server]
    places: dict[str, Place]
    roles: dict[str, set[str]]
    minors: set[str] = field(default_factory=set)
    """Who may not open channels for adults; nobody tells a bot."""
    words: list[Word] = field(default_factory=list)

    # Who can read, as Discord documents it

    def rights(self, place: Place, person: str) -> int:
        server = self.servers[place.server]
        if person not in server.members:
            return 0
        may = server.everyone
        for role in self.roles[person]:
            may |= server.role_rights.get(role, 0)
        if person == server.owner or may & ADMIN:
            return VIEW | CONNECT | ADMIN
        allow, deny = place.overwrites.get(EVERYONE, (0, 0))
        may = may & ~deny | allow
        held = [place.overwrites[role] for role in self.roles[person] if role in place.overwrites]
        for _, deny in held:
            may &= ~deny
        for allow, _ in held:
            may |= allow
        allow, deny = place.overwrites.get(person, (0, 0))
        return may & ~deny | allow

    def channel(self, key: str) -> Place:
        """The channel that a thread is in, or the place itself."""
        place = self.places[key]
        return self.places[place.parent] if place.kind in ("thread", "private_thread", "forum_post") else place

    def can_read(self, key: str, person: str, *, asks_age: bool = True) -> bool:
        place, channel = self.places[key], self.channel(key)
        if not place.server:
            return person in place.inside
        needed = VIEW | CONNECT if channel.kind == "voice" else VIEW
        may = self.rights(channel, person)
        if may & needed != needed:
            return False
        if place.kind == "private_thread" and person not in place.inside and not may & ADMIN:
            return False
        return not (asks_age and channel.is_for_adults and person in self.minors)

    def readers(self, key: str, *, asks_age: bool = True) -> frozenset[str]:
        return frozenset(each for each in self.people if self.can_read(key, each, asks_age=asks_age))

    # The documented rule

    def signature(self, key: str) -> Signature:
        """What lets people in; the same while nobody changes it."""
        place, channel = self.places[key], self.channel(key)
        bits = VIEW | CONNECT if channel.kind == "voice" else VIEW
        kept = [(name, a & bits, d & bits) for name, (a, d) in channel.overwrites.items() if (a | d) & bits]
        return (place.kind == "private_thread", channel.is_for_adults, *sorted(kept))

    def is_open(self, key: str) -> bool:
        """Whether everybody who is or comes on the server can read, whatever their roles."""
        place, channel = self.places[key], self.channel(key)
        if not place.server or place.kind == "private_thread" or channel.is_for_adults:
            return False
        needed = VIEW | CONNECT if channel.kind == "voice" else VIEW
        allow, deny = channel.overwrites.get(EVERYONE, (0, 0))
        others = [denied for name, (_, denied) in channel.overwrites.items() if name != EVERYONE]
        base = self.servers[place.server].everyone & ~deny | allow
        return base & needed == needed and not any(denied & needed for denied in others)

    def is_owners(self, key: str) -> bool:
        place = self.places[key]
        return place.kind == "terminal" or (place.kind == "dm" and place.inside == {OWNER})

    def is_direct(self, key: str) -> bool:
        return self.places[key].kind == "dm"

    def may_hear(self, person: str, word: Word) -> bool:
        """Whether *person* was told it, or by the rule may be: let in as people were then, or on its open server."""
        if person in word.readers:
            return True
        server = self.places[word.place].server
        if word.is_open and not word.was_hidden and server:
            return person in self.servers[server].members
        return self.signature(word.place) == word.signature and self.can_read(word.place, person)

    def may_tell(self, word: Word, key: str) -> bool:
        """Whether nobody who can read *key* now would hear *word* against the rule."""
        if self.is_owners(key):
            return self.is_owners(word.place) or not self.is_direct(word.place)
        if "telegram" in (self.places[key].kind, self.places[word.place].kind):
            return word.place == key
        if self.is_owners(word.place) or self.is_direct(word.place):
            return word.place == key
        return all(self.may_hear(person, word) for person in self.readers(key))

    def must_tell(self, word: Word, key: str) -> bool:
        """Whether *word* is to be found when somebody asks for it in *key*: where that follows from the rule alone."""
        if word.is_withdrawn or not self.may_tell(word, key):
            return False
        if self.is_owners(key) or self.is_direct(word.place) or self.is_owners(word.place):
            return True
        if self.places[key].kind == "telegram":
            return True
        if word.was_hidden:
            return False
        said, here = self.places[word.place], self.places[key]
        if word.is_open:
            is_near = not here.server or here.server == said.server
            return is_near and self.readers(key) <= self.servers[said.server].members
        is_same = self.signature(word.place) == word.signature
        if not is_same or key == word.place:
            return is_same
        if said.kind == "private_thread" or self.channel(word.place).is_for_adults:
            return False
        is_near = not here.server or here.server == said.server
        return is_near and self.readers(key, asks_age=False) <= self.readers(word.place)

    def is_searched_from(self, key: str) -> bool:
        """Whether memory is searched for what is asked in *key*: in a voice channel there is no time for that."""
        return self.channel(key).kind != "voice"

    # Changes

    def note_changes(self) -> None:
        """After a change: a channel that was closed takes its old words along."""
        for word in self.words:
            if word.is_open and not word.was_hidden and self.places[word.place].server and not self.is_open(word.place):
                word.was_hidden, word.signature = True, self.signature(word.place)

    def of_server(self, name: str, kinds: Iterable[str]) -> list[str]:
        wanted = set(kinds)
        return [key for key, place in self.places.items() if place.server == name and place.kind in wanted]
