"""Identity in single braces, and the placeholders models leave in what they write.

`{user}`, `{char}` and `{bot}` are ours beside the double-brace macros, for the short texts people write by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from familiar_connect.identity import UNNAMED

_IDENTITY = re.compile(r"(?<!\{)\{\s*(user|char|bot)\s*\}(?!\})", re.I)
_PLACEHOLDER = re.compile(r"\{\{\s*([^\W\d][\w-]*)\s*\}\}|(?<!\{)\{\s*([^\W\d][\w-]*)\s*\}(?!\})")
_NAME_MACRO = re.compile(r"\{\{(char|user)\}\}", re.IGNORECASE)
_IDENTITIES = frozenset(("user", "char", "bot"))


def fill_identity(text: str, *, char: str, user: str, preserve: bool = False) -> str:
    """*text* with the single-brace names filled in; *preserve* leaves them as they stand."""
    if preserve or "{" not in text:
        return text
    return _IDENTITY.sub(lambda found: user if found[1].lower() == "user" else char, text)


def name_filler(char: str, user: str | None) -> Callable[[str], str]:
    """What puts the names of the familiar and of its owner where `{{char}}` and `{{user}}` stand."""
    names = {"char": char, "user": user or UNNAMED}
    return lambda text: _NAME_MACRO.sub(lambda found: names[found[1].lower()], text)


def unbrace_unknown(text: str) -> str:
    """*text* a model wrote, where `{word}` and `{{word}}` lose their braces unless they name a person."""
    if "{" not in text:
        return text
    return _PLACEHOLDER.sub(_bare, text)


def _bare(found: re.Match[str]) -> str:
    word: str = found[1] or found[2]
    return found[0] if word.lower() in _IDENTITIES else word
