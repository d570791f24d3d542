"""Rooms and people as the server tells of them: who is in a room, who may manage it, who can read it, who is who.

**Who somebody is.** A nick is no proof: whoever takes it next is called by it. So a person is known by nick and host
(`known_by = "address"`): somebody with the same nick from elsewhere is another person, and is told nothing of what the
first one said in private. With `known_by = "nick"` the nick alone counts, which is right only where the network keeps
nicks for their owners. Somebody who changes their nick while we see it stays who they were until they leave; when they
come back under the new nick they are new, for IRC does not tell. Two people behind one host who take the same nick one
after the other are one person to us. The owner is known by the whole nick!user@host of the very line that is heard.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from familiar_irc.lines import fold_nick

MAX_MEMBERS = 5_000
"""People of one room that are known; those beyond are nobody who may manage it."""
MAX_PEOPLE = 5_000
"""People whose host is known; the one heard of longest ago is forgotten first."""
CLOSING_MODES = frozenset("ikspO")
"""By invitation, with a key, secret, private, for the network's own people: not everybody can come in and read."""


@dataclass
class ServerFacts:
    """What a server says of itself; until it does, what the oldest standard has."""

    casemapping: str = "rfc1459"
    prefixes: dict[str, str] = field(default_factory=lambda: {"@": "o", "+": "v"})
    """Marks before a nick in a list of names, and the modes they stand for, the mightiest first."""
    list_modes: str = "beI"
    always_with_word: str = "k"
    set_with_word: str = "l"

    def learn(self, words: Iterable[str]) -> None:
        """Read what `005` tells; what cannot be read leaves things as they were."""
        for word in words:
            name, _, value = word.partition("=")
            if name == "CASEMAPPING" and value:
                self.casemapping = value.lower()
            elif name == "PREFIX" and value.startswith("(") and ")" in value:
                modes, _, marks = value[1:].partition(")")
                if modes and len(modes) == len(marks):
                    self.prefixes = dict(zip(marks, modes, strict=True))
            elif name == "CHANMODES" and value.count(",") >= 3:
                self.list_modes, self.always_with_word, self.set_with_word = value.split(",")[:3]

    def fold(self, name: str) -> str:
        return fold_nick(name, self.casemapping)

    @property
    def operator_modes(self) -> frozenset[str]:
        """The mode of operators, and those mightier; where there is none, nobody manages a room."""
        modes = list(self.prefixes.values())
        return frozenset(modes[: modes.index("o") + 1]) if "o" in modes else frozenset()

    def takes_word(self, mode: str, *, is_set: bool) -> bool:
        always = mode in self.list_modes or mode in self.always_with_word or mode in self.prefixes.values()
        return always or (is_set and mode in self.set_with_word)


class Room:
    """One room."""

    def __init__(self, name: str, facts: ServerFacts) -> None:
        self.name = name
        self.topic: str | None = None
        self.is_joined = False
        self._facts = facts
        self._modes: set[str] | None = None
        self._members: dict[str, set[str]] = {}

    def enter(self) -> None:
        """We came in: what was known before counts no more."""
        self.is_joined, self._modes, self._members, self.topic = True, None, {}, None

    def leave(self) -> None:
        self.is_joined, self._modes, self._members = False, None, {}

    @property
    def is_public(self) -> bool:
        """Whether everybody may come in and read; while the server has not said, they may not."""
        return self.is_joined and self._modes is not None and self._modes.isdisjoint(CLOSING_MODES)

    @property
    def members(self) -> Iterable[str]:
        """Folded nicks of those who are here."""
        return self._members

    def learn_modes(self, letters: str) -> None:
        """All modes of the room, as `324` tells them."""
        self._modes = set(letters.lstrip("+"))

    def add_names(self, names: Iterable[str]) -> None:
        """People who are here, each with the marks of what they are."""
        for name in names:
            nick = name.lstrip("".join(self._facts.prefixes))
            self.add(nick)
            marks = name[: len(name) - len(nick)]
            if (statuses := self._members.get(self._facts.fold(nick))) is not None:
                statuses.update(self._facts.prefixes[mark] for mark in marks)

    def add(self, nick: str) -> None:
        """Somebody came in; they are nothing special until the server says so."""
        if nick and len(self._members) < MAX_MEMBERS:
            self._members[self._facts.fold(nick)] = set()

    def remove(self, nick: str) -> None:
        self._members.pop(self._facts.fold(nick), None)

    def rename(self, old: str, new: str) -> None:
        statuses = self._members.pop(self._facts.fold(old), None)
        if statuses is not None:
            self._members[self._facts.fold(new)] = statuses

    def change_modes(self, letters: str, words: Iterable[str]) -> None:
        """Follow a change, such as `+ok-i ada key`."""
        left, is_set = iter(words), True
        for mode in letters:
            if mode in "+-":
                is_set = mode == "+"
                continue
            word = next(left, "") if self._facts.takes_word(mode, is_set=is_set) else ""
            if mode in self._facts.prefixes.values():
                self._change_status(word, mode, is_set=is_set)
            elif self._modes is not None and mode not in self._facts.list_modes:
                (self._modes.add if is_set else self._modes.discard)(mode)

    def _change_status(self, nick: str, mode: str, *, is_set: bool) -> None:
        statuses = self._members.get(self._facts.fold(nick))
        if statuses is not None:
            (statuses.add if is_set else statuses.discard)(mode)

    def is_operator(self, nick: str) -> bool:
        return not self._facts.operator_modes.isdisjoint(self._members.get(self._facts.fold(nick), ()))


@dataclass
class Person:
    """Somebody who is there now."""

    user_id: str
    nick: str
    prefix: str
    is_answered: bool = False
    """Whether what an earlier run owed them has been looked after."""


class People:
    """Who is there now, as far as we saw them write or come in."""

    def __init__(self, facts: ServerFacts, *, by_nick_alone: bool) -> None:
        self._facts = facts
        self._by_nick_alone = by_nick_alone
        self._known: OrderedDict[str, Person] = OrderedDict()

    def meet(self, nick: str, prefix: str) -> Person:
        """Whoever wrote or came in with *prefix*; the same nick from another host is somebody else."""
        folded, host = self._facts.fold(nick), prefix.rpartition("@")[2].lower()
        person = self._known.get(folded)
        if person is None or person.prefix.rpartition("@")[2].lower() != host:
            person = Person(folded if self._by_nick_alone else f"{folded}@{host}", nick, prefix)
        person.nick, person.prefix = nick, prefix
        self._known[folded] = person
        self._known.move_to_end(folded)
        if len(self._known) > MAX_PEOPLE:
            self._known.popitem(last=False)
        return person

    def rename(self, old: str, new: str, prefix: str) -> None:
        """They stay who they are."""
        person = self._known.pop(self._facts.fold(old), None)
        if person is not None:
            person.nick, person.prefix = new, f"{new}!{prefix.partition('!')[2]}"
            self._known[self._facts.fold(new)] = person

    def forget(self, nick: str) -> None:
        self._known.pop(self._facts.fold(nick), None)

    def clear(self) -> None:
        """Whoever was there may be gone: each is met again."""
        self._known.clear()

    def under_nick(self, nick: str) -> Person | None:
        return self._known.get(self._facts.fold(nick))

    def with_id(self, user_id: str) -> Person | None:
        """The person with that id, where they are there under whatever nick."""
        return next((each for each in reversed(self._known.values()) if each.user_id == user_id), None)
