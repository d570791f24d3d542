"""Discord's people as authors. A name that shows nothing on screen is no name."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Any

from familiar_connect.identity import Author

_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp", "Mn", "Me"}
_BLANK_LETTERS = {"\u115f", "\u1160", "\u3164", "\uffa0", "\u2800"}
"""Letters by category that nevertheless show nothing."""


def author_of(person: Any) -> Author:
    """A user or member, under the names that can be seen."""
    found = Author.from_discord_member(person)
    return replace(found, username=visible_name(found.username), display_name=visible_name(found.display_name))


def visible_name(name: str | None) -> str | None:
    """*name* if anything of it can be seen, else None."""
    if name is None or all(_shows_nothing(char) for char in name):
        return None
    return name


def _shows_nothing(char: str) -> bool:
    return char in _BLANK_LETTERS or unicodedata.category(char) in _UNSEEN
