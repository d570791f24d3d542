"""ControlDoor and ControlPlace: where a control of a chat is used, and where a reply goes that is no turn by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.identity import Author
from familiar_connect.presets.story.types import Story


@dataclass(frozen=True, kw_only=True)
class ControlDoor:
    """Where a control is used, and by whom."""

    channel_id: int
    speaker: Author
    place: Place
    guild_id: int | None = None

    async def is_dm(self) -> bool:
        """Whether it is used where only the people of a conversation read."""
        return self.guild_id is None and not (await self.place.scene()).is_room


class ControlPlace(Place):
    """A place for a reply that is no turn of its own: it shows the chat without *without*, and keeps what is sent.

    Where the place streams, what is sent is shown there as it comes; elsewhere the whole of it is shown afterwards.
    """

    def __init__(self, door: ControlDoor, *, without: Collection[int] = (), is_draft: bool = False) -> None:
        self._inner = door.place
        self._user = door.speaker.label
        self._without = frozenset(without)
        self.is_shown = door.place.features.streams and not is_draft
        self._pieces: list[str] = []
        self.notices: list[str] = []

    @property
    def features(self) -> PlaceFeatures:
        return PlaceFeatures(limit=self._inner.features.limit, streams=True)

    @property
    def text(self) -> str:
        return "".join(self._pieces).strip()

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        async with self._inner.thinking():
            yield

    async def why_not_writable(self) -> str | None:
        return await self._inner.why_not_writable()

    async def send(self, text: str) -> None:
        if self.is_shown:
            await self._inner.send(text)
        self._pieces.append(text)

    async def notice(self, text: str) -> None:
        self.notices.append(text)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        found = await self._inner.recent(limit + len(self._without))
        return [message for message in found if message.history_id not in self._without]

    async def scene(self) -> Scene:
        return await self._inner.scene()

    def tell_story(self, story: Story) -> Story:
        """Who asked is the user of the story, though the last words are the familiar's own."""
        return story if story.user else replace(story, user=self._user)
