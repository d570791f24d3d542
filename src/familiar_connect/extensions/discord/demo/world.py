"""World: the servers, channels, people and messages of our own Discord, and how each reads on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from familiar_connect.extensions.discord.demo.rights import (
    CONNECT,
    MANAGE_THREADS,
    MANAGE_WEBHOOKS,
    ORDINARY,
    VIEW_CHANNEL,
    FakeRole,
    Overwrite,
    permissions_in_channel,
)

Payload = dict[str, Any]

DISCORD_EPOCH_MS = 1_420_070_400_000
TEXT, DM, VOICE, CATEGORY, STAGE, FORUM, PUBLIC_THREAD, PRIVATE_THREAD = 0, 1, 2, 4, 13, 15, 11, 12
DEFAULT, MEMBER_JOIN, REPLY = 0, 7, 19
VOICE_MESSAGE_FLAG = 1 << 13
MAX_KEPT = 10_000
"""Messages kept per channel; a demonstration forgets the oldest."""


@dataclass
class FakePerson:
    id: int
    username: str
    display_name: str
    is_bot: bool = False
    nick: str | None = None
    status: str = "online"
    roles: tuple[int, ...] = ()
    is_pending: bool = False
    """Has not agreed to the server's rules yet; reads what their roles let them read all the same."""
    is_of_age: bool = True
    """May open an age-restricted channel; Discord tells no bot of it."""
    takes_direct: bool = True
    """Lets members of their servers write to them."""

    def payload(self) -> Payload:
        return {
            "id": str(self.id),
            "username": self.username,
            "discriminator": "0",
            "global_name": self.display_name,
            "avatar": None,
            "bot": self.is_bot,
            "public_flags": 0,
        }

    def member(self) -> Payload:
        return {
            "user": self.payload(),
            "nick": self.nick,
            "roles": [str(role) for role in self.roles],
            "joined_at": "2025-01-01T00:00:00+00:00",
            "deaf": False,
            "mute": False,
            "flags": 0,
            "pending": self.is_pending,
        }


@dataclass
class Room:
    """A channel, thread, forum or direct conversation."""

    id: int
    name: str
    kind: int = TEXT
    guild_id: int | None = None
    topic: str | None = None
    parent_id: int | None = None
    denied: int = 0
    """What nobody but the server's owner may do here."""
    readers: frozenset[int] | None = None
    """Who alone can see the channel, by id; None: everybody on the server."""
    overwrites: dict[int, Overwrite] = field(default_factory=dict)
    """What is allowed or denied here, by the id of a role, a member, or the server for @everyone."""
    is_age_restricted: bool = False
    thread_members: set[int] = field(default_factory=set)
    """Who has joined a thread, by id."""
    is_archived: bool = False
    is_locked: bool = False
    with_person: FakePerson | None = None
    messages: dict[int, Payload] = field(default_factory=dict)

    @property
    def is_thread(self) -> bool:
        return self.kind in (PUBLIC_THREAD, PRIVATE_THREAD)

    def payload(self) -> Payload:
        about: Payload = {"id": str(self.id), "type": self.kind, "last_message_id": None, "flags": 0}
        if self.with_person is not None:
            return about | {"recipients": [self.with_person.payload()]}
        about |= {"guild_id": str(self.guild_id), "name": self.name, "rate_limit_per_user": 0}
        about["parent_id"] = None if self.parent_id is None else str(self.parent_id)
        if self.is_thread:
            return about | {
                "owner_id": "1",
                "message_count": len(self.messages),
                "member_count": min(len(self.thread_members) or 1, 50),
                "member_ids_preview": [str(each) for each in sorted(self.thread_members)[:10]],
                "thread_metadata": {
                    "archived": self.is_archived,
                    "locked": self.is_locked,
                    "auto_archive_duration": 1440,
                    "archive_timestamp": "2025-01-01T00:00:00+00:00",
                    "create_timestamp": "2025-01-01T00:00:00+00:00",
                },
            }
        rules = [
            {"id": str(key), "type": int(each.is_member), "allow": str(each.allow), "deny": str(each.deny)}
            for key, each in sorted(self.all_overwrites().items())
        ]
        if self.kind in (VOICE, STAGE):
            about |= {"bitrate": 64_000, "user_limit": 0, "rtc_region": None}
        return about | {
            "position": 0,
            "topic": self.topic,
            "nsfw": self.is_age_restricted,
            "permission_overwrites": rules,
            "available_tags": [],
        }

    def all_overwrites(self) -> dict[int, Overwrite]:
        """Every overwrite here, with those that `denied` and `readers` stand for."""
        rules = dict(self.overwrites)
        denied = self.denied | (VIEW_CHANNEL if self.readers is not None else 0)
        if denied and self.guild_id is not None:
            own = rules.get(self.guild_id, Overwrite())
            rules[self.guild_id] = Overwrite(own.allow & ~denied, own.deny | denied)
        for each in self.readers or ():
            own = rules.get(each, Overwrite(is_member=True))
            rules[each] = Overwrite(own.allow | VIEW_CHANNEL, own.deny & ~VIEW_CHANNEL, is_member=True)
        return rules

    def thread_member(self, person_id: int) -> Payload:
        """A member of this thread as Discord lists them."""
        joined = {"join_timestamp": "2025-01-01T00:00:00+00:00", "flags": 0}
        return {"id": str(self.id), "user_id": str(person_id)} | joined

    def unarchive(self) -> None:
        self.is_archived = False

    def keep(self, message: Payload) -> None:
        self.messages[int(message["id"])] = message
        while len(self.messages) > MAX_KEPT:
            del self.messages[next(iter(self.messages))]


