"""RoomPlace and DirectPlace: where the familiar speaks. Text goes out as lines that fit, whatever is in it."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence

from familiar_connect.api import (
    DeliveryError,
    InboundMessage,
    Place,
    PlaceFeatures,
    PlatformHost,
    ReadBy,
    ReplyTarget,
    Scene,
)
from familiar_irc.rooms import People, Person, Room

PIECE_LIMIT = 2_000
"""Characters that are one piece of a reply; it goes out in as many lines as it takes."""
MAX_SHOWN = 50
"""People of a room that the familiar is told of."""

Say = Callable[[str, str, str], Awaitable[None]]
"""Sends text by a command (PRIVMSG or NOTICE) to somebody or a room, in as many lines as it takes."""


class IrcPlace(Place):
    """What rooms and direct messages have in common. IRC shows nothing again, so what went out is never tried twice."""

    features = PlaceFeatures(limit=PIECE_LIMIT, posts_answers=True, keeps_owed=True, tells_asker=True)

    def __init__(self, host: PlatformHost, channel: str, people: People, say: Say) -> None:
        self.channel = channel
        self._host = host
        self._people = people
        self._say = say

    def _target(self) -> str:
        """Whom lines go to."""
        raise NotImplementedError

    async def send(self, text: str) -> None:
        await self._say("PRIVMSG", self._target(), text)

    async def post_answer(self, text: str, *, target: ReplyTarget | None = None) -> str | None:
        if not text.strip():
            return None
        await self.send(text)
        return new_message_id()

    async def tell_asker(self, asked: InboundMessage, text: str) -> None:
        person = self._people.with_id(asked.author.user_id)
        if person is None:
            raise DeliveryError("who asked is not there any more")
        await self._say("NOTICE", person.nick, text)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._host.recent(self.channel, limit)


class RoomPlace(IrcPlace):
    """A room. What is not the familiar speaking is told to the owner, for strangers read along."""

    def __init__(self, host: PlatformHost, channel: str, people: People, say: Say, room: Room) -> None:
        super().__init__(host, channel, people, say)
        self.room = room

    def _target(self) -> str:
        if not self.room.is_joined:
            raise DeliveryError(f"we are not in {self.room.name}", retryable=True)
        return self.room.name

    async def notice(self, text: str) -> None:
        self._host.tell_owner(text)

    async def why_not_writable(self) -> str | None:
        return None if self.room.is_joined else f"not in {self.room.name}"

    async def scene(self) -> Scene:
        known = (self._people.under_nick(nick) for nick in self.room.members)
        here = [self._host.author(each.user_id, each.nick) for each in known if each is not None]
        read_by = ReadBy.everyone if self.room.is_public else ReadBy.members
        name = self.room.name.removeprefix("#")
        return self._host.scene(name, read_by=read_by, people=here[-MAX_SHOWN:], topic=self.room.topic)


class DirectPlace(IrcPlace):
    """A direct message. It goes to whoever has the nick now of the person it is for; not there, it goes to nobody."""

    def _target(self) -> str:
        return self._person().nick

    def _person(self) -> Person:
        person = self._people.with_id(self.channel)
        if person is None:
            raise DeliveryError("the person is not there", retryable=True)  # after a new connection we look for them
        return person

    async def notice(self, text: str) -> None:
        await self._say("NOTICE", self._target(), text)

    async def scene(self) -> Scene:
        person = self._people.with_id(self.channel)
        name = person.nick if person is not None else self.channel.partition("@")[0]
        return self._host.scene(name, read_by=ReadBy.people, people=[self._host.author(self.channel, name)])


def new_message_id() -> str:
    """IRC gives lines no ids, so each gets one of ours."""
    return secrets.token_hex(12)
