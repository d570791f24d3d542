"""Place: a channel as we meet it, the one class that a platform's channels inherit.

`features` says in plain words what a place can do, and whoever makes or sends a reply looks at nothing else. What a
place need not be able to do has a default here: a harmless nothing where that is the honest meaning, else
`NotSupported`. Its seeing half is `Surroundings`, which a chat in a file has too.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from familiar_connect.chat.message_parts import MessagePiece
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage, ListedUser
from familiar_connect.conversation.types import Exchange
from familiar_connect.errors import NotSupported
from familiar_connect.identity import Author
from familiar_connect.presets.story.types import Story

if TYPE_CHECKING:
    from familiar_connect.tools.types import Tool

logger = logging.getLogger(__name__)

SCENE_LIMIT_S = 2.0


@dataclass(frozen=True, kw_only=True)
class PlaceFeatures:
    """What a place can do. Each one that is on has methods of `Place` behind it, which its docstring names."""

    limit: int
    """The longest piece the platform takes, in characters."""
    streams: bool = False
    """Wants the pieces of a reply as they come, by `send`, rather than whole messages."""
    edits: bool = False
    """What was posted can be changed, so that a reply may grow in one message: `post`, `edit`."""
    edit_interval_s: float = 0.0
    """Shortest time between two changes that the platform likes."""
    posts_once: bool = False
    """Posts one thing once however often it is tried, and shows what was posted before: `post_once`, `own_posts`."""
    posts_answers: bool = False
    """Shows which message is answered and tells the id of what it posted, and no more than that: `post_answer`.

    It cannot be asked what it shows, so a piece that may have arrived is not posted again.
    """
    keeps_owed: bool = False
    """Questions are written down until each is answered, so that the next start knows what is open.

    Where a place posts once they are in any case.
    """
    tells_asker: bool = False
    """Somebody who asked can be told why there is no answer, or not all of one: `tell_asker`."""
    rewrites: bool = False
    """What we posted can be made to read otherwise, or taken away: `rewrite`."""
    posts_for_people: bool = False
    """Posts what somebody lets us say for them, under their own name and picture: `post_for`."""
    stickers: bool = False
    """Takes stickers of its own: `send_sticker`."""
    speaks: bool = False
    """A reply is heard rather than read: `speak`."""

    def __post_init__(self) -> None:
        if self.streams and not self.edits and (self.posts_once or self.posts_answers):
            raise ValueError("a place that tells what it posted, and cannot edit it, does not stream")
        if self.edits and self.posts_answers:
            raise ValueError("a place that posts answers gives no hold on them: it does not edit")


@dataclass(frozen=True, kw_only=True)
class PostedMessage:
    """A message of ours as it stands on the platform."""

    message_id: str
    text: str
    nonce: str | None = None
    """Under which it was posted, where the platform still tells."""
    handle: object = None
    """What `edit` takes."""


@dataclass(frozen=True, kw_only=True)
class ReplyTarget:
    """The message that a reply answers."""

    message_id: str
    newest_id: str
    """The newest message it answers: what stands after that one was said meanwhile."""
    is_aimed: bool = False
    """Chosen among several: the reply shows which one it answers, whatever was said since."""


class TextMarks(Protocol):
    """Mentions and emojis in the platform's spelling and in the model's."""

    def encode(self, text: str) -> str:
        """What the model wrote, as the platform takes it."""

    def decode(self, text: str) -> str:
        """What the platform shows, as the model wrote it."""

    def mention(self, user_id: str) -> str:
        """What pings somebody, as the platform takes it; empty where nothing does."""


class Surroundings(ABC):
    """Something that can be looked around in: a channel, or a chat in a file."""

    @abstractmethod
    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        """The newest messages, oldest first."""

    @abstractmethod
    async def scene(self) -> Scene:
        """Where this is and who is here now."""

    async def message(self, message_id: str) -> InboundMessage | None:
        """One message of this channel; None when it is gone, or cannot be fetched here."""
        return None

    async def reactors(self, message_id: str, label: str, limit: int) -> Sequence[Author] | None:
        """Who reacted to a message with one emoji, in the platform's order; None where it does not tell."""
        return None

    def tell_story(self, story: Story) -> Story:
        """*story* with what is known here of the chat beyond a channel's settings."""
        return story


