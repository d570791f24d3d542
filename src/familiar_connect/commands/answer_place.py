"""AnswerPlace: where the reply to one question goes: as it comes, to a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import TextIO

from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.commands.common import say, spinner
from familiar_connect.familiar import Familiar
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author
from familiar_connect.support.text import printable
from familiar_connect.support.word_wrap import WordWrap, columns_of

PIECE_LIMIT = 100_000


class AnswerPlace(Place):
    """The terminal for one reply: pieces are written to *out*, notices to the error stream.

    A window gets them broken at words, a pipe or a file as they are.
    """

    features = PlaceFeatures(limit=PIECE_LIMIT, streams=True, keeps_owed=True)

    def __init__(self, familiar: Familiar, channel_id: int, listener: Author, out: TextIO) -> None:
        self._recent = StoredMessages(familiar.history_store, familiar.id, channel_id, platform="terminal")
        self._listener = listener
        self._out = out
        self._wrap = WordWrap(partial(columns_of, out)) if out.isatty() else None
        self._waiting = ExitStack()
        """Ends the sign of life."""
        self._pieces: list[str] = []
        self.notices: list[str] = []

    @property
    def reply(self) -> str:
        """What was said."""
        return "".join(self._pieces)

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        self._waiting.enter_context(spinner("thinking", quiet=not self._out.isatty()))
        with self._waiting:
            yield

    async def send(self, text: str) -> None:
        self._waiting.close()
        self._pieces.append(text)
        shown = printable(text)
        self._write(shown if self._wrap is None else self._wrap.feed(shown))

    async def notice(self, text: str) -> None:
        self._waiting.close()
        self.notices.append(text)
        self.end()
        say(f"familiar: {text}", err=True)

    def end(self) -> None:
        """End the last line."""
        if self._wrap is not None:
            self._write(self._wrap.close())
        if self._pieces and not self._pieces[-1].endswith("\n"):
            self._pieces.append("\n")
            self._write("\n" if self._wrap is None else self._wrap.feed("\n"))

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._recent.recent(limit)

    async def scene(self) -> Scene:
        return Scene(channel=ChannelContext("terminal", ChannelKind.dm), participants=(self._listener,))
