"""World: the servers, channels, people and messages of our own Discord, and how each reads on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Payload = dict[str, Any]

DISCORD_EPOCH_MS = 1_420_070_400_000
TEXT, DM, VOICE, STAGE, FORUM, PUBLIC_THREAD, PRIVATE_THREAD = 0, 1, 2, 13, 15, 11, 12
DEFAULT, MEMBER_JOIN, REPLY = 0, 7, 19
EVERYTHING = (1 << 53) - 1
MANAGE_CHANNELS, VIEW_CHANNEL, SEND_MESSAGES, SEND_IN_THREADS = 1 << 4, 1 << 10, 1 << 11, 1 << 38
EMBED_LINKS, ATTACH_FILES, CONNECT, SPEAK = 1 << 14, 1 << 15, 1 << 20, 1 << 21
ORDINARY = VIEW_CHANNEL | SEND_MESSAGES | SEND_IN_THREADS | EMBED_LINKS | ATTACH_FILES | (1 << 6) | (1 << 16)
ORDINARY |= CONNECT | SPEAK
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
                "member_count": 1,
                "thread_metadata": {
                    "archived": self.is_archived,
                    "locked": self.is_locked,
                    "auto_archive_duration": 1440,
                    "archive_timestamp": "2025-01-01T00:00:00+00:00",
                    "create_timestamp": "2025-01-01T00:00:00+00:00",
                },
            }
        denied = self.denied | (VIEW_CHANNEL if self.readers is not None else 0)
        rules = [{"id": str(self.guild_id), "type": 0, "allow": "0", "deny": str(denied)}] if denied else []
        view = str(VIEW_CHANNEL)
        rules += [{"id": str(each), "type": 1, "allow": view, "deny": "0"} for each in sorted(self.readers or ())]
        if self.kind in (VOICE, STAGE):
            about |= {"bitrate": 64_000, "user_limit": 0, "rtc_region": None}
        return about | {
            "position": 0,
            "topic": self.topic,
            "nsfw": False,
            "permission_overwrites": rules,
            "available_tags": [],
        }

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
    roles: dict[int, str] = field(default_factory=dict)
    emojis: dict[int, str] = field(default_factory=dict)
    stickers: dict[int, str] = field(default_factory=dict)
    in_voice: dict[int, int] = field(default_factory=dict)
    """Who is in which voice channel, by their ids."""
    everyone_may: int = ORDINARY
    """What everybody may do here."""

    def voice_state(self, person: FakePerson) -> Payload:
        """Where *person* is heard, as the gateway tells of it."""
        room_id = self.in_voice.get(person.id)
        return _VOICE_STATE | {
            "guild_id": str(self.id),
            "channel_id": None if room_id is None else str(room_id),
            "user_id": str(person.id),
            "member": person.member(),
            "session_id": f"voice-{person.id}",
        }

    def payload(self) -> Payload:
        rooms = list(self.rooms.values())
        return _GUILD | {
            "id": str(self.id),
            "name": self.name,
            "description": self.description,
            "owner_id": str(self.owner_id),
            "roles": [
                _role(self.id, "@everyone", 0, self.everyone_may),
                *(_role(key, name, 1) for key, name in self.roles.items()),
            ],
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
            "members": [person.member() for person in self.people.values()],
            "presences": [
                {"user": {"id": str(person.id)}, "status": person.status, "activities": [], "client_status": {}}
                for person in self.people.values()
            ],
            "channels": [room.payload() for room in rooms if not room.is_thread],
            "threads": [room.payload() for room in rooms if room.is_thread],
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

    def direct_room(self, person: FakePerson) -> Room:
        for room in self.direct.values():
            if room.with_person is person:
                return room
        made = Room(self.new_id(), person.username, kind=DM, with_person=person)
        self.direct[made.id] = made
        return made

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
            "mentions": [person.payload() for person in self.people.values() if f"<@{person.id}>" in text],
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

    def stickers(self, room: Room, wanted: Sequence[str]) -> list[Payload]:
        """The server's stickers of those ids, as a message shows them."""
        guild = self.guilds.get(room.guild_id or 0)
        known = guild.stickers if guild is not None else {}
        return [{"id": each, "name": known[int(each)], "format_type": 1} for each in wanted if int(each) in known]

    def event(self, room: Room, message: Payload) -> Payload:
        """*message* as the gateway tells of it."""
        if room.guild_id is None:
            return dict(message)
        author = self.people.get(int(message["author"]["id"]))
        member = {key: value for key, value in author.member().items() if key != "user"} if author else None
        return message | {"guild_id": str(room.guild_id)} | ({"member": member} if member else {})


def _role(role_id: int, name: str, position: int, rights: int = ORDINARY) -> Payload:
    return {
        "id": str(role_id),
        "name": name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "position": position,
        "permissions": str(rights),
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
    "guild_scheduled_events": [],
    "soundboard_sounds": [],
}