@dataclass
class Guild:
    """A server with everyone in it."""

    id: int
    name: str
    description: str | None = None
    owner_id: int = 2
    people: dict[int, FakePerson] = field(default_factory=dict)
    rooms: dict[int, Room] = field(default_factory=dict)
    roles: dict[int, FakeRole] = field(default_factory=dict)
    emojis: dict[int, str] = field(default_factory=dict)
    stickers: dict[int, str] = field(default_factory=dict)
    events: dict[int, Payload] = field(default_factory=dict)
    """What is planned or going on, by id."""
    in_voice: dict[int, int] = field(default_factory=dict)
    """Who is in which voice channel, by their ids."""
    everyone_may: int = ORDINARY
    """What everybody may do here."""
    bots_may: int = MANAGE_WEBHOOKS
    """What the role allows that a bot's invitation makes for it, beyond what everybody may."""
    unlisted: set[int] = field(default_factory=set)
    """Members that are told only to a client that asks for them, as on a large server."""
    system_room_id: int | None = None
    """The channel that Discord tells news in."""
    joined: dict[int, str] = field(default_factory=dict)
    """When those came who were not there from the beginning, by id."""

    def member(self, person: FakePerson) -> Payload:
        """*person* as a member of this server."""
        about = person.member()
        return about | {"joined_at": self.joined.get(person.id, about["joined_at"])}

    def permissions(self, room: Room, person: FakePerson) -> int:
        """What *person* may do in *room* now; in a thread, what they may in the channel it belongs to."""
        parent = self.rooms.get(room.parent_id or 0) if room.is_thread else room
        if person.id not in self.people or parent is None:
            return 0
        own = self.bots_may if person.is_bot else 0
        return permissions_in_channel(
            person.id,
            person.roles,
            guild_id=self.id,
            owner_id=self.owner_id,
            role_permissions={self.id: self.everyone_may | own}
            | {key: role.permissions for key, role in self.roles.items()},
            overwrites=parent.all_overwrites(),
        )

    def can_read(self, room: Room, person: FakePerson) -> bool:
        """Whether *person* can read *room* now, as Discord documents it."""
        parent = self.rooms.get(room.parent_id or 0) if room.is_thread else room
        if parent is None:
            return False
        may = self.permissions(room, person)
        if not may & VIEW_CHANNEL or (parent.kind in (VOICE, STAGE) and not may & CONNECT):
            return False
        if room.kind == PRIVATE_THREAD and person.id not in room.thread_members and not may & MANAGE_THREADS:
            return False
        return person.is_of_age or not parent.is_age_restricted

    def readers_of(self, room: Room) -> frozenset[int]:
        """Everybody who can read *room* now, by id; bots too."""
        return frozenset(key for key, person in self.people.items() if self.can_read(room, person))

    def role_payload(self, role_id: int) -> Payload:
        if role_id == self.id:
            return _role(FakeRole(self.id, "@everyone", self.everyone_may, 0))
        return _role(self.roles[role_id])

    def voice_state(self, person: FakePerson) -> Payload:
        """Where *person* is heard, as the gateway tells of it."""
        room_id = self.in_voice.get(person.id)
        return _VOICE_STATE | {
            "guild_id": str(self.id),
            "channel_id": None if room_id is None else str(room_id),
            "user_id": str(person.id),
            "member": self.member(person),
            "session_id": f"voice-{person.id}",
        }

    def payload(self) -> Payload:
        rooms = list(self.rooms.values())
        return _GUILD | {
            "id": str(self.id),
            "name": self.name,
            "description": self.description,
            "owner_id": str(self.owner_id),
            "system_channel_id": None if self.system_room_id is None else str(self.system_room_id),
            "roles": [self.role_payload(key) for key in (self.id, *self.roles)],
            "emojis": [
                {"id": str(key), "name": name, "roles": [], "require_colons": True, "managed": False, "animated": False}
                for key, name in self.emojis.items()
            ],
            "stickers": [
                {
                    "id": str(key),
                    "name": name,
                    "description": "",
                    "tags": "",
                    "type": 2,
                    "format_type": 1,
                    "guild_id": str(self.id),
                    "available": True,
                }
                for key, name in self.stickers.items()
            ],
            "member_count": len(self.people),
            "large": bool(self.unlisted),
            "members": [self.member(person) for key, person in self.people.items() if key not in self.unlisted],
            "presences": [
                {"user": {"id": str(person.id)}, "status": person.status, "activities": [], "client_status": {}}
                for key, person in self.people.items()
                if key not in self.unlisted
            ],
            "channels": [room.payload() for room in rooms if not room.is_thread],
            "threads": [room.payload() for room in rooms if room.is_thread],
            "guild_scheduled_events": list(self.events.values()),
            "voice_states": [self.voice_state(self.people[key]) for key in self.in_voice],
        }


