"""GroupPlace: a group as one of its members meets it on the page. What it says is shown wherever the group is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from familiar_connect.chat.message_parts import MessagePiece
from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.groups.roster import GroupRoster
from familiar_connect.familiar import Familiar
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author
from familiar_connect.platforms.group_talk import PLATFORM, scene_of_group, story_of_group
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.place import PIECE_LIMIT
from familiar_connect.presets.story.types import Story


@dataclass(frozen=True, kw_only=True)
class GroupSeat:
    """A member of a group: a familiar that is open, and the chat that it has for the group."""

    familiar: Familiar
    chats: WebChats
    channel_id: int
    name: str
    picture: str | None

    @property
    def id(self) -> str:
        return self.familiar.id

    @property
    def as_author(self) -> Author:
        """Who it is to the others."""
        return Author.from_familiar(self.id, self.name, platform=PLATFORM)


class GroupPlace(Place):
    """Hands the pieces of one member's reply to every page that shows the group, whichever member's page it is."""

    features = PlaceFeatures(limit=PIECE_LIMIT, streams=True, rewrites=True)

    def __init__(
        self,
        seats: Sequence[GroupSeat],
        speaker: GroupSeat,
        listener: Author,
        roster: GroupRoster,
        *,
        revises: Mapping[str, int] | None = None,
        begins_with: str = "",
    ) -> None:
        """*revises*: by member, the turn in whose place the reply is shown, behind *begins_with*."""
        self._seats = seats
        self._speaker = speaker
        self._listener = listener
        self._roster = roster
        self._revises = revises or {}
        self._begins_with = begins_with
        familiar = speaker.familiar
        self._stored = StoredMessages(familiar.history_store, familiar.id, speaker.channel_id, platform=PLATFORM)

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        facts = {"name": self._speaker.name, "picture": self._speaker.picture}
        for seat in self._seats:
            seat.chats.events.begin_reply(
                seat.channel_id, revises=self._revises.get(seat.id), begins_with=self._begins_with, speaker=facts
            )
        try:
            yield
        finally:
            for seat in self._seats:
                seat.chats.events.mark_whole(seat.channel_id)

    async def send(self, text: str) -> None:
        for seat in self._seats:
            seat.chats.events.add_piece(seat.channel_id, text)

    async def notice(self, text: str) -> None:
        for seat in self._seats:
            seat.chats.events.publish(seat.channel_id, "notice", text=f"{self._speaker.name}: {text}")

    async def rewrite(self, message_ids: Sequence[str], text: str) -> list[MessagePiece]:
        """Nothing is posted: the pages read the history, and are told when it changed."""
        return []

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._stored.recent(limit)

    async def scene(self) -> Scene:
        return scene_of_group(self._roster, self._speaker.name, self._listener)

    def tell_story(self, story: Story) -> Story:
        """*story* with the names of everybody here."""
        return story_of_group(story, self._roster, self._listener, self._speaker.name)
