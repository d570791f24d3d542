"""WebPlace: one chat of the page as a channel."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from familiar_connect.chat.message_parts import MessagePiece
from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.command import with_command
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author
from familiar_connect.platforms.web.live import ChatEvents

PIECE_LIMIT = 100_000
CHANNEL_NAME = "terminal"
"""The chats are the terminal's, so a prompt is the same whichever door the words came through."""


class WebPlace(Place):
    """Hands pieces to the pages that show the chat."""

    features = PlaceFeatures(limit=PIECE_LIMIT, streams=True, keeps_owed=True, rewrites=True)

    def __init__(
        self,
        channel_id: int,
        listener: Author,
        recent: StoredMessages,
        events: ChatEvents,
        *,
        revises: int | None = None,
        begins_with: str = "",
    ) -> None:
        """A reply said here is shown where the turn *revises* stands, behind *begins_with*, or as a new message."""
        self._channel_id = channel_id
        self._listener = listener
        self._recent = recent
        self._events = events
        self._revises = revises
        self._begins_with = begins_with

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        self._events.begin_reply(self._channel_id, revises=self._revises, begins_with=self._begins_with)
        try:
            yield
        finally:
            self._events.mark_whole(self._channel_id)

    async def send(self, text: str) -> None:
        self._events.add_piece(self._channel_id, text)

    async def notice(self, text: str) -> None:
        self._events.publish(self._channel_id, "notice", text=with_command(text))

    async def rewrite(self, message_ids: Sequence[str], text: str) -> list[MessagePiece]:
        """Nothing is posted: the pages read the history, and are told when it changed."""
        return []

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._recent.recent(limit)

    async def scene(self) -> Scene:
        return Scene(channel=ChannelContext(CHANNEL_NAME, ChannelKind.dm), participants=(self._listener,))