class World:
    """Everything there is. Ids grow with time, as Discord's do."""

    def __init__(self) -> None:
        self._last_id = 0
        self.bot = FakePerson(1, "familiar", "Familiar", is_bot=True)
        self.owner = FakePerson(2, "owner", "Owner")
        self.people: dict[int, FakePerson] = {1: self.bot, 2: self.owner}
        self.guilds: dict[int, Guild] = {}
        self.direct: dict[int, Room] = {}
        self.team: Payload | None = None
        """The team that the bot belongs to; None: it belongs to the owner alone."""

    def set_team(self, owner: FakePerson, *members: FakePerson) -> None:
        """The bot belongs to a team; its owner is one of those in it."""
        everyone = [
            {"user": each.payload(), "membership_state": 2, "team_id": "9", "permissions": ["*"], "role": "admin"}
            for each in (owner, *members)
        ]
        about = {"id": "9", "name": "The team", "icon": None, "owner_user_id": str(owner.id)}
        self.team = about | {"members": everyone}

    def set_owner(self, person: FakePerson) -> None:
        """The bot belongs to *person*."""
        self.owner = person

    def new_id(self) -> int:
        now_ms = int(datetime.now(UTC).timestamp() * 1000)
        self._last_id = max(self._last_id + 1, (now_ms - DISCORD_EPOCH_MS) << 22)
        return self._last_id

    def person(self, username: str, display_name: str | None = None, **facts: Any) -> FakePerson:
        """The person of that name, made if new and let into every server."""
        for known in self.people.values():
            if known.username == username:
                return known
        made = FakePerson(self.new_id(), username, display_name or username.capitalize(), **facts)
        self.people[made.id] = made
        for guild in self.guilds.values():
            guild.people[made.id] = made
        return made

    def guild(self, name: str, **facts: Any) -> Guild:
        made = Guild(facts.pop("id", None) or self.new_id(), name, people=dict(self.people), **facts)
        self.guilds[made.id] = made
        return made

    def room(self, guild: Guild, name: str, **facts: Any) -> Room:
        made = Room(facts.pop("id", None) or self.new_id(), name, guild_id=guild.id, **facts)
        guild.rooms[made.id] = made
        return made

    def role(self, guild: Guild, name: str, permissions: int = 0, **facts: Any) -> FakeRole:
        made = FakeRole(facts.pop("id", None) or self.new_id(), name, permissions, **facts)
        guild.roles[made.id] = made
        return made

    def direct_room(self, person: FakePerson) -> Room:
        for room in self.direct.values():
            if room.with_person is person:
                return room
        made = Room(self.new_id(), person.username, kind=DM, with_person=person)
        self.direct[made.id] = made
        return made

    def bot_may(self, room: Room, right: int) -> bool:
        """Whether the familiar can see *room* and has *right* there; in a direct conversation it has every one."""
        if room.guild_id is None:
            return True
        guild = self.guilds.get(room.guild_id)
        if guild is None:
            return False
        if room.is_thread and room.parent_id not in guild.rooms:
            return True  # a channel that nobody knows: what the library makes of its thread can be tried
        if not guild.can_read(room, self.bot):
            return False
        return guild.permissions(room, self.bot) & right == right

    def rights_of_bot(self, room: Room) -> int:
        """All that the familiar may do in *room*, as an interaction there tells it."""
        guild = self.guilds.get(room.guild_id or 0)
        return ORDINARY if guild is None else guild.permissions(room, self.bot)

    def why_not_written_to(self, person: FakePerson) -> tuple[int, str] | None:
        """Why the familiar cannot write to *person* directly, as code and words; None: it can."""
        if not any(person.id in guild.people for guild in self.guilds.values()):
            return 50278, "Cannot send messages to this user due to having no mutual guilds"
        return None if person.takes_direct else (50007, "Cannot send messages to this user")

    def find(self, room_id: int) -> Room | None:
        """The room with that id, wherever it is."""
        for guild in self.guilds.values():
            if room_id in guild.rooms:
                return guild.rooms[room_id]
        return self.direct.get(room_id)

    def message(self, room: Room, author: FakePerson, text: str, **more: Any) -> Payload:
        """A message as it stands in the room; kept there."""
        message: Payload = {
            "id": str(self.new_id()),
            "type": DEFAULT,
            "channel_id": str(room.id),
            "author": author.payload(),
            "content": text,
            "timestamp": datetime.now(UTC).isoformat(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": self.list_mentions(text),
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "pinned": False,
            "flags": 0,
            "components": [],
        }
        message |= more
        room.keep(message)
        return message

    def list_mentions(self, text: str) -> list[Payload]:
        """Those whom *text* mentions, as a message lists them."""
        return [person.payload() for person in self.people.values() if f"<@{person.id}>" in text]

    def stickers(self, room: Room, wanted: Sequence[str]) -> list[Payload]:
        """The server's stickers of those ids, as a message shows them."""
        guild = self.guilds.get(room.guild_id or 0)
        known = guild.stickers if guild is not None else {}
        return [{"id": each, "name": known[int(each)], "format_type": 1} for each in wanted if int(each) in known]

    def deletion(self, room: Room, *messages: Payload) -> Payload:
        """That *messages* are gone, as the gateway tells of it: one by its id, several by theirs."""
        gone: Payload = {"channel_id": str(room.id)}
        gone |= {"id": messages[0]["id"]} if len(messages) == 1 else {"ids": [each["id"] for each in messages]}
        return gone | ({"guild_id": str(room.guild_id)} if room.guild_id is not None else {})

    def event(self, room: Room, message: Payload) -> Payload:
        """*message* as the gateway tells of it."""
        if room.guild_id is None:
            return dict(message)
        author = self.people.get(int(message["author"]["id"]))
        member = {key: value for key, value in author.member().items() if key != "user"} if author else None
        return message | {"guild_id": str(room.guild_id)} | ({"member": member} if member else {})


def _role(role: FakeRole) -> Payload:
    return {
        "id": str(role.id),
        "name": role.name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "position": role.position,
        "permissions": str(role.permissions),
        "managed": False,
        "mentionable": False,
        "flags": 0,
    }


_VOICE_STATE: Payload = {
    "deaf": False,
    "mute": False,
    "self_deaf": False,
    "self_mute": False,
    "self_video": False,
    "suppress": False,
    "request_to_speak_timestamp": None,
}

_GUILD: Payload = {
    "icon": None,
    "splash": None,
    "afk_channel_id": None,
    "afk_timeout": 60,
    "verification_level": 0,
    "default_message_notifications": 0,
    "explicit_content_filter": 0,
    "features": [],
    "mfa_level": 0,
    "system_channel_id": None,
    "system_channel_flags": 0,
    "rules_channel_id": None,
    "max_members": 100_000,
    "vanity_url_code": None,
    "banner": None,
    "premium_tier": 0,
    "premium_subscription_count": 0,
    "preferred_locale": "en-US",
    "public_updates_channel_id": None,
    "nsfw_level": 0,
    "premium_progress_bar_enabled": False,
    "joined_at": "2025-01-01T00:00:00+00:00",
    "large": False,
    "stage_instances": [],
    "soundboard_sounds": [],
}
