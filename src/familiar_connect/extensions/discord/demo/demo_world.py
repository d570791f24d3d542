"""DemoWorld: the server of the demonstration: who is there, with which roles, and where one can talk.

Every id is the same at each start, so that the familiar knows people and places again.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from familiar_connect.extensions.discord.demo.rights import (
    MANAGE_CHANNELS,
    MANAGE_GUILD,
    MANAGE_MESSAGES,
    ORDINARY,
    FakeRole,
)
from familiar_connect.extensions.discord.demo.world import (
    DM,
    PUBLIC_THREAD,
    VOICE,
    FakePerson,
    Guild,
    Payload,
    Room,
    World,
)

SERVER_ID, CHANNEL_ID, GARDEN_ID, COUNCIL_ID, THREAD_ID, LOUNGE_ID = 1001, 1002, 1003, 1004, 1005, 1006
WARREN_ID, HALL_ID = 1101, 1102
"""A second server, which the familiar can be let onto."""
YOU = "you"
DIRECT = "dm"
"""How the direct conversation with the familiar is called where a room is named."""
KEEPER, REGULAR = 3001, 3002
_FIRST_STRANGER = 100_000
_DIRECT_OF = 10_000_000_000
_PICTURE_SIDE = 48
PICTURE = "tide.png"


@dataclass(frozen=True)
class Resident:
    """Somebody who is always there."""

    id: int
    username: str
    display_name: str
    roles: tuple[int, ...]


RESIDENTS = (
    Resident(2001, YOU, "You", (KEEPER,)),
    Resident(2002, "ada", "Ada", (KEEPER, REGULAR)),
    Resident(2003, "ben", "Ben", (REGULAR,)),
    Resident(2004, "cy", "Cy", ()),
)


class DemoWorld:
    """Fills *world* with one server, its channels and its people, and finds them by what is typed."""

    def __init__(self, world: World, familiar_name: str) -> None:
        self._world = world
        world.bot.username = "familiar"
        world.bot.display_name = familiar_name
        for each in RESIDENTS:
            world.people[each.id] = FakePerson(each.id, each.username, each.display_name, roles=each.roles)
        self.you = world.people[RESIDENTS[0].id]
        world.set_owner(self.you)
        self.guild: Guild = world.guild("The Burrow", id=SERVER_ID, description="A place to try things out")
        self.guild.owner_id = self.you.id
        keeps = ORDINARY | MANAGE_CHANNELS | MANAGE_GUILD | MANAGE_MESSAGES
        self.guild.roles |= {KEEPER: FakeRole(KEEPER, "Keeper", keeps), REGULAR: FakeRole(REGULAR, "Regular")}
        self.guild.emojis |= {4001: "tea", 4002: "wave"}
        insiders = frozenset({self.you.id, RESIDENTS[1].id, world.bot.id})
        self.lounge = world.room(self.guild, "lounge", id=LOUNGE_ID, kind=VOICE)
        """Where people talk aloud; its chat is read as that of any channel."""
        self.rooms = {
            "general": world.room(self.guild, "general", id=CHANNEL_ID, topic="Whatever comes to mind"),
            "garden": world.room(self.guild, "garden", id=GARDEN_ID, topic="What grows and what does not"),
            "council": world.room(self.guild, "council", id=COUNCIL_ID, topic="You and Ada only", readers=insiders),
            "birthday": world.room(self.guild, "birthday", id=THREAD_ID, kind=PUBLIC_THREAD, parent_id=CHANNEL_ID),
            "lounge": self.lounge,
        }

    def make_warren(self) -> Guild:
        """The second server, which knows nothing of the familiar yet; the same one however often."""
        known = self._world.guilds.get(WARREN_ID)
        if known is None:
            known = self._world.guild("The Warren", id=WARREN_ID, owner_id=self.you.id)
            self.rooms["hall"] = self._world.room(known, "hall", id=HALL_ID)
        return known

    @property
    def channel_ids(self) -> tuple[int, ...]:
        """Where the familiar is to listen; a thread follows its channel."""
        return CHANNEL_ID, GARDEN_ID, COUNCIL_ID

    def room(self, name: str, person: FakePerson) -> Room | None:
        """The room of that name, as *person* means it: a direct message is with the familiar."""
        return self.direct_room(person) if name == DIRECT else self.rooms.get(name)

    def room_by_id(self, room_id: int) -> tuple[str, Room] | None:
        """A room and how it is called."""
        for name, room in self.rooms.items():
            if room.id == room_id:
                return name, room
        direct = self._world.direct.get(room_id)
        return (DIRECT, direct) if direct is not None else None

    def direct_room(self, person: FakePerson) -> Room:
        """Where *person* and the familiar talk alone; the same at each start."""
        room_id = _DIRECT_OF + person.id
        if room_id not in self._world.direct:
            self._world.direct[room_id] = Room(room_id, person.username, kind=DM, with_person=person)
        return self._world.direct[room_id]

    def person(self, name: str) -> tuple[FakePerson, bool]:
        """Somebody of that name, and whether they are new; a stranger has the same id whenever they come."""
        known = next((each for each in self._world.people.values() if each.username == name and not each.is_bot), None)
        if known is not None:
            return known, False
        person_id = _FIRST_STRANGER + zlib.crc32(name.encode())
        stranger = FakePerson(person_id, name, name.capitalize())
        self._world.people[person_id] = self.guild.people[person_id] = stranger
        return stranger, True

    def picture(self, base_url: str) -> Payload:
        """The demonstration's picture as an attachment of a message."""
        url = f"{base_url}/{PICTURE}"
        return {
            "id": str(self._world.new_id()),
            "filename": PICTURE,
            "size": len(picture_bytes()),
            "url": url,
            "proxy_url": url,
            "content_type": "image/png",
            "width": _PICTURE_SIDE,
            "height": _PICTURE_SIDE,
        }


def picture_bytes() -> bytes:
    """A small PNG: sky above, sea below."""
    side = _PICTURE_SIDE
    rows = b"".join(b"\0" + ((b"\x9c\xc8\xf0" if y < side // 2 else b"\x1c\x54\x8c") * side) for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
