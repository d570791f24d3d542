"""Quoted text is sealed on its way through, so that no later pass mistakes a brace somebody typed for a macro."""

from __future__ import annotations

_SEAL = str.maketrans("{}<", "\ue000\ue001\ue002")
_UNSEAL = str.maketrans("\ue000\ue001\ue002", "{}<")


def seal_braces(text: str) -> str:
    """*text* with its braces replaced by marks that no macro matches."""
    return text.translate(_SEAL)


def unseal_braces(text: str) -> str:
    return text.translate(_UNSEAL)
