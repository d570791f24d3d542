"""TerminalPlace: the terminal as a channel.

Who sits at the terminal: one person, called by the name they gave and never by that of their account.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import UNNAMED, Author, Privacy
from familiar_connect.platforms.terminal.markdown_stream import MarkdownFlow
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.support.text import printable

if TYPE_CHECKING:
    from familiar_connect.familiar import Familiar


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


PLATFORM = "terminal"
WHO_SITS_HERE = "you"
"""Under this they are remembered, whatever their account is called."""
MOST_KNOWN = 50
"""So many people of the terminal's past are looked through."""


def person_at_terminal(name: str | None, familiar: Familiar) -> Author:
    """The one who types, called *name* or "Friend". May read the history.

    Where an earlier version knew them by their account, they stay who they were.
    """
    return find_terminal_person(name, familiar.history_store, familiar.stores.privacy, familiar.id)


def find_terminal_person(name: str | None, history: HistoryStore, privacy: Privacy, familiar_id: str) -> Author:
    """`person_at_terminal` without the rest of a familiar."""
    login = _login()
    is_known = login is not None and _is_known(login, history, privacy, familiar_id)
    return Author(PLATFORM, login if login and is_known else WHO_SITS_HERE, None, (name or "").strip() or UNNAMED)


def _is_known(login: str, history: HistoryStore, privacy: Privacy, familiar_id: str) -> bool:
    if f"{PLATFORM}:{login}" in privacy.all():
        return True
    known = history.recent_distinct_authors(familiar_id=familiar_id, channel_id=CHANNEL_ID, limit=MOST_KNOWN)
    return any((each.platform, each.user_id) == (PLATFORM, login) for each in known)


def _login() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return os.environ.get("USERNAME")
