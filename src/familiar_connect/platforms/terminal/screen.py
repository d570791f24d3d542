"""Screen: what the terminal shows. Colours and a spinner on a real terminal, plain text elsewhere.

Words from outside are data here too: control characters that could move the cursor, recolour the
screen or turn the line around are taken out before anything is printed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TextIO

from familiar_connect.platforms.terminal.wrap import WordWrap
from familiar_connect.support.text import printable

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


def _wants_no_colour() -> bool:
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


class Screen:
    """Two streams: *out* for the conversation, *aside* for what is said about it."""

    def __init__(self, out: TextIO, aside: TextIO, *, plain: bool) -> None:
        self._out = out
        self._aside = aside
        self.plain = plain
        self.coloured = not plain and out.isatty() and not _wants_no_colour()
        self._spinning: asyncio.Task[None] | None = None

    def width(self) -> int:
        """Columns of the terminal; endless where there is none."""
        if self.plain or not self._out.isatty():
            return sys.maxsize
        return shutil.get_terminal_size().columns

    def paint(self, text: str, colour: str) -> str:
        return f"{_COLOURS[colour]}{text}{_RESET}" if self.coloured else text

    def write(self, text: str) -> None:
        """Part of the conversation, as it is."""
        self.clear_spinner()
        self._out.write(text)
        self._out.flush()

    def line(self, text: str = "") -> None:
        self.write(text + "\n")

    def note(self, text: str, *, colour: str = "dim") -> None:
        """Something said about the conversation; kept out of a pipe."""
        self.clear_spinner()
        self._write_note(text, colour)

    def _write_note(self, text: str, colour: str = "dim") -> None:
        stream = self._aside if self.plain else self._out
        wrap = WordWrap(self.width)
        stream.write(self.paint(wrap.feed(printable(text)) + wrap.close(), colour) + "\n")
        stream.flush()

    @asynccontextmanager
    async def spinner(self, words: Callable[[], str]) -> AsyncIterator[None]:
        """A sign of life until the first word is written: a moving line, or where lines cannot move a note of news."""
        show = self._spin if self.coloured else self._note_news
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
        """Each new state once; thinking is no news."""
        shown = words()
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(_NEWS_S)
                if (now := words()) not in (shown, THINKING):
                    shown = now
                    self._write_note(now)

    def clear_spinner(self) -> None:
        """Take the spinner away."""
        if self._spinning is not None:
            self._spinning.cancel()
            self._spinning = None
            if self.coloured:
                self._out.write(_CLEAR_LINE)
                self._out.flush()
