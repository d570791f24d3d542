"""Names: one folding to tell whether two are the same, one form for the names of files, one set of invisible signs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from familiar_connect.support.text import one_line

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Zero-width characters, direction marks, fillers and tags, to stand in a character class: no text needs them."""
JOINERS = "\u200c\u200d\ufe00-\ufe0f"
"""Invisible too, but emojis and some scripts are written with them: they are left in text and ignored in comparing."""

_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_IGNORED = re.compile(f"[{INVISIBLE}{JOINERS}]+")
_BLANK = "\u2800"
"""A sign of Braille that shows nothing."""


def fold_name(name: str) -> str:
    """*name*, or a text to look for names in, as it is compared: one case, one width, no invisible characters."""
    if name.isascii():
        return one_line(name.casefold())
    folded = _IGNORED.sub("", unicodedata.normalize("NFD", name)).casefold()
    folded = _IGNORED.sub("", unicodedata.normalize("NFKC", folded)).casefold()
    return one_line(unicodedata.normalize("NFKC", folded))


def to_slug(words: str, most: int | None = None) -> str:
    """*words* as a piece of a file's name: Latin letters and digits in lower case, dashes between; *most*: how long."""
    return _NOT_SLUG.sub("-", words.lower()).strip("-")[:most].strip("-")


def join_names(names: Sequence[str]) -> str:
    """*names* as a sentence has them: "Wren", "Wren and Ember", "Wren, Ember and Mira"."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def without_invisible(text: str) -> str:
    """*text* without characters nobody sees; joiners stay."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def has_visible(text: str) -> bool:
    """Whether anything of *text* can be seen."""
    if text.isascii() and text.isprintable():  # as nearly every name, and a room's are asked for at every message
        return bool(text.strip(" "))
    return any(char != _BLANK and unicodedata.category(char)[0] not in "CZM" for char in _IGNORED.sub("", text))
