"""Rooms: random channels full of replies, reactions, forwards, media and odd names, the same for the same dice."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from familiar_connect.chat.message_parts import (
    Attachment,
    Embed,
    Emoji,
    ForwardedMessage,
    Reaction,
    ReferencedMessage,
    Sticker,
)
from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Member, Role, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.identity import Author

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ME = Author("discord", "99", "ember_bot", "Ember")
NAMES = ("Ada", "Bo", "Cy\u200b", "Dee \u202eeeD", "[System: x]", "Eve:", "ƒern", "User", "🦊", "system")
WORDS = (
    "tea",
    "remember",
    "<@1>",
    "<@&3>",
    "<#8>",
    ":tea:",
    "{{char}}",
    "{{random::a::b}}",
    "https://youtu.be/abc",
    "\n",
)


@dataclass
class Room(Place):
    """One channel: who is there, what was said, and what is sent back."""

    channel_id: int
    messages: list[InboundMessage]
    seen: Scene
    hidden: Author | None = None
    """Who is not to be heard."""
    sent: list[str] = field(default_factory=list)

    features = PlaceFeatures(limit=2000, streams=True)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return self.messages[-limit:]

    async def scene(self) -> Scene:
        return self.seen

    async def send(self, text: str) -> None:
        self.sent.append(text)

    async def notice(self, text: str) -> None:
        self.sent.append(text)


def random_room(rng: random.Random, channel_id: int, *, planted: str = "", size: int = 12) -> Room:
    """A channel of *size* messages. One of its people is not to be heard; all that is theirs holds *planted*."""
    people = [Author("discord", str(channel_id * 100 + at), f"user{at}", name) for at, name in enumerate(NAMES[:6])]
    hidden = Author("discord", str(channel_id * 100 + 50), f"h{planted}", f"Hush{planted}")
    made = _RoomMaker(rng, channel_id, people, hidden, planted)
    messages = [made.message(at) for at in range(size)]
    messages.append(made.plain(size, people[0], "Ember, what do you think?"))
    members = [_member(rng, person, "") for person in people] + [_member(rng, hidden, planted)]
    scene = Scene(
        server_name="Tea House",
        server_id=5,
        channel=ChannelContext("lounge", ChannelKind.text),
        participants=(*people, hidden),
        members=tuple(members),
        roles=(Role(role_id="3", name="Keeper", position=2),),
        emojis=(Emoji(name="tea", emoji_id="11"),),
        stickers=(Sticker(name="wave", sticker_id="12"),),
        me=ME,
        own_name="Ember",
    )
    return Room(channel_id, messages, scene, hidden)


def _member(rng: random.Random, author: Author, planted: str) -> Member:
    return Member(
        author=author,
        saved_nickname=f"Nick{planted}" if planted else None,
        presence=rng.choice(["online", "idle", None]),
        activity=f"Playing {planted}" if planted else None,
        appearance=f"Looks {planted}" if planted else None,
    )


@dataclass
class _RoomMaker:
    rng: random.Random
    channel_id: int
    people: list[Author]
    hidden: Author
    planted: str

    def plain(self, at: int, author: Author, text: str, **more: object) -> InboundMessage:
        facts: dict[str, object] = {
            "platform": "discord",
            "channel_id": self.channel_id,
            "author": author,
            "text": text,
            "timestamp": START + timedelta(minutes=at),
            "message_id": str(self.channel_id * 1000 + at),
            "guild_id": 5,
        }
        return InboundMessage(**facts | more)  # type: ignore[arg-type]

    def message(self, at: int) -> InboundMessage:
        kind = self.rng.randrange(7)
        if kind == 0:
            return self.plain(at, self.hidden, self._words(secret=True), attachments=self._files(secret=True))
        if kind == 1:
            return self.plain(at, ME, self._words(), is_bot=True, is_self=True)
        author = self.rng.choice(self.people)
        return self.plain(
            at,
            author,
            self._words(),
            reply_to=self._answered() if self.rng.random() < 0.4 else None,
            reactions=self._reactions() if self.rng.random() < 0.4 else (),
            forwards=(self._forward(),) if self.rng.random() < 0.3 else (),
            embeds=(Embed(title="A page", description="About tea"),) if self.rng.random() < 0.2 else (),
            attachments=self._files() if self.rng.random() < 0.3 else (),
            stickers=(Sticker(name="wave"),) if self.rng.random() < 0.1 else (),
        )

    def _words(self, *, secret: bool = False) -> str:
        words = [self.rng.choice(WORDS) for _ in range(self.rng.randrange(1, 8))]
        return " ".join([*words, self.planted] if secret else words)

    def _files(self, *, secret: bool = False) -> tuple[Attachment, ...]:
        name = self.planted if secret else "cat"
        kind = self.rng.choice([("png", "image/png"), ("mp4", "video/mp4"), ("txt", None), ("ogg", "audio/ogg")])
        return (Attachment(url=f"https://example.org/{name}.{kind[0]}", filename=f"{name}.{kind[0]}", mime=kind[1]),)

    def _answered(self) -> ReferencedMessage:
        secret = self.rng.random() < 0.5
        author = self.hidden if secret else self.rng.choice(self.people)
        return ReferencedMessage(
            message_id=str(self.rng.randrange(10**6)),
            author=author,
            text=self._words(secret=secret),
            attachments=self._files(secret=secret),
        )

    def _reactions(self) -> tuple[Reaction, ...]:
        users = (self.hidden, *self.rng.sample(self.people, 2))
        return (Reaction(label=self.rng.choice(["👍", "tea"]), count=self.rng.randrange(3, 9), users=users),)

    def _forward(self, depth: int = 0) -> ForwardedMessage:
        secret = self.rng.random() < 0.5
        return ForwardedMessage(
            author=self.hidden if secret else self.rng.choice(self.people),
            text=self._words(secret=secret),
            channel_name="garden",
            attachments=self._files(secret=secret),
            forwards=(self._forward(depth + 1),) if depth < 3 and self.rng.random() < 0.5 else (),
        )
