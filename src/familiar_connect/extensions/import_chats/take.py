"""What the readers of several programs' chats share: careful looks into JSON, and counts of what is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from familiar_connect.api.importing import (
    MAX_TEXT_CHARS,
    ImportedChat,
    ImportedLine,
    ImportRemark,
    UnreadableFileError,
)

MAX_TITLE_CHARS = 100
ChatItem = ImportedLine | ImportedChat | ImportRemark
"""What a reader finds, one after the other."""


def take_object(value: object, where: str) -> dict[str, Any]:
    """*value* as an object; an `UnreadableFileError` names *where* there is none."""
    if not isinstance(value, dict):
        raise UnreadableFileError("must be an object; fetch the file again", where=where)
    return value


def take_list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise UnreadableFileError("must be a list; fetch the file again", where=where)
    return value


def take_part(row: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object under *key*; empty where there is none."""
    found = row.get(key)
    return found if isinstance(found, dict) else {}


def take_text(value: object, where: str) -> str:
    """*value* as the text of a message; empty where it is none."""
    if not isinstance(value, str):
        return ""
    if len(value) > MAX_TEXT_CHARS:
        raise UnreadableFileError(
            f"holds {len(value):,} characters, and a message may have {MAX_TEXT_CHARS:,}", where=where
        )
    return value


def take_title(*values: object) -> str:
    """The first of *values* that names something, on one line."""
    found = next((value for value in values if isinstance(value, str) and value.strip()), "")
    return " ".join(found.split())[:MAX_TITLE_CHARS]


class LeftOut:
    """Counts what of a chat is not taken, to say it in one sentence."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, one: str, many: str, count: int = 1) -> None:
        """*count* more of what is called *one* or *many*."""
        if count > 0:
            self._counts[one, many] += count

    def tell(self) -> Iterator[ImportRemark]:
        """One remark, or none where all was taken."""
        told = [f"{count:,} {one if count == 1 else many}" for (one, many), count in self._counts.items()]
        if told:
            yield ImportRemark(text=f"Left out: {', '.join(told)}.")


def find_path(parents: Mapping[str, str], leaf: str) -> list[str]:
    """From a tree of messages, those from its root to *leaf*; a circle ends where it closes."""
    path: list[str] = []
    seen: set[str] = set()
    at = leaf
    while at in parents and at not in seen:
        path.append(at)
        seen.add(at)
        at = parents[at]
    return path[::-1]


def find_siblings(parents: Mapping[str, str]) -> dict[str, list[str]]:
    """Which messages answer one and the same, in the order of the file."""
    found: dict[str, list[str]] = {}
    for node, parent in parents.items():
        found.setdefault(parent, []).append(node)
    return found


def list_versions(texts: Sequence[str], chosen: str) -> tuple[str, ...]:
    """What a message may read, where there are several; *chosen* is what it reads."""
    found = tuple(dict.fromkeys(text for text in (*texts, chosen) if text.strip()))
    return found if len(found) > 1 and chosen in found else ()
