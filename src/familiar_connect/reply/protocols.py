"""Place: a channel as we meet it. Its delivering half is `Delivery`, its seeing half `Surroundings`."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from familiar_connect.chat.message_parts import MessagePiece
from familiar_connect.chat.scene import Surroundings
from familiar_connect.chat.types import InboundMessage, ListedUser
from familiar_connect.conversation.types import Exchange
from familiar_connect.presets.story.types import Story


@runtime_checkable
class Delivery(Protocol):
    """A way to answer."""

    streams: bool
    """Wants pieces as they come, rather than the whole text."""
    limit: int
    """The longest piece the platform takes, in characters."""

    def thinking(self) -> AbstractAsyncContextManager[None]: ...
    async def send(self, text: str) -> None:
        """Send one message. What may arrive on another try, and never twice, is a retryable `DeliveryError`."""

    async def notice(self, text: str) -> None:
        """Tell people something that is not the familiar speaking."""


@runtime_checkable
class TellsStory(Protocol):
    """A place that knows more of its chat than a channel's settings do."""

    def tell_story(self, story: Story) -> Story:
        """*story* with what the place knows."""


@runtime_checkable
class Speaks(Protocol):
    """A place where a reply is heard rather than read."""

    async def speak(self, pieces: AsyncIterable[str], on_heard: Callable[[str], None]) -> None:
        """Speak a reply while it is written, and tell its words as they are heard. Cancelled, it is silent."""


@runtime_checkable
class FollowsReplies(Protocol):
    """A place that wants to know when a reply is being made."""

    def follow_reply(self, exchange: Exchange) -> AbstractContextManager[None]:
        """Open from before the prompt is put together until the reply is out and recorded."""


@runtime_checkable
class Editable(Protocol):
    """A place whose messages can be changed after they were sent, so that a reply may grow in one."""

    edit_interval_s: float
    """Shortest time between two changes that the platform likes."""

    async def post(self, text: str) -> object:
        """As `send`, and a handle on the message."""

    async def edit(self, posted: object, text: str) -> None: ...


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


@runtime_checkable
class WritesMarks(Protocol):
    """A place with a spelling of its own for mentions and emojis."""

    def text_marks(self, users: Sequence[ListedUser]) -> TextMarks:
        """The spelling for one reply, in which *users* may be mentioned."""


@runtime_checkable
class PostsOnce(Delivery, Editable, Protocol):
    """A place that posts one thing once however often it is tried, and shows what was posted before."""

    async def post_once(self, text: str, nonce: str, *, target: ReplyTarget | None = None) -> PostedMessage:
        """Send one message, unless one with that nonce arrived shortly before; fails as `send` does.

        Where a reader could not tell what it answers, it is shown as the answer to *target*.
        """

    async def own_posts(self, after: str) -> Sequence[PostedMessage]:
        """What we posted after the message with that id, oldest first; `DeliveryError` where it cannot be read."""


@runtime_checkable
class KeepsOwed(Protocol):
    """A place whose questions are written down until each is answered, so that the next start knows what is open."""

    keeps_owed: bool


@runtime_checkable
class TellsAsker(Protocol):
    """A place where somebody who asked can be told why there is no answer, or not all of one."""

    async def tell_asker(self, asked: InboundMessage, text: str) -> None:
        """Say *text* to whoever said *asked*, which is not the familiar speaking; fails as `send` does."""


@runtime_checkable
class PostsAnswers(Delivery, Protocol):
    """A place that shows which message is answered and tells the id of what it posted, and no more than that.

    It cannot be asked what it shows, so a piece that may have arrived is not posted again.
    """

    async def post_answer(self, text: str, *, target: ReplyTarget | None = None) -> str | None:
        """As `send`; the id of the message, None where nothing was worth sending.

        Where a reader could not tell what it answers, it is shown as the answer to *target*.
        """


@runtime_checkable
class RewritesPosts(Protocol):
    """A place in which what we posted can be made to read otherwise, or taken away."""

    async def rewrite(self, message_ids: Sequence[str], text: str) -> list[MessagePiece]:
        """Let messages of ours read *text*, or with none be gone; those that stand there now."""


@runtime_checkable
class TakesPlan(Protocol):
    """A place that wants to know every piece of a reply before the first is sent."""

    async def plan(self, pieces: Sequence[str]) -> None: ...


@runtime_checkable
class ChecksWritable(Protocol):
    """A place that may be closed to us."""

    async def why_not_writable(self) -> str | None:
        """Why nothing can be sent here now, in a few words; None: it can."""


@runtime_checkable
class SendsStickers(Protocol):
    """A place that takes stickers of its own."""

    async def send_sticker(self, name: str) -> None:
        """Send the place's sticker of that name; `DeliveryError` where it has none or it did not arrive."""


@runtime_checkable
class SpeaksAs(Protocol):
    """A place in which further personas of the familiar are seen as themselves."""

    def speak_as(self, persona: str) -> Place:
        """The same place, where what is posted is *persona*'s."""


@runtime_checkable
class Place(Delivery, Surroundings, Protocol):
    """A channel as we meet it."""
