"""Who can read a channel, worked out as Discord documents it, for a whole server at once.

`ReadRules` is what decides it, in a normal form: two channels with the same rules let the same people in.
`MemberIndex` holds the members of a server as sets of bits, one bit for each, so that the readers of a channel
are a few operations on large numbers, however many members there are. Nothing here knows the library.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property

ADMINISTRATOR, VIEW_CHANNEL, CONNECT, MANAGE_THREADS = 1 << 3, 1 << 10, 1 << 20, 1 << 34
FINGERPRINT_CHARS = 12


@dataclass(frozen=True)
class ChannelOverwrite:
    """What a channel allows and denies one role or one member."""

    id: int
    allow: int
    deny: int


@dataclass(frozen=True)
class ReadRules:
    """Everything that decides who can read a channel or thread, but for who has which role."""

    guild_id: int
    owner_id: int
    needed: int
    """The rights that one must have to read."""
    everyone: int
    """Of the rights that matter: what everybody has here."""
    administrators: tuple[int, ...]
    """Roles that may do anything."""
    role_rights: tuple[tuple[int, int], ...]
    """What roles add to that on the whole server."""
    role_overwrites: tuple[ChannelOverwrite, ...]
    member_overwrites: tuple[ChannelOverwrite, ...]
    is_private_thread: bool = False
    is_age_restricted: bool = False
    """Discord does not say who has confirmed their age."""

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same rules, whatever channel they are of."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:FINGERPRINT_CHARS]

    @cached_property
    def is_open(self) -> bool:
        """Whether the rules alone let in everybody on the server, whatever roles they have or get."""
        denied = any(each.deny & ~each.allow & self.needed for each in (*self.role_overwrites, *self.member_overwrites))
        is_for_all = self.everyone & self.needed == self.needed and not denied
        return is_for_all and not self.is_private_thread and not self.is_age_restricted


def read_rules(
    *,
    guild_id: int,
    owner_id: int,
    roles: Iterable[tuple[int, int]],
    role_overwrites: Iterable[ChannelOverwrite],
    member_overwrites: Iterable[ChannelOverwrite],
    is_voice: bool = False,
    is_private_thread: bool = False,
    is_age_restricted: bool = False,
) -> ReadRules:
    """The rules of a channel from the rights of its server's *roles*, @everyone's under the server's own id.

    What cannot make a difference is left out, so that it makes none in the fingerprint.
    """
    needed = VIEW_CHANNEL | (CONNECT if is_voice else 0)
    matters = needed | (MANAGE_THREADS if is_private_thread else 0)
    rights = dict(roles)
    by_role = {each.id: each for each in role_overwrites if each.id in rights}
    here = by_role.pop(guild_id, ChannelOverwrite(guild_id, 0, 0))
    base = rights.get(guild_id, 0)
    settled = (base | here.allow | here.deny) & matters
    more = {key: given & matters & ~settled for key, given in rights.items() if key != guild_id}
    return ReadRules(
        guild_id=guild_id,
        owner_id=owner_id,
        needed=needed,
        everyone=((base & ~here.deny) | here.allow) & matters,
        administrators=tuple(sorted(key for key, given in rights.items() if given & ADMINISTRATOR)),
        role_rights=tuple(sorted((key, given) for key, given in more.items() if given)),
        role_overwrites=_normalise(by_role.values(), matters),
        member_overwrites=_normalise(member_overwrites, matters),
        is_private_thread=is_private_thread,
        is_age_restricted=is_age_restricted,
    )


def _normalise(overwrites: Iterable[ChannelOverwrite], matters: int) -> tuple[ChannelOverwrite, ...]:
    kept = (ChannelOverwrite(each.id, each.allow & matters, each.deny & matters) for each in overwrites)
    return tuple(sorted((each for each in kept if each.allow or each.deny), key=lambda each: each.id))


@dataclass(frozen=True)
class ServerMember:
    """A member as far as it matters here."""

    id: int
    roles: Collection[int] = ()
    is_bot: bool = False
    joined_at: datetime | None = None


class MemberIndex:
    """The members of one server, one bit each. A set of members is a number."""

    def __init__(self, guild_id: int, members: Iterable[ServerMember] = ()) -> None:
        self._guild_id = guild_id
        self._members: list[ServerMember | None] = list(members)
        self._places = {member.id: place for place, member in enumerate(self._members) if member is not None}
        by_role: dict[int, list[int]] = {}
        for place, member in enumerate(self._members):
            for role in member.roles if member is not None else ():
                by_role.setdefault(role, []).append(place)
        self._by_role = {role: _bits(places) for role, places in by_role.items()}
        self._everybody = (1 << len(self._members)) - 1
        self._free: list[int] = []
        self.version = 0
        """Another one whenever somebody came, went or has other roles."""
        self.humans = _bits(place for place, each in enumerate(self._members) if each is not None and not each.is_bot)

    def __len__(self) -> int:
        return len(self._places)

    def put(self, member: ServerMember) -> None:
        """*member* came, or has other roles now."""
        place = self._places.get(member.id)
        if place is not None and self._members[place] == member:
            return
        self.remove(member.id)
        if self._free:
            place = self._free.pop()
            self._members[place] = member
        else:
            place = len(self._members)
            self._members.append(member)
        self._places[member.id] = place
        for role in member.roles:
            self._by_role[role] = self._by_role.get(role, 0) | 1 << place
        self._everybody |= 1 << place
        self.humans |= 0 if member.is_bot else 1 << place
        self.version += 1

    def remove(self, member_id: int) -> None:
        place = self._places.pop(member_id, None)
        gone = self._members[place] if place is not None else None
        if place is None or gone is None:
            return
        self._members[place] = None
        self._free.append(place)
        for role in gone.roles:
            self._by_role[role] &= ~(1 << place)
        self._everybody &= ~(1 << place)
        self.humans &= ~(1 << place)
        self.version += 1

    def snapshot(self) -> list[ServerMember | None]:
        """The members as they are now, in the order of their bits."""
        return list(self._members)

    def set_of(self, member_ids: Iterable[int]) -> int:
        """Those of *member_ids* who are on the server."""
        return _bits(self._places[each] for each in member_ids if each in self._places)

    def readers(self, rules: ReadRules, thread_members: Iterable[int] = ()) -> int:
        """Everybody who can read a channel with *rules*, bots too; of a private thread *thread_members* as well.

        Whoever has confirmed no age is among them too.
        """
        found = self._everybody
        for bit in (VIEW_CHANNEL, CONNECT):
            if rules.needed & bit:
                found &= self._having(rules, bit)
        if rules.is_private_thread:
            found &= self.set_of(thread_members) | self._having(rules, MANAGE_THREADS)
        return found

    def _having(self, rules: ReadRules, bit: int) -> int:
        """Who has one right: what everybody has, then roles, then single members; administrators always."""
        found = (
            self._everybody if rules.everyone & bit else self._any_of(k for k, may in rules.role_rights if may & bit)
        )
        found &= ~self._any_of(each.id for each in rules.role_overwrites if each.deny & bit)
        found |= self._any_of(each.id for each in rules.role_overwrites if each.allow & bit)
        found &= ~self.set_of(each.id for each in rules.member_overwrites if each.deny & bit)
        found |= self.set_of(each.id for each in rules.member_overwrites if each.allow & bit)
        return found | self._any_of(rules.administrators) | self.set_of((rules.owner_id,))

    def _any_of(self, roles: Iterable[int]) -> int:
        found = 0
        for role in roles:
            found |= self._everybody if role == self._guild_id else self._by_role.get(role, 0)
        return found


def members_in(snapshot: Iterable[ServerMember | None], among: int) -> list[ServerMember]:
    """The members of the set *among*."""
    digits = bin(among)[:1:-1]
    return [each for each, digit in zip(snapshot, digits, strict=False) if digit == "1" and each is not None]


def _bits(places: Iterable[int]) -> int:
    """The number with these bits; built from bytes, for a shift by each would take the square of the time."""
    chosen = list(places)
    if len(chosen) < 8:
        return sum(1 << each for each in set(chosen))
    held = bytearray(max(chosen) // 8 + 1)
    for each in chosen:
        held[each >> 3] |= 1 << (each & 7)
    return int.from_bytes(held, "little")
