"""Small tools: a text in one line, within a length, and a name as it is compared."""

from __future__ import annotations

import unicodedata


def in_one_line(text: str) -> str:
    """*text* with every run of white space as one space."""
    return " ".join(text.split())


def cut_line(text: str, limit: int) -> str:
    """*text* within *limit* characters, ended with a word."""
    return text if len(text) <= limit else text[:limit].rpartition(" ")[0] or text[:limit]


def fold_case(name: str) -> str:
    """*name* as it is compared: in one case and one width."""
    return in_one_line(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()))
