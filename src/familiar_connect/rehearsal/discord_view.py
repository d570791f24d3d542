"""DiscordView: the servers of a rehearsal as Discord's library would show them, for the code that asks who can read.

The familiar's own code looks at these as it looks at the library's servers, channels and members, so that a rehearsal
and the live platform can never differ in who hears what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from familiar_connect.chat.scene import ChannelKind
from familiar_connect.extensions.discord.permissions import CONNECT, VIEW_CHANNEL
from familiar_connect.rehearsal.servers import RehearsalServers
from familiar_connect.rehearsal.types import PlaceSetup, Rehearsal

_TYPES = {
    ChannelKind.voice: "voice",
    ChannelKind.stage: "stage_voice",
    ChannelKind.forum_root: "forum",
    ChannelKind.dm: "private",
    ChannelKind.group_dm: "group",
    ChannelKind.category: "category",
}


@dataclass(eq=False)
class SeenOverwrite:
    id: int
    allow: int
    deny: int
    is_of_member: bool = False

    def is_member(self) -> bool:
        return self.is_of_member


@dataclass(eq=False)
class SeenChannel:
    """A channel or thread; always the same object."""

    id: int
    guild: SeenGuild | None
    kind: str
    parent: SeenChannel | None = None
    nsfw: bool = False
    _overwrites: list[SeenOverwrite] = field(default_factory=list)
    members: list[Any] = field(default_factory=list)
    recipients: list[Any] = field(default_factory=list)

    @property
    def type(self) -> Any:
        return SimpleNamespace(name=self.kind)

    @property
    def parent_id(self) -> int | None:
        return self.parent.id if self.parent is not None else None

    def set_rules(self, overwrites: list[SeenOverwrite], members: list[Any], *, nsfw: bool) -> None:
        self._overwrites, self.members, self.nsfw = overwrites, members, nsfw

    async def fetch_members(self) -> list[Any]:
        return self.members


@dataclass(eq=False)
class SeenGuild:
    """A server of which every member is known."""

    id: int
    owner_id: int = 0
    chunked: bool = True
    unavailable: bool = False
    channels: list[SeenChannel] = field(default_factory=list)
    threads: list[SeenChannel] = field(default_factory=list)
    _roles: dict[int, Any] = field(default_factory=dict)
    _members: dict[int, Any] = field(default_factory=dict)
    _state: Any = field(default_factory=lambda: SimpleNamespace(self_id=0))

    def set_people(self, members: list[Any], roles: list[Any]) -> None:
        self._members = {member.id: member for member in members}
        self._roles = {role.id: role for role in roles}

    def get_channel(self, channel_id: int) -> SeenChannel | None:
        return next((each for each in self.channels if each.id == channel_id), None)

    def get_channel_or_thread(self, channel_id: int) -> SeenChannel | None:
        return next((each for each in (*self.channels, *self.threads) if each.id == channel_id), None)

    def get_member(self, member_id: int) -> Any:
        return self._members.get(member_id)


class DiscordView:
    """Everything the library would know; `refresh` after each change."""

    def __init__(self, rehearsal: Rehearsal, servers: RehearsalServers) -> None:
        self._rehearsal = rehearsal
        self._servers = servers
        self.intents = SimpleNamespace(members=True)
        self._guilds: dict[int, SeenGuild] = {}
        self._joined: dict[tuple[int, str], datetime] = {}
        self._channels: dict[str, SeenChannel] = {}
        for place in rehearsal.places.values():
            self._channels[place.key] = self._channel(place)
        for place in rehearsal.places.values():
            parent = self._channels.get(place.parent or "") if place.is_thread else None
            self._channels[place.key].parent = parent
        self.refresh(rehearsal.begins_at)

    @property
    def guilds(self) -> Sequence[SeenGuild]:
        return list(self._guilds.values())

    def get_channel(self, channel_id: int) -> SeenChannel | None:
        return next((each for each in self._channels.values() if each.id == channel_id), None)

    def channel(self, place: str) -> SeenChannel:
        return self._channels[place]

    def _channel(self, place: PlaceSetup) -> SeenChannel:
        is_on_server = place.server_id is not None and not place.is_dm and place.platform == "discord"
        guild = self._guilds.setdefault(place.server_id or 0, SeenGuild(place.server_id or 0)) if is_on_server else None
        is_private = place.is_thread and place.is_hidden
        kind = _TYPES.get(place.kind, "text") if not place.is_thread else "public_thread"
        made = SeenChannel(place.channel_id, guild, "private_thread" if is_private else kind)
        if guild is not None:
            (guild.threads if place.is_thread else guild.channels).append(made)
        return made

    def refresh(self, now: datetime, dm_readers: dict[str, Sequence[str]] | None = None) -> None:
        """Look at everything anew; whoever is new on a server came *now*."""
        servers = self._servers
        for server_id, guild in self._guilds.items():
            here = servers.on_server[server_id]
            for person in self._rehearsal.people:
                if person in here:
                    self._joined.setdefault((server_id, person), now)
                else:
                    self._joined.pop((server_id, person), None)
            members = [
                self._member(person, self._joined[server_id, person])
                for person in self._rehearsal.people
                if person in here
            ]
            everyone = SimpleNamespace(id=server_id, _permissions=VIEW_CHANNEL | CONNECT, tags=None)
            roles = [SimpleNamespace(id=each, _permissions=0, tags=None) for each in servers.role_ids()]
            guild.set_people(members, [everyone, *roles])
        for key, seen in self._channels.items():
            place = self._rehearsal.places[key]
            if seen.guild is not None:
                overwrites = [] if place.is_thread and seen.parent else self._overwrites(key, seen.guild.id)
                is_on = servers.on_server[seen.guild.id]
                inside = [each for each in sorted(servers.rules[key].allowed) if each in is_on]
                members = [SimpleNamespace(id=servers.number_of(each)) for each in inside]
                seen.set_rules(overwrites, members, nsfw=place.is_age_restricted)

    def people_of(self, place: str, people: Sequence[str]) -> SeenChannel:
        """The direct message *place*, with whom it is now."""
        seen = self._channels[place]
        seen.recipients = [self._member(person, None) for person in people]
        return seen

    def _member(self, person: str, joined_at: datetime | None) -> Any:
        about = self._rehearsal.people[person]
        return SimpleNamespace(
            id=self._servers.number_of(person),
            name=about.username or about.name,
            display_name=about.name,
            bot=False,
            joined_at=joined_at,
            _roles=tuple(self._servers.role_id(role) for role in sorted(self._servers.roles[person])),
        )

    def _overwrites(self, place: str, server_id: int) -> list[SeenOverwrite]:
        found = [
            SeenOverwrite(each.id, each.allow, each.deny, is_member)
            for each, is_member in self._servers.overwrites(place)
        ]
        is_closed = self._servers.rules[place].is_hidden
        return [*found, SeenOverwrite(server_id, 0, VIEW_CHANNEL)] if is_closed else found
