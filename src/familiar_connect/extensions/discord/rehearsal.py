"""What `familiar rehearse` needs of Discord: a chat that posts as Discord does, and servers seen through its library.

The servers of a rehearsal are shown as the library would show them, to the code that asks who can read a channel, so
that a rehearsal and the live platform can never differ in who hears what. The library itself is not needed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from familiar_connect.api import (
    Author,
    InboundMessage,
    ListedUser,
    Place,
    PlaceFeatures,
    PlatformHost,
    ReplyTarget,
    Scene,
)
from familiar_connect.api.messages import ChannelKind
from familiar_connect.api.stand_in import RehearsedChannel, RehearsedPerson, RehearsedServer
from familiar_connect.extensions.discord.channel_readers import ChannelReaders
from familiar_connect.extensions.discord.guild_rules import read_guild_rules
from familiar_connect.extensions.discord.inbound import is_webhook_person, webhook_author
from familiar_connect.extensions.discord.mentions import DiscordMentions
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

MESSAGE_LIMIT = 2000
PLURALKIT = "466378653216014359"
"""The application of PluralKit, which says what its members write under names of their own."""
_SPOKEN = (ChannelKind.voice, ChannelKind.stage)
_TYPES = {
    ChannelKind.voice: "voice",
    ChannelKind.stage: "stage_voice",
    ChannelKind.forum_root: "forum",
    ChannelKind.dm: "private",
    ChannelKind.group_dm: "group",
    ChannelKind.category: "category",
}


class RehearsedChat(Place):
    """A channel whose messages go to *post*: mentions are spelt as Discord spells them."""

    features = PlaceFeatures(limit=MESSAGE_LIMIT, posts_answers=True)

    def __init__(self, post: Callable[[str], Awaitable[None]]) -> None:
        self._post = post

    def text_marks(self, users: Sequence[ListedUser]) -> DiscordMentions:
        return DiscordMentions(users, ())

    async def send(self, text: str) -> None:
        await self._post(text)

    async def post_answer(self, text: str, *, target: ReplyTarget | None = None) -> str | None:
        await self._post(text)
        return None

    async def notice(self, text: str) -> None:
        """The rehearsal shows notices itself."""

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return ()

    async def scene(self) -> Scene:
        return Scene()


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


class RehearsedDiscord:
    """Everything the library would know of the servers, and the code that asks it who can read what."""

    proxy_application = PLURALKIT

    def __init__(self) -> None:
        self.intents = SimpleNamespace(members=True)
        self._guilds: dict[int, SeenGuild] = {}
        self._seen: dict[int, SeenChannel] = {}
        self._channels: dict[int, tuple[RehearsedServer, RehearsedChannel]] = {}
        self._readers: ChannelReaders | None = None
        self._webhooks = "people"

    # As the library is asked

    @property
    def guilds(self) -> Sequence[SeenGuild]:
        return list(self._guilds.values())

    def get_channel(self, channel_id: int) -> SeenChannel | None:
        return self._seen.get(channel_id)

    # As the rehearsal tells and asks

    def connect(self, host: PlatformHost) -> None:
        self._readers = ChannelReaders(host.servers.readers)
        self._webhooks = host.settings.webhooks

    def show(self, servers: Sequence[RehearsedServer]) -> None:
        for server in servers:
            guild = self._guilds.setdefault(server.id, SeenGuild(server.id))
            self._channels |= {channel.id: (server, channel) for channel in server.channels}
            for channel in server.channels:
                if channel.id not in self._seen:
                    self._add_channel(channel, guild)
            everyone = SimpleNamespace(id=server.id, _permissions=VIEW_CHANNEL | CONNECT, tags=None)
            roles = [SimpleNamespace(id=each, _permissions=0, tags=None) for each in server.roles]
            guild.set_people([_member(each) for each in server.members], [everyone, *roles])
            for channel in server.channels:
                self._show_channel(channel, server)
        self._tell_readers()

    def _add_channel(self, channel: RehearsedChannel, guild: SeenGuild) -> None:
        made = SeenChannel(channel.id, guild, _TYPES.get(channel.kind, "text"))
        self._seen[channel.id] = made
        (guild.threads if channel.is_thread else guild.channels).append(made)

    def _show_channel(self, channel: RehearsedChannel, server: RehearsedServer) -> None:
        seen = self._seen[channel.id]
        if channel.is_thread:
            seen.kind = "private_thread" if channel.is_hidden else "public_thread"
            seen.parent = self._seen.get(channel.parent_id or 0)
        found: list[SeenOverwrite] = []
        if not channel.is_thread or seen.parent is None:  # a thread in a channel has the channel's
            given = _overwrites(channel, server)
            found += [SeenOverwrite(each.id, each.allow, each.deny, is_member) for each, is_member in given]
            found += [SeenOverwrite(server.id, 0, VIEW_CHANNEL)] if channel.is_hidden else []
        here = {each.id for each in server.members}
        inside = [SimpleNamespace(id=each) for each in channel.allowed if each in here]
        seen.set_rules(found, inside, nsfw=channel.is_age_restricted)

    def _tell_readers(self) -> None:
        """Say that the servers are different, as events of the network do."""
        if self._readers is None:
            return
        hooks = self._readers.hooks(lambda server_id: None)
        for guild in self.guilds:
            hooks["GUILD_ROLE_UPDATE"]({"guild_id": guild.id})
            hooks["GUILD_MEMBERS_CHUNK"]({"guild_id": guild.id})

    def readers(self, channel_id: int) -> Sequence[int]:
        server, channel = self._channels[channel_id]
        members = [ServerMember(each.id, each.roles) for each in server.members]
        index = MemberIndex(server.id, members)
        found = index.readers(self._read_rules(channel_id), channel.allowed)
        return [member.id for member in members_in(index.snapshot(), found)]

    def rules(self, channel_id: int) -> str | None:
        if self._read_rules(channel_id).is_open:
            return None
        seen = self._seen[channel_id]
        known = read_guild_rules(seen, seen.guild)
        return known.fingerprint if known is not None else ""

    def _read_rules(self, channel_id: int) -> ReadRules:
        """The rules of a channel; a thread has those of its channel, and of one that nobody knows none."""
        server, channel = self._channels[channel_id]
        room = self._channels[channel.parent_id][1] if channel.parent_id in self._channels else channel
        found = _overwrites(room, server) if not room.is_thread else []
        everyone = [ChannelOverwrite(server.id, 0, VIEW_CHANNEL)] if room.is_hidden and not room.is_thread else []
        return read_rules(
            guild_id=server.id,
            owner_id=0,
            roles=[(server.id, VIEW_CHANNEL | CONNECT), *((each, 0) for each in server.roles)],
            role_overwrites=[*everyone, *(each for each, is_member in found if not is_member)],
            member_overwrites=[each for each, is_member in found if is_member],
            is_voice=room.kind in _SPOKEN,
            is_private_thread=channel.is_thread and channel.is_hidden,
            is_age_restricted=room.is_age_restricted,
        )

    async def look(self, scene: Scene, channel_id: int, people: Sequence[RehearsedPerson] = ()) -> Scene:
        assert self._readers is not None
        if people:
            kind = _TYPES[scene.channel.kind if scene.channel is not None else ChannelKind.dm]
            seen = self._seen.setdefault(channel_id, SeenChannel(channel_id, None, kind))
            seen.recipients = [_member(each) for each in people]
        return await self._readers.look(scene, self._seen[channel_id], self)

    def webhook_speaker(self, name: str, source: str) -> Author:
        return webhook_author(name, source)

    def is_webhook_person(self, application: str | None) -> bool:
        return is_webhook_person(self._webhooks, application)


def _member(person: RehearsedPerson) -> Any:
    return SimpleNamespace(
        id=person.id,
        name=person.username or person.name,
        display_name=person.name,
        bot=False,
        joined_at=person.joined_at,
        _roles=person.roles,
    )


def _overwrites(channel: RehearsedChannel, server: RehearsedServer) -> list[tuple[ChannelOverwrite, bool]]:
    """What a channel allows and denies roles and people, and whether each is a person's."""
    entries = [*((each, True) for each in channel.allowed), *((each, False) for each in channel.denied)]
    return [
        (ChannelOverwrite(each, VIEW_CHANNEL * allows, VIEW_CHANNEL * (not allows)), each not in server.roles)
        for each, allows in entries
    ]
