"""Names in what people write: found as whole words, in any script, however they are dressed up.

Letter case, width, invisible characters and writing direction make no difference. Where a script puts no
spaces between words, a name ends where its own kind of letter does. Searching takes time in proportion
to the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum

from familiar_connect.support.text import fold_name

MAX_SEARCHED_CHARS = 8_000
"""Twice the longest message a chat platform takes; a name further in is nobody's greeting."""
MAX_NAME_CHARS = 200

_NOT_SAID = re.compile(r"<a?:\w{1,64}:\d{1,25}>|https?://\S+")
"""An emoji or an address may hold a name without anybody being called by it."""
_WORD_CATEGORIES = ("L", "N", "M")


class _Kind(Enum):
    """How a letter's script parts its words."""

    spaced = "spaced"
    ideograph = "ideograph"
    katakana = "katakana"
    hiragana = "hiragana"
    hangul = "hangul"
    unspaced = "unspaced"


_KINDS = (
    (0x0E00, 0x0EFF, _Kind.unspaced),  # Thai, Lao
    (0x1000, 0x109F, _Kind.unspaced),  # Myanmar
    (0x1780, 0x17FF, _Kind.unspaced),  # Khmer
    (0x1100, 0x11FF, _Kind.hangul),
    (0xAC00, 0xD7FF, _Kind.hangul),
    (0x3041, 0x309F, _Kind.hiragana),
    (0x30A0, 0x30FF, _Kind.katakana),
    (0x3400, 0x4DBF, _Kind.ideograph),
    (0x4E00, 0x9FFF, _Kind.ideograph),
    (0xF900, 0xFAFF, _Kind.ideograph),
    (0x20000, 0x3FFFF, _Kind.ideograph),
)


def without_addresses(text: str) -> str:
    """*text* without what may hold a name though nobody is called by it: emojis and addresses of the web."""
    return _NOT_SAID.sub(" ", text)


def name_spans(folded: str, names: Iterable[str]) -> list[tuple[int, int]]:
    """Where each of *names* stands in a folded text as a whole word, in order; none lies inside a longer one."""
    found: list[tuple[int, int]] = []
    wanted = sorted({name for name in map(fold_name, names) if 0 < len(name) <= MAX_NAME_CHARS}, key=len, reverse=True)
    for name in wanted:
        for at in _word_starts(folded, name):
            if not any(start < at + len(name) and at < end for start, end in found):
                found.append((at, at + len(name)))
    return sorted(found)


def contains_any_name(text: str, names: Iterable[str]) -> bool:
    """Whether one of *names* stands in *text* as a whole word."""
    return name_position(text, names) is not None


def name_position(text: str, names: Iterable[str]) -> int | None:
    """Where the first of *names* that stands in *text* as a whole word begins, in folded letters; None: nowhere."""
    searched = fold_name(_NOT_SAID.sub(" ", text[:MAX_SEARCHED_CHARS]))
    searched = searched[: 2 * MAX_SEARCHED_CHARS]  # one character may stand for many: "\ufdfa" becomes eighteen
    folded = (name for name in map(fold_name, names) if 0 < len(name) <= MAX_NAME_CHARS)
    return min((at for name in folded if (at := _word_start(searched, name)) is not None), default=None)


def _word_start(text: str, name: str) -> int | None:
    """Where *name* stands first in *text* as a whole word; None: nowhere."""
    return next(_word_starts(text, name), None)


def _word_starts(text: str, name: str) -> Iterator[int]:
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        starts = at == 0 or _is_word_break(text[at - 1], name[0], len(name), at_end=False)
        if starts and (end == len(text) or _is_word_break(name[-1], text[end], len(name), at_end=True)):
            yield at
        at = text.find(name, at + 1)


def _is_word_break(before: str, after: str, name_length: int, *, at_end: bool) -> bool:
    """Whether a word may end between two neighbouring characters, at one end of a name."""
    if not (_is_word(before) and _is_word(after)):
        return True
    if unicodedata.category(after).startswith("M"):
        return False  # an accent belongs to its letter
    kinds = _kind(before), _kind(after)
    if kinds[0] is not kinds[1]:
        return True
    if kinds[0] in (_Kind.ideograph, _Kind.unspaced):
        return name_length > 1
    return at_end and name_length > 1 and kinds[0] in (_Kind.hangul, _Kind.hiragana)  # endings are written on


def _is_word(char: str) -> bool:
    return char == "_" or unicodedata.category(char)[0] in _WORD_CATEGORIES


def _kind(char: str) -> _Kind:
    code = ord(char)
    return next((kind for first, last, kind in _KINDS if first <= code <= last), _Kind.spaced)
