"""WordWrap: text broken at words, whole or as it streams, for a terminal that would break it anywhere."""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable
from typing import TextIO

ENDLESS = sys.maxsize
"""Columns of what is no window: a file or a pipe."""
LONG_WORD = 20
"""Where so much room is left, a word is shown before it is whole: it will hardly reach the edge."""

_PARTS = re.compile(r"\n|[^\S\n]+|\S+")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_ITEM_MARK = re.compile(r"[•*+>-]|\d{1,3}[.)]")
_COMMAND = re.compile(r"`[^`\n]+`")
_WHOLE = re.compile(r"`[^`\n]+`|\S+")
"""What stands on one line: a word, or a command."""
SMALLER_INDENTS = (2,)
NO_BREAK = "\ue000"
"""Stands for a space at which a line is not broken."""
_NO_WIDTH = frozenset({"Mn", "Me", "Cf"})


class WordWrap:
    """One text being written. Feed it pieces; near the edge a word is held back until it is whole.

    A line that is broken goes on below its own beginning: below the words of a list item, not below its mark.
    Styles (SGR sequences) take no room.
    """

    def __init__(self, width: Callable[[], int], column: int = 0) -> None:
        self._width = width
        self._column = column
        self._word = ""
        self._space = ""
        self._open = False
        """The last word shown may go on in the next piece."""
        self._hanging = 0
        """Where a broken line goes on."""
        self._is_at_start = column == 0
        self._first = ""
        """The first word of the line, as far as it is written: it may be the mark of a list item."""

    def feed(self, text: str) -> str:
        """What can be written now."""
        parts = _PARTS.findall(self._word + text)
        self._word = parts.pop() if parts and not parts[-1].isspace() else ""
        out = "".join(map(self._place, parts))
        if self._word and self._column + display_width(self._space + self._word) + LONG_WORD <= self._width():
            out += self._place(self._word)
            self._word, self._open = "", True
        return out

    def feed_verbatim(self, text: str) -> str:
        """*text* as it is, such as a line of code, after what was held back."""
        out = self.close() + self._space + text
        self._space = ""
        self._column = display_width(out.rpartition("\n")[2])
        if text.endswith("\n"):
            self._start_line()
        return out

    def close(self) -> str:
        """The last word."""
        word, self._word = self._word, ""
        return self._place(word) if word else ""

    def _start_line(self) -> None:
        self._column, self._space, self._first, self._hanging, self._is_at_start = 0, "", "", 0, True

    def _place(self, part: str) -> str:
        goes_on, self._open = self._open, False
        if part == "\n":
            self._start_line()
            return part
        if part.isspace():
            self._hang_below_item()
            self._space += part.replace("\t", "    ")
            return ""
        size, space = display_width(part), self._space
        self._space = ""
        is_over = self._column + display_width(space) + size > self._width()
        fits_below = self._hanging + size <= self._width()
        if is_over and self._column > self._hanging and not goes_on and (size <= self._width() or NO_BREAK in part):
            indent = self._hanging if fits_below else 0
            self._column = indent + size
            return f"\n{' ' * indent}{part}"
        if self._is_at_start:
            self._hanging = min(display_width(space), self._width() // 2)
        if self._is_at_start or (goes_on and self._first):
            self._first += part
        self._is_at_start = False
        self._column += display_width(space) + size
        return space + part

    def _hang_below_item(self) -> None:
        """Let the words of a list item go on below its first one."""
        first, self._first = self._first, ""
        if _ITEM_MARK.fullmatch(_STYLE.sub("", first)):
            self._hanging = min(self._column + 1, self._width() // 2)


def wrap_words(text: str, width: int) -> str:
    """*text* broken at words to lines of *width* columns.

    What stands between backticks is a command to be pasted: it is never broken, and stands on a line of its own where
    it is too long for any.
    """
    wrap = WordWrap(lambda: width)
    glued = text if NO_BREAK in text else _COMMAND.sub(lambda found: found[0].replace(" ", NO_BREAK), text)
    return (wrap.feed(glued) + wrap.close()).replace(NO_BREAK, " " if glued is not text else NO_BREAK)


def wrap_below(head: str, text: str, width: int) -> str:
    """*head* with *text* behind it, in lines of *width* columns that go on below the beginning of *text*.

    Where that leaves too little room for its longest word, or its longest command, they go on below the head.
    """
    words = longest_word(text)
    column = display_width(head)
    indent = next((each for each in (column, *SMALLER_INDENTS) if each + words <= width and each <= width // 3), 0)
    if indent != column:
        start = head[:indent] if display_width(head[:indent]) == indent else ""
        rest = head[len(start) :] + text
        return start + f"\n{' ' * indent}".join(wrap_words(rest, width - indent).split("\n"))
    return head + f"\n{' ' * indent}".join(wrap_words(text, width - indent).split("\n"))


def longest_word(text: str) -> int:
    """Columns of the longest word of *text*, or of the longest command in it."""
    return max((display_width(part) for part in _WHOLE.findall(text)), default=0)


def wrap_for(stream: TextIO, text: str) -> str:
    """*text* broken at words for the terminal that *stream* is; as it is for a file or a pipe."""
    return wrap_words(text, columns_of(stream)) if stream.isatty() else text


def columns_of(stream: TextIO) -> int:
    """Columns of the terminal that *stream* is; endless for a file or a pipe."""
    if not stream.isatty():
        return ENDLESS
    try:
        shown = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):  # a stream without a descriptor
        shown = 0
    return terminal_width() if os.environ.get("COLUMNS") or not shown else shown


def terminal_width() -> int:
    """Columns of the terminal."""
    return max(1, shutil.get_terminal_size().columns)


def pad(text: str, width: int) -> str:
    """*text* with spaces behind it up to *width* columns."""
    return text + " " * (width - display_width(text))


def clip(text: str, width: int) -> str:
    """*text*, its end left out where it takes more than *width* columns."""
    if display_width(text) <= width:
        return text
    while text and display_width(text) >= width:
        text = text[:-1]
    return f"{text.rstrip()}…"


def wants_no_colour() -> bool:
    """Whether the person, or the terminal, asked for text without colours."""
    return bool(os.environ.get("NO_COLOR")) or is_dumb_terminal()


def is_dumb_terminal() -> bool:
    """Whether the terminal says of itself that it only takes lines: no cursor, no colours."""
    return os.environ.get("TERM") == "dumb"


def display_width(text: str) -> int:
    """How many columns *text* takes: wide letters two, marks and styles none."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    return sum(map(_char_width, _STYLE.sub("", text)))


def _char_width(char: str) -> int:
    if unicodedata.category(char) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
