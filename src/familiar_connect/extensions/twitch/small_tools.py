"""Small tools: a text in one line, a name as it is compared, and a memory of so many entries."""

from __future__ import annotations

import unicodedata
from collections import OrderedDict
from typing import Generic, TypeVar

V = TypeVar("V")


def in_one_line(text: str) -> str:
    """*text* with every run of white space as one space."""
    return " ".join(text.split())


def cut_line(text: str, limit: int) -> str:
    """*text* within *limit* characters, ended with a word."""
    return text if len(text) <= limit else text[:limit].rpartition(" ")[0] or text[:limit]


def fold_case(name: str) -> str:
    """*name* as it is compared: in one case and one width."""
    return in_one_line(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()))


class NewestEntries(Generic[V]):
    """At most so many values by name; the one used longest ago goes first."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._kept: OrderedDict[str, V] = OrderedDict()

    def get(self, key: str) -> V | None:
        """The value of *key*, which is now the latest used; None where there is none."""
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key]

    def put(self, key: str, value: V) -> None:
        """Keep *value* in place of what *key* had."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self._entries:
            self._kept.popitem(last=False)

    def __contains__(self, key: object) -> bool:
        return key in self._kept
