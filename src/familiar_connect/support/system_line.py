"""System lines, `[System: …]`: how notes of ours stand inside a user's turn."""

from __future__ import annotations

_OPEN = "[System: "


def wrap(text: str) -> str:
    return f"{_OPEN}{text}]"


def unwrap(text: str) -> str:
    """*text* without white space around it, one outer `[System: …]` and one outer `[…]`."""
    inner = text.strip()
    if inner.lower().startswith("[system:") and inner.endswith("]"):
        inner = inner[len("[system:") : -1].strip()
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1].strip()
    return inner


def combine(texts: list[str] | tuple[str, ...]) -> str | None:
    """One System line holding every non-blank text, a blank line between; None when all are blank."""
    bare = [inner for inner in map(unwrap, texts) if inner]
    return wrap("\n\n".join(bare)) if bare else None
