"""TerminalPlace: the terminal as a channel."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author
from familiar_connect.platforms.terminal.markdown_stream import MarkdownFlow
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.support.text import printable

CHANNEL_ID = 1
"""The terminal is one channel; the history tells it apart by this number."""
PIECE_LIMIT = 100_000


class TerminalPlace(Place):
    """Prints pieces as they come, the familiar's name before the first."""

    features = PlaceFeatures(limit=PIECE_LIMIT, streams=True, keeps_owed=True)

    def __init__(
        self, screen: Screen, name: str, listener: Author, recent: StoredMessages, busy_with: Callable[[], str]
    ) -> None:
        self._screen = screen
        self._name = name
        self._listener = listener
        self._recent = recent
        self._busy_with = busy_with
        self._is_speaking = False
        self._has_words = False
        self._flow: MarkdownFlow | None = None
        """Renders the reply that is being said; None on a pipe."""
        self._asides: list[str] = []
        self.notices = 0

    def set_listener(self, listener: Author) -> None:
        """The same person, under another name."""
        self._listener = listener

    def set_stored(self, recent: StoredMessages) -> None:
        """Another chat with the same person."""
        self._recent = recent

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        async with self._screen.spinner(self._busy_with):
            yield

    async def send(self, text: str) -> None:
        if not self._is_speaking:
            self._is_speaking = True
            label, self._flow = self._screen.speech(self._name)
            self._screen.write(label)
        self._has_words = self._has_words or bool(text.strip())
        words = printable(text)
        self._screen.write(words if self._flow is None else self._flow.feed(words))

    async def notice(self, text: str) -> None:
        self.notices += 1
        self.end()
        self._screen.note(text, colour="warn")

    def note_aside(self, text: str) -> None:
        """Something about the program: now, or behind the reply that is being said."""
        self._asides.append(text)
        if not self._is_speaking:
            self._show_asides()

    def _show_asides(self) -> None:
        asides, self._asides = self._asides, []
        for text in asides:
            self._screen.note_beside(text)

    def end(self) -> bool:
        """Close the line of a reply, if there was one; says whether a word was said."""
        was_speaking, self._is_speaking = self._is_speaking, False
        has_words, self._has_words = self._has_words, False
        if was_speaking:
            flow, self._flow = self._flow, None
            self._screen.write(("" if flow is None else flow.close()) + "\n")
        self._show_asides()
        return has_words

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._recent.recent(limit)

    async def scene(self) -> Scene:
        return Scene(channel=ChannelContext("terminal", ChannelKind.dm), participants=(self._listener,))
