"""Tidy: strips what a model should not have written, while it streams, without asking a model.

It takes away the familiar's own name echoed before its words, time stamps copied from the history,
white space at both ends, and everything from the point where the model begins to speak for someone
else. What it has let through is never taken back, so it can stand between the model and a speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_STAMP = re.compile(r"^\s*(?:\[\d{1,2}:\d{2}\]|\(about \d+ \w+ later\))\s*")
_COLONS = (":", "：")
MAX_LABEL = 80
"""Longest line start that is looked at as a speaker's label."""


class Tidy:
    """One reply's filter: feed it pieces, print what it returns, stop when `ended`."""

    def __init__(self, own_names: Iterable[str], other_names: Iterable[str]) -> None:
        self._own = {name.casefold() for name in own_names if name}
        self._others = {name.casefold() for name in other_names if name} - self._own
        self._held = ""
        self._at_start = True
        self._fresh_line = True
        self.ended = False

    def feed(self, piece: str) -> str:
        """The part of what came so far that is surely the familiar's own words."""
        if self.ended:
            return ""
        self._held += piece
        out: list[str] = []
        while self._held and not self.ended:
            taken = self._take()
            if taken is None:
                break
            out.append(taken)
        return "".join(out)

    def close(self) -> str:
        """What was held back and turns out to be words; white space at the end is dropped."""
        if self.ended:
            return ""
        rest = self._held.rstrip()
        if self._fresh_line and self._is_label(rest, self._others):
            rest = ""
        elif self._at_start:
            rest = self._without_own_label(rest.lstrip())
        self._held, self.ended = "", True
        return rest

    def _take(self) -> str | None:
        """Some text that may go out now, or None to wait for more."""
        if self._at_start:
            return self._take_first()
        if self._fresh_line:
            return self._take_line_start()
        at = self._held.find("\n")
        if at < 0:
            words = self._held.rstrip()
            taken, self._held = words, self._held[len(words) :]
            return taken or None
        line, rest = self._held[:at], self._held[at:]
        if line:
            self._held = rest
            return line
        self._fresh_line = True
        return ""

    def _take_first(self) -> str | None:
        text = self._held.lstrip()
        stamped = _STAMP.sub("", text)
        if not stamped or (text.startswith(("[", "(")) and len(text) < 24 and stamped == text):
            return None if len(text) < MAX_LABEL else self._begin(text)
        if self._could_be_label(stamped, self._own | self._others):
            return None
        if self._is_label(stamped, self._others):
            self._finish()
            return ""
        words = self._without_own_label(stamped)
        return self._begin(words) if words else None

    def _begin(self, words: str) -> str:
        self._held = words
        self._at_start = self._fresh_line = False
        return ""

    def _take_line_start(self) -> str | None:
        """The held text begins with one or more line ends: whose line is the next one?"""
        line = self._held.lstrip("\n \t")
        if not line or self._could_be_label(line, self._others | self._own):
            return None
        if self._is_label(line, self._others):
            self._finish()
            return ""
        self._fresh_line = False
        gap = self._held[: len(self._held) - len(line)]
        self._held = self._without_own_label(line)
        return gap

    def _finish(self) -> None:
        self._held, self.ended = "", True

    @staticmethod
    def _is_label(line: str, names: set[str]) -> bool:
        head = line[:MAX_LABEL].casefold().lstrip("*_")
        return any(head.startswith(name + colon) for name in names for colon in _COLONS)

    @staticmethod
    def _could_be_label(line: str, names: set[str]) -> bool:
        """Whether more text could still turn *line* into a speaker's label."""
        head = line.casefold().lstrip("*_")
        return len(head) < MAX_LABEL and any((name + ":").startswith(head) and head != name + ":" for name in names)

    def _without_own_label(self, line: str) -> str:
        if not self._is_label(line, self._own):
            return line
        rest = line[min(line.find(colon) for colon in _COLONS if colon in line) + 1 :]
        return rest.lstrip("*_ \t")


def tidy(text: str, own_names: Iterable[str], other_names: Iterable[str]) -> str:
    """The whole of *text*, tidied at once."""
    filtered = Tidy(own_names, other_names)
    return filtered.feed(text) + filtered.close()
