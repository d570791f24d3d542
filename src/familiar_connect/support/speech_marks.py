"""find_speech: where speech in quotation marks begins and ends in a parsed line of Markdown.

Speech stays within what encloses it: a quotation that begins in emphasis ends with it at the latest, so that tags put
around it always nest. One that is not closed runs to the end of its paragraph, as a paragraph of a longer speech does,
and as one does that is still being written. Code holds no speech.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

CLOSERS = {
    '"': '"',
    "＂": "＂",
    "“": "”",
    "”": "”",
    "„": '“”"',
    "«": "»",
    "»": "«",
    "「": "」",
    "『": "』",
}
"""Mark that begins speech → those that end it."""
_BOTH_WAYS = frozenset('"＂”»')
"""Marks that end speech as well, so that only one at the beginning of a word begins any."""
_CJK_FROM = 0x2E80
"""Characters from here on are written without spaces between words."""


class InlineToken(Protocol):
    """What is read of a token of the parser."""

    @property
    def type(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def nesting(self) -> int:
        """1 where an element begins, -1 where one ends."""


@dataclass(frozen=True)
class SpeechMark:
    """A place before a token, or within its text, where speech begins or ends."""

    token: int
    offset: int
    begins: bool


class _SpeechFinder:
    def __init__(self) -> None:
        self.found: list[SpeechMark] = []
        self._open: list[str] = [""]
        """For each element around the place, the mark whose speech is open in it; empty: none is."""
        self._before = ""

    def enter(self) -> None:
        self._open.append("")
        self._before = ""

    def leave(self, token: int) -> None:
        if self._open.pop():
            self.found.append(SpeechMark(token, 0, begins=False))
        self._open = self._open or [""]

    def pass_over(self, before: str) -> None:
        """Something that is no text; *before* is what the next text seems to stand behind."""
        self._before = before

    def read(self, token: int, text: str, *, is_last: bool) -> None:
        for offset, char in enumerate(text):
            after = text[offset + 1 : offset + 2] or ("" if is_last else "x")
            self._read_char(token, offset, char, after)
            self._before = char

    def _read_char(self, token: int, offset: int, char: str, after: str) -> None:
        opened = self._open[-1]
        if opened and char in CLOSERS[opened]:
            is_next_line = char == opened and self._before == "\n" and bool(after.strip())
            self.found.append(SpeechMark(token, offset if is_next_line else offset + 1, begins=False))
            if is_next_line:
                self.found.append(SpeechMark(token, offset, begins=True))
            else:
                self._open[-1] = ""
        elif not any(self._open) and self._may_begin(char, after):
            self.found.append(SpeechMark(token, offset, begins=True))
            self._open[-1] = char

    def _may_begin(self, char: str, after: str) -> bool:
        if char not in CLOSERS:
            return False
        before = self._before[-1:]
        is_in_word = before.isalnum() and ord(before) < _CJK_FROM
        return bool(after) if char not in _BOTH_WAYS else bool(after.strip()) and not is_in_word


def find_speech(tokens: Sequence[InlineToken]) -> list[SpeechMark]:
    """Where speech begins and ends in the children of an inline token, in order; every beginning has its end."""
    finder = _SpeechFinder()
    for index, token in enumerate(tokens):
        if token.nesting > 0:
            finder.enter()
        elif token.nesting < 0:
            finder.leave(index)
        elif token.type == "text":
            is_last = index == len(tokens) - 1 or tokens[index + 1].nesting < 0
            finder.read(index, token.content, is_last=is_last)
        else:
            finder.pass_over("\n" if token.type.endswith("break") else "x")
    finder.leave(len(tokens))
    return finder.found