class Place(Surroundings):
    """A channel as we meet it: it can be looked around in and written to."""

    @property
    @abstractmethod
    def features(self) -> PlaceFeatures:
        """What can be done here; most places say it once, as an attribute of the class."""

    @abstractmethod
    async def send(self, text: str) -> None:
        """Send one message. What may arrive on another try, and never twice, is a retryable `DeliveryError`."""

    @abstractmethod
    async def notice(self, text: str) -> None:
        """Tell people something that is not the familiar speaking."""

    # Around a reply

    def thinking(self) -> AbstractAsyncContextManager[None]:
        """Open while a reply is being written, where people can see that it is."""
        return nullcontext()

    def follow_reply(self, exchange: Exchange) -> AbstractContextManager[None]:
        """Open from before the prompt is put together until the reply is out and recorded."""
        return nullcontext()

    async def why_not_writable(self) -> str | None:
        """Why nothing can be sent here now, in a few words; None: it can."""
        return None

    def speak_as(self, persona: str) -> Place:
        """The same place, where what is posted is seen as *persona*'s; the familiar's own where none is."""
        return self

    def text_marks(self, users: Sequence[ListedUser]) -> TextMarks | None:
        """The platform's spelling for one reply, in which *users* may be mentioned; None: it has none of its own."""
        return None

    async def plan(self, pieces: Sequence[str]) -> None:
        """Learn every piece of a reply before the first is sent."""
        return

    # What only some places can do; `features` says which

    async def post(self, text: str) -> object:
        """As `send`, and a handle on the message."""
        raise NotSupported("what is posted in this place cannot be changed later")

    async def edit(self, posted: object, text: str) -> None:
        """Let the message with the handle *posted* read *text*."""
        raise NotSupported("what was posted in this place cannot be changed")

    async def post_once(self, text: str, nonce: str, *, target: ReplyTarget | None = None) -> PostedMessage:
        """Send one message, unless one with that nonce arrived shortly before; fails as `send` does.

        Where a reader could not tell what it answers, it is shown as the answer to *target*.
        """
        raise NotSupported("this place cannot tell whether it posted a thing before")

    async def own_posts(self, after: str) -> Sequence[PostedMessage]:
        """What we posted after the message with that id, oldest first; `DeliveryError` where it cannot be read."""
        raise NotSupported("this place does not show what was posted in it")

    async def post_answer(self, text: str, *, target: ReplyTarget | None = None) -> str | None:
        """As `send`; the id of the message, None where nothing was worth sending.

        Where a reader could not tell what it answers, it is shown as the answer to *target*.
        """
        raise NotSupported("this place does not show which message is answered")

    async def tell_asker(self, asked: InboundMessage, text: str) -> None:
        """Say *text* to whoever said *asked*, which is not the familiar speaking; fails as `send` does."""
        raise NotSupported("in this place nobody can be told anything by themselves")

    async def rewrite(self, message_ids: Sequence[str], text: str) -> list[MessagePiece]:
        """Let messages of ours read *text*, or with none be gone; those that stand there now."""
        raise NotSupported("what was posted in this place cannot be made to read otherwise")

    async def post_for(self, person: Author, text: str) -> str:
        """Post *text* under the name and picture of *person*, who agreed to it; the id of the message.

        `DeliveryError` where they may not write here themselves, or it did not arrive.
        """
        raise NotSupported("in this place nothing is posted under someone else's name")

    async def send_sticker(self, name: str) -> None:
        """Send the place's sticker of that name; `DeliveryError` where it has none or it did not arrive."""
        raise NotSupported("this place takes no stickers")

    def tools(self) -> Sequence[Tool]:
        """What the place itself can do for a reply in it, such as the tools of a program that asked for one."""
        return ()

    async def speak(self, pieces: AsyncIterable[str], on_heard: Callable[[str], None]) -> None:
        """Speak a reply while it is written, and tell its words as they are heard. Cancelled, it is silent."""
        raise NotSupported("nothing can be heard in this place")


async def fetch_scene(place: Surroundings, *, limit_s: float = SCENE_LIMIT_S) -> Scene | None:
    """The scene as the platform shows it now; None when it cannot be had in time."""
    try:
        async with asyncio.timeout(limit_s):
            return await place.scene()
    except Exception as error:  # isolation: a turn goes on without knowing where it is
        logger.warning("the scene could not be looked at", extra={"error": type(error).__name__})
        return None
