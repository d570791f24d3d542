"""Terminal escapes: sequences that command a terminal, taken out of what a model wrote, whole or while it streams.

Colours, titles, clipboard writes and the like (CSI, OSC, DCS and single escapes, in seven or eight bits), and every
other control character but tab and line end.
"""

from __future__ import annotations

import re

MAX_HELD = 4_096
"""A sequence that has not ended after so many characters is none: its first character goes, the rest is text."""

_STRING = r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,4096}"
_SEQUENCE = re.compile(
    rf"(?:\x1b\[|\x9b)[\x30-\x3f]{{0,256}}[\x20-\x2f]{{0,16}}[\x40-\x7e]|{_STRING}(?:\x07|\x9c|\x1b\\)"
    r"|\x1b[\x20-\x2f]{1,16}[\x30-\x7e]|\x1b[\x30-\x4f\x51-\x57\x59\x5a\x5c\x60-\x7e]"
)
_BEGUN = re.compile(
    rf"(?:\x1b|(?:\x1b\[|\x9b)[\x30-\x3f]{{0,256}}[\x20-\x2f]{{0,16}}|{_STRING}\x1b?|\x1b[\x20-\x2f]{{1,16}})\Z"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INTRODUCERS = frozenset("\x1b\x90\x98\x9b\x9d\x9e\x9f\r")


def without_escapes(text: str) -> str:
    """*text* without anything that commands a terminal; its line ends plain."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _CONTROLS.sub("", _SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


class EscapeFilter:
    """`without_escapes` for text that comes in pieces: what may be the beginning of a sequence waits for its end."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        text = self._held + piece
        cut = self._find_begun(text)
        self._held = text[cut:]
        return without_escapes(text[:cut])

    def close(self) -> str:
        """What was held back and is text after all."""
        rest, self._held = self._held, ""
        return without_escapes(rest)

    @staticmethod
    def _find_begun(text: str) -> int:
        """Where a sequence begins that has not ended yet; the end where none does."""
        if _INTRODUCERS.isdisjoint(text):
            return len(text)
        plain = _SEQUENCE.sub(lambda found: "\0" * len(found[0]), text)
        begun = _BEGUN.search(plain, max(0, len(plain) - MAX_HELD))
        if begun is not None:
            return begun.start()
        return len(text) - 1 if text.endswith("\r") else len(text)
