"""Identity in single braces.

`{user}`, `{char}` and `{bot}` are ours beside the double-brace macros, for the short texts people write by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from familiar_connect.identity import UNNAMED

_IDENTITY = re.compile(r"(?<!\{)\{\s*(user|char|bot)\s*\}(?!\})", re.I)
_NAME_MACRO = re.compile(r"\{\{(char|user)\}\}", re.IGNORECASE)


def fill_identity(text: str, *, char: str, user: str, preserve: bool = False) -> str:
    """*text* with the single-brace names filled in; *preserve* leaves them as they stand."""
    if preserve or "{" not in text:
        return text
    return _IDENTITY.sub(lambda found: user if found[1].lower() == "user" else char, text)


def name_filler(char: str, user: str | None) -> Callable[[str], str]:
    """What puts the names of the familiar and of its owner where `{{char}}` and `{{user}}` stand."""
    names = {"char": char, "user": user or UNNAMED}
    return lambda text: _NAME_MACRO.sub(lambda found: names[found[1].lower()], text)
