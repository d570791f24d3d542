"""Blame: for each line of a memory file, the version that brought it.

Walks back from the newest version and stops as soon as every line is accounted for. A line that was
only moved up or down past others may count as new; one that stayed in its order never does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.types import Version
from familiar_connect.memory.versioning.versions import Versions


@dataclass(frozen=True, kw_only=True)
class BlameLine:
    """One line as it stands, and the version since which it does; None: before anything was logged."""

    number: int
    text: str
    version: Version | None


def blame_lines(versions: Versions, rel_path: str, text: str) -> list[BlameLine]:
    """Every line of *text*, which is what the file says now."""
    lines = text.splitlines()
    origin: dict[int, Version] = {}
    waiting = {place: place for place in range(len(lines))}
    newer, since = lines, None
    for version in reversed(versions.log(rel_path)):
        if not waiting:
            break
        older = _lines_of(versions, version)
        if older is None:
            continue
        waiting = _settle(waiting, newer, older, since, origin)
        newer, since = older, version
    if since is not None:
        origin.update(dict.fromkeys(waiting.values(), since))
    return [BlameLine(number=place + 1, text=line, version=origin.get(place)) for place, line in enumerate(lines)]


def _settle(
    waiting: dict[int, int],
    newer: Sequence[str],
    older: Sequence[str],
    since: Version | None,
    origin: dict[int, Version],
) -> dict[int, int]:
    """The lines already there in *older*, by their place in it; the others came with the version *since*."""
    kept = _same_lines(newer, older)
    still: dict[int, int] = {}
    for place, final in waiting.items():
        if place in kept:
            still[kept[place]] = final
        elif since is not None:
            origin[final] = since
    return still


def _same_lines(newer: Sequence[str], older: Sequence[str]) -> dict[int, int]:
    """Place in *newer* → place in *older* of the lines that stayed. Most versions change one spot: ends first."""
    limit = min(len(newer), len(older))
    head = next((i for i in range(limit) if newer[i] != older[i]), limit)
    tail = next((i for i in range(limit - head) if newer[-1 - i] != older[-1 - i]), limit - head)
    same = {i: i for i in range(head)}
    same |= {len(newer) - 1 - i: len(older) - 1 - i for i in range(tail)}
    middle = SequenceMatcher(None, newer[head : len(newer) - tail], older[head : len(older) - tail], autojunk=False)
    for block in middle.get_matching_blocks():
        same |= {head + block.a + i: head + block.b + i for i in range(block.size)}
    return same


def _lines_of(versions: Versions, version: Version) -> list[str] | None:
    try:
        return versions.text(version).splitlines()
    except MemoryStoreError:  # erased or damaged: its lines are told by the version before
        return None
