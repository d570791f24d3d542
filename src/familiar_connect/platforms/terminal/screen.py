"""Screen: what the terminal shows. Colours and a spinner on a real terminal, plain text elsewhere.

Without colours the spinner stays; on a `dumb` terminal, whose lines cannot be drawn over, a long wait is told once.

Words from outside are data here too: control characters that could move the cursor, recolour the
screen or turn the line around are taken out before anything is printed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TextIO

from familiar_connect.config.command import with_command
from familiar_connect.platforms.terminal.markdown_stream import MarkdownFlow
from familiar_connect.support.text import printable
from familiar_connect.support.word_wrap import (
    ENDLESS,
    columns_of,
    display_width,
    is_dumb_terminal,
    wants_no_colour,
    wrap_words,
)

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAME_S = 0.1
THINKING = "thinking…"
"""What a familiar usually does before it speaks."""
_LONG_S = 5
"""From here on the spinner says how long it has been."""
_NEWS_S = 0.5
_COLOURS = {"name": "\x1b[1;36m", "you": "\x1b[1;32m", "dim": "\x1b[2m", "warn": "\x1b[33m"}
_RESET = "\x1b[0m"
_CLEAR_LINE = "\r\x1b[2K"


class Screen:
    """Two streams: *out* for the conversation, *aside* for what is said about it."""

    def __init__(self, out: TextIO, aside: TextIO, *, plain: bool) -> None:
        self._out = out
        self._aside = aside
        self.plain = plain
        self._is_watched = not plain and out.isatty()
        self._can_redraw = self._is_watched and not is_dumb_terminal()
        self.coloured = self._is_watched and not wants_no_colour()
        self._spinning: asyncio.Task[None] | None = None
        self._write_above: Callable[[str], None] | None = None
        """Where a line is being typed: what puts text above it."""

    def width(self) -> int:
        """Columns of the terminal; endless where there is none."""
        return ENDLESS if self.plain else columns_of(self._out)

    def paint(self, text: str, colour: str) -> str:
        return f"{_COLOURS[colour]}{text}{_RESET}" if self.coloured else text

    @contextmanager
    def typing(self, write_above: Callable[[str], None]) -> Iterator[None]:
        """While somebody types a line, let *write_above* put whatever is said above it."""
        self._write_above = write_above
        try:
            yield
        finally:
            self._write_above = None

    def _put(self, stream: TextIO, text: str) -> None:
        if self._write_above is not None:
            self._write_above(text)
            return
        stream.write(text)
        stream.flush()

    def write_now(self, text: str) -> None:
        """*text* as it is, whoever types: for what knows where it goes."""
        self._out.write(text)
        self._out.flush()

    def write(self, text: str) -> None:
        """Part of the conversation, as it is."""
        self.clear_spinner()
        self._put(self._out, text)

    def line(self, text: str = "") -> None:
        """An answer of the program's, broken at words."""
        self.write(self._fit(printable(text)) + "\n")

    def _fit(self, text: str) -> str:
        width = self.width()
        return text if width == ENDLESS else wrap_words(text, width)

    def speech(self, label: str) -> tuple[str, MarkdownFlow | None]:
        """How somebody's words begin, and what renders them; None where they go out as they are."""
        if self.plain:
            return "", None
        shown = f"{printable(label)}: "
        return self.paint(shown, "name"), MarkdownFlow(self.width, display_width(shown), styled=self.coloured)

    def note(self, text: str, *, colour: str = "dim") -> None:
        """Something said about the conversation; kept out of a pipe."""
        self.clear_spinner()
        self._write_note(text, colour)

    def note_beside(self, text: str) -> None:
        """The same while something is waited for, which goes on being shown."""
        if self._spinning is not None and self._can_redraw:
            self._put(self._out, _CLEAR_LINE)
        self._write_note(text)

    def _write_note(self, text: str, colour: str = "dim") -> None:
        stream = self._aside if self.plain else self._out
        self._put(stream, self.paint(self._fit(printable(with_command(text))), colour) + "\n")

    @asynccontextmanager
    async def spinner(self, words: Callable[[], str]) -> AsyncIterator[None]:
        """A sign of life until the first word is written: a moving line, or where lines cannot move a note of news."""
        show = self._spin if self._can_redraw else self._note_news
        self._spinning = asyncio.get_running_loop().create_task(show(words), name="spinner")
        try:
            yield
        finally:
            self.clear_spinner()

    async def _spin(self, words: Callable[[], str]) -> None:
        frame = 0
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                waited_s = int(frame * _FRAME_S)
                seconds = f" {waited_s} s" if waited_s >= _LONG_S else ""
                line = f"{_FRAMES[frame % len(_FRAMES)]} {words()}{seconds}"
                self._out.write(f"{_CLEAR_LINE}{self.paint(line[: max(1, self.width() - 1)], 'dim')}")
                self._out.flush()
                frame += 1
                await asyncio.sleep(_FRAME_S)

    async def _note_news(self, words: Callable[[], str]) -> None:
        """Each new state once, and where somebody watches, once that it takes long; thinking alone is no news."""
        shown, waited_s = words(), 0.0
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(_NEWS_S)
                waited_s += _NEWS_S
                takes_long = self._is_watched and waited_s == _LONG_S
                if (now := words()) not in (shown, THINKING) or takes_long:
                    shown = now
                    self._write_note(now)

    def clear_spinner(self) -> None:
        """Take the spinner away."""
        if self._spinning is not None:
            self._spinning.cancel()
            self._spinning = None
            if self._can_redraw:
                self._out.write(_CLEAR_LINE)
                self._out.flush()
