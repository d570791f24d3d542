"""Alternate greetings as one text: each behind a line of its own, so that an owner can edit, add and remove them."""

from __future__ import annotations

import re
from collections.abc import Iterable

GREETING_BREAK = "<!-- next greeting -->"
"""The line between two greetings."""

_BREAK = re.compile(rf"^[ \t]*{re.escape(GREETING_BREAK)}[ \t]*\r?\n?", re.MULTILINE)


def join_greetings(greetings: Iterable[str]) -> str:
    """*greetings* as the text of `self/alternate_greetings.md`."""
    return f"\n{GREETING_BREAK}\n".join(greetings)


def split_greetings(text: str) -> tuple[str, ...]:
    """The greetings in *text*; blank ones do not count."""
    pieces = _BREAK.split(text)
    whole = [piece.removesuffix("\n") for piece in pieces[:-1]] + pieces[-1:]
    return tuple(piece for piece in whole if piece.strip())
