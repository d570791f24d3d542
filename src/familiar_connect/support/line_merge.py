"""merge_lines: two changes of one text brought together, line by line, where they do not touch the same lines."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

MAX_LINES = 20_000
"""Longer texts are not brought together: comparing them takes too long."""

Change = tuple[int, int, list[str]]
"""Lines of the base from, to, and what stands there instead."""


def merge_lines(base: str, one: str, other: str) -> str | None:
    """*base* with what both *one* and *other* changed in it; None where they changed the same place differently."""
    if one == other or other == base:
        return one
    if one == base:
        return other
    lines = [text.splitlines(keepends=True) for text in (base, one, other)]
    if any(len(each) > MAX_LINES for each in lines):
        return None
    changes = _join(_changes(lines[0], lines[1]), _changes(lines[0], lines[2]))
    if changes is None:
        return None
    merged, at = [], 0
    for start, end, new in changes:
        merged += [*lines[0][at:start], *new]
        at = end
    return "".join([*merged, *lines[0][at:]])


def _changes(base: Sequence[str], changed: Sequence[str]) -> list[Change]:
    matcher = SequenceMatcher(None, base, changed, autojunk=False)
    return [
        (start, end, list(changed[first:last]))
        for kind, start, end, first, last in matcher.get_opcodes()
        if kind != "equal"
    ]


def _join(one: list[Change], other: list[Change]) -> list[Change] | None:
    """Both in order, what both did only once; None where they meet."""
    joined: list[Change] = []
    for change in sorted([*one, *other], key=lambda each: (each[0], each[1])):
        if joined and change == joined[-1]:
            continue
        if joined and change[0] <= joined[-1][1] and not _is_apart(joined[-1], change):
            return None
        joined.append(change)
    return joined


def _is_apart(before: Change, after: Change) -> bool:
    """Whether two neighbours that touch change different lines: each takes some away, and neither the other's."""
    return before[1] == after[0] and before[0] < before[1] and after[0] < after[1]
