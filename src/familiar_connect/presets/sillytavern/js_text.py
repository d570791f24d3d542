"""Small text rules as SillyTavern has them: what counts as space, how a name is made safe."""

from __future__ import annotations

import re

NAME_CHARS = 64
_SPACE = "".join(map(chr, (*range(9, 14), 32, 160, 0x1680, *range(0x2000, 0x200B))))
_SPACE += "\u2028\u2029\u202f\u205f\u3000\ufeff"
_UNSAFE = re.compile(r"[^A-Za-z0-9_]")


def js_trim(text: str) -> str:
    """*text* without the space around it; other control characters stay."""
    return text.strip(_SPACE)


def api_name(name: str) -> str:
    """*name* as a message's `name` may be: letters, digits and underscores, at most 64."""
    return _UNSAFE.sub(lambda found: "__" if found[0] > "\uffff" else "_", name)[:NAME_CHARS]
