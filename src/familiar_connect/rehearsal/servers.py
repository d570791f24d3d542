"""RehearsalServers: who is on each server of a rehearsal, with which roles, and which of its places they can read.

Who can read what follows from that by the rules of the platform, which its extension knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from familiar_connect.extensions.rehearsed_servers import RehearsedChannel, RehearsedPerson, RehearsedServer
from familiar_connect.rehearsal.types import EVERYBODY, PlaceSetup, Rehearsal

FIRST_ROLE, FIRST_UNNUMBERED = 10**18 + 1, 2 * 10**18
"""Where the ids of roles, and of people whose own is no number, begin."""


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
        self._joined: dict[tuple[int, str], datetime] = {}
        self.rules = {key: _first_rules(place) for key, place in self._places.items()}
        for place in self._places.values():
            for role, people in place.roles.items():
                for person in people:
                    self.roles[person].add(role)
        for role in sorted({role for held in self.roles.values() for role in held} | self._list_named_roles()):
            self._role_id(role)
        for place in self._places.values():
            if place.server_id is not None and not place.is_hidden and not place.is_thread:
                self.on_server[place.server_id] &= set(place.members)

    def _list_named_roles(self) -> set[str]:
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

    # What the platform is told

    def describe(self, platform: str, now: datetime) -> list[RehearsedServer]:
        """The servers of *platform* as they are; whoever is new on one came *now*."""
        places = [place for place in self._places.values() if place.platform == platform and not place.is_dm]
        ids = list(dict.fromkeys(place.server_id for place in places if place.server_id is not None))
        members = {server_id: tuple(self._members(server_id, now)) for server_id in ids}
        channels = {
            server_id: tuple(self._channel(place) for place in places if place.server_id == server_id)
            for server_id in ids
        }
        roles = tuple(self._role_ids.values())  # after all that names one was looked at
        return [RehearsedServer(id=each, members=members[each], roles=roles, channels=channels[each]) for each in ids]

    def _members(self, server_id: int, now: datetime) -> Iterator[RehearsedPerson]:
        here = self.on_server[server_id]
        for person in self._people:
            if person in here:
                yield self.person(person, self._joined.setdefault((server_id, person), now))
            else:
                self._joined.pop((server_id, person), None)

    def person(self, key: str, joined_at: datetime | None = None) -> RehearsedPerson:
        """Somebody as their platform knows them."""
        about = self._people[key]
        roles = tuple(self._role_id(role) for role in sorted(self.roles[key]))
        return RehearsedPerson(
            id=self._numbers[key], name=about.name, username=about.username, roles=roles, joined_at=joined_at
        )

    def _channel(self, place: PlaceSetup) -> RehearsedChannel:
        rules = self.rules[place.key]
        parent = self._places.get(place.parent or "") if place.is_thread else None
        return RehearsedChannel(
            id=place.channel_id,
            kind=place.kind,
            parent_id=parent.channel_id if parent is not None else None,
            is_thread=place.is_thread,
            is_hidden=rules.is_hidden,
            is_age_restricted=place.is_age_restricted,
            allowed=self._ids(rules.allowed),
            denied=self._ids(rules.denied),
        )

    def _ids(self, names: Iterable[str]) -> tuple[int, ...]:
        return tuple(self._numbers[each] if each in self._people else self._role_id(each) for each in sorted(names))

    def name_of(self, number: int) -> str:
        """The key of the person with that id."""
        return self._names[number]

    def _role_id(self, name: str) -> int:
        return self._role_ids.setdefault(name, FIRST_ROLE + len(self._role_ids))


def _first_rules(place: PlaceSetup) -> PlaceRules:
    is_closed = place.is_hidden or EVERYBODY in place.denied
    allowed = {*place.allowed, *(place.members if place.is_hidden else ())} - {EVERYBODY}
    return PlaceRules(is_hidden=is_closed, allowed=allowed, denied=set(place.denied) - {EVERYBODY})
