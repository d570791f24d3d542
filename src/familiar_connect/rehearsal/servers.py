"""RehearsalServers: who is on each server of a rehearsal, with which roles, and which of its places they can read.

The rules are written as Discord has them and worked out by the same functions as on Discord.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from familiar_connect.chat.scene import ChannelKind
from familiar_connect.extensions.discord.permissions import (
    CONNECT,
    VIEW_CHANNEL,
    ChannelOverwrite,
    MemberIndex,
    ReadRules,
    ServerMember,
    members_in,
    read_rules,
)
from familiar_connect.rehearsal.types import EVERYBODY, PlaceSetup, Rehearsal

FIRST_ROLE, FIRST_UNNUMBERED = 10**18 + 1, 2 * 10**18
"""Where the ids of roles, and of people whose own is no number, begin."""
SPOKEN = (ChannelKind.voice, ChannelKind.stage)


@dataclass
class PlaceRules:
    """Who may read one place: what is allowed and denied there."""

    is_hidden: bool = False
    """Not for everybody: only who is allowed."""
    allowed: set[str] = field(default_factory=set)
    """Keys of people, and names of roles."""
    denied: set[str] = field(default_factory=set)


class RehearsalServers:
    """Membership, roles and rules as they are now."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._places = rehearsal.places
        self._people = rehearsal.people
        self._numbers = {
            key: int(person.user_id) if person.user_id.isdecimal() else FIRST_UNNUMBERED + number
            for number, (key, person) in enumerate(rehearsal.people.items())
        }
        self._names = {number: key for key, number in self._numbers.items()}
        self._role_ids: dict[str, int] = {}
        self.roles = {key: set(person.roles) for key, person in rehearsal.people.items()}
        """The roles of each person, on every server they are on."""
        self.on_server = {each.server_id: set(rehearsal.people) for each in self._places.values() if each.server_id}
        self.rules = {key: _first_rules(place) for key, place in self._places.items()}
        for place in self._places.values():
            for role, people in place.roles.items():
                for person in people:
                    self.roles[person].add(role)
        for role in sorted({role for held in self.roles.values() for role in held} | self._named_roles()):
            self.role_id(role)
        for place in self._places.values():
            if place.server_id is not None and not place.is_hidden and not place.is_thread:
                self.on_server[place.server_id] &= set(place.members)

    def _named_roles(self) -> set[str]:
        return {role for place in self._places.values() for role in place.roles}

    # Changes

    def join(self, server_id: int, person: str) -> None:
        self.on_server[server_id].add(person)

    def set_roles(self, roles: Mapping[str, Iterable[str]]) -> None:
        """From now on each of these people has these roles and no others."""
        self.roles |= {person: set(names) for person, names in roles.items()}

    def leave(self, server_id: int, person: str) -> None:
        """*person* leaves a server, with every role and every place they were let into."""
        self.on_server[server_id].discard(person)
        for key, place in self._places.items():
            if place.server_id == server_id and place.is_thread:
                self.rules[key].allowed.discard(person)

    def allow(self, place: str, names: Iterable[str]) -> None:
        self._overwrite(place, names, allows=True)

    def deny(self, place: str, names: Iterable[str]) -> None:
        self._overwrite(place, names, allows=False)

    def _overwrite(self, place: str, names: Iterable[str], *, allows: bool) -> None:
        rules = self.rules[place]
        for name in names:
            if name == EVERYBODY:
                rules.is_hidden = not allows
                continue
            (rules.allowed if allows else rules.denied).add(name)
            (rules.denied if allows else rules.allowed).discard(name)

    def hide(self, place: str, readers: Sequence[str]) -> None:
        """Only *readers* can read the place from now on."""
        self.rules[place] = PlaceRules(is_hidden=True, allowed=set(readers))

    def open(self, place: str) -> None:
        self.rules[place] = PlaceRules()

    # Who can read

    def read_rules(self, place: str) -> ReadRules:
        """The rules of a place as Discord would have them; a thread has those of its channel."""
        setup = self._places[place]
        channel = self._channel_of(setup)
        rules = self.rules[channel.key]
        server_id = setup.server_id or 0
        everyone = [ChannelOverwrite(server_id, 0, VIEW_CHANNEL)] if rules.is_hidden and not channel.is_thread else []
        found = self.overwrites(channel.key) if not channel.is_thread else []
        return read_rules(
            guild_id=server_id,
            owner_id=0,
            roles=[(server_id, VIEW_CHANNEL | CONNECT), *((each, 0) for each in self._role_ids.values())],
            role_overwrites=[*everyone, *(each for each, is_member in found if not is_member)],
            member_overwrites=[each for each, is_member in found if is_member],
            is_voice=channel.kind in SPOKEN,
            is_private_thread=setup.is_thread and self.rules[place].is_hidden,
            is_age_restricted=channel.is_age_restricted,
        )

    def overwrites(self, place: str) -> list[tuple[ChannelOverwrite, bool]]:
        """What the place allows and denies roles and people, and whether each is a person's."""
        return [
            (
                ChannelOverwrite(
                    self._numbers[name] if name in self._people else self.role_id(name),
                    VIEW_CHANNEL * allows,
                    VIEW_CHANNEL * (not allows),
                ),
                name in self._people,
            )
            for name, allows in _entries(self.rules[place])
        ]

    def number_of(self, person: str) -> int:
        """The id of a person as a number, whatever the file calls them."""
        return self._numbers[person]

    def role_ids(self) -> list[int]:
        return list(self._role_ids.values())

    def readers(self, place: str) -> list[str]:
        """Keys of those who can read a place of a server now, in the order of the file."""
        setup = self._places[place]
        index = self._index(setup.server_id or 0)
        in_thread = [self._numbers[name] for name in self.rules[place].allowed if name in self._numbers]
        found = index.readers(self.read_rules(place), in_thread)
        return [self._names[member.id] for member in members_in(index.snapshot(), found)]

    def _index(self, server_id: int) -> MemberIndex:
        return MemberIndex(
            server_id,
            [
                ServerMember(self._numbers[person], tuple(self.role_id(role) for role in sorted(self.roles[person])))
                for person in self._people
                if person in self.on_server[server_id]
            ],
        )

    def _channel_of(self, place: PlaceSetup) -> PlaceSetup:
        """The channel that a thread is in, where the file has it; else the place itself."""
        return self._places.get(place.parent or "", place) if place.is_thread else place

    def role_id(self, name: str) -> int:
        return self._role_ids.setdefault(name, FIRST_ROLE + len(self._role_ids))


def _entries(rules: PlaceRules) -> list[tuple[str, bool]]:
    return [*((name, True) for name in sorted(rules.allowed)), *((name, False) for name in sorted(rules.denied))]


def _first_rules(place: PlaceSetup) -> PlaceRules:
    is_closed = place.is_hidden or EVERYBODY in place.denied
    allowed = {*place.allowed, *(place.members if place.is_hidden else ())} - {EVERYBODY}
    return PlaceRules(is_hidden=is_closed, allowed=allowed, denied=set(place.denied) - {EVERYBODY})
