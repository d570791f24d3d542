"""WordWrap: streamed text broken at words, for a terminal that would break it anywhere."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_PARTS = re.compile(r"\n|[^\S\n]+|\S+")


LONG_WORD = 20
"""Where so much room is left, a word is shown before it is whole: it will hardly reach the edge."""


class WordWrap:
    """One reply being written. Feed it pieces; near the edge a word is held back until it is whole."""

    def __init__(self, width: Callable[[], int], column: int = 0) -> None:
        self._width = width
        self._column = column
        self._word = ""
        self._space = ""
        self._open = False
        """The last word shown may go on in the next piece."""

    def feed(self, text: str) -> str:
        """What can be written now."""
        parts = _PARTS.findall(self._word + text)
        self._word = parts.pop() if parts and not parts[-1].isspace() else ""
        out = "".join(map(self._place, parts))
        if self._word and self._column + display_width(self._space + self._word) + LONG_WORD <= self._width():
            out += self._place(self._word)
            self._word, self._open = "", True
        return out

    def close(self) -> str:
        """The last word."""
        word, self._word = self._word, ""
        return self._place(word) if word else ""

    def _place(self, part: str) -> str:
        goes_on, self._open = self._open, False
        if part == "\n":
            self._column, self._space = 0, ""
            return part
        if part.isspace():
            self._space += part
            return ""
        size, space = display_width(part), self._space
        self._space = ""
        is_over = self._column + display_width(space) + size > self._width()
        if is_over and self._column and size <= self._width() and not goes_on:
            self._column = size
            return f"\n{part}"
        self._column += display_width(space) + size
        return space + part


def display_width(text: str) -> int:
    """How many columns *text* takes: wide letters two, marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
