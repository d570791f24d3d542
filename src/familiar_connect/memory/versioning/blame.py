"""Blame: for each line of a memory file, the version that brought it.

Walks back from the newest version and stops as soon as every line is accounted for. A line that was
only moved up or down past others may count as new; one that stayed in its order never does.

Explanation: each part of a memory file with the words it came from.

A part whose turns are on record is shown with those turns, quoted. One without, such as a line the owner
wrote, is answered by blame: which version brought it, and who made that.

Whose line is it: which lines of a memory file the program wrote itself, and since which version.

Blame tells the version that brought a line, the audit log who made that version. Only what the memory writer or
an approved suggestion of housekeeping brought counts as ours. Every other line is the owner's, and so is every
line of a file whose versions are not kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Protocol

from familiar_connect.errors import MemoryStoreError
from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.types import Version
from familiar_connect.memory.versioning.provenance import MarkdownPart, Provenance, parts_of
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


MAX_QUOTES = 5
"""Turns quoted for one part; the number of the others is told."""


class TurnLookup(Protocol):
    """What is asked of the history."""

    def turn_by_id(self, *, familiar_id: str, turn_id: int) -> HistoryTurn | None: ...


@dataclass(frozen=True, kw_only=True)
class Quote:
    """One turn a part came from."""

    turn_id: int
    who: str
    when: datetime
    text: str


@dataclass(frozen=True, kw_only=True)
class PartOrigin:
    """One part, where it came from, and the version that brought it."""

    part: MarkdownPart
    quotes: tuple[Quote, ...]
    turns: tuple[int, ...]
    """Every turn on record for it, those since erased included."""
    version: Version | None


def explain_parts(
    text: str, rel_path: str, *, familiar_id: str, history: TurnLookup, provenance: Provenance, versions: Versions
) -> list[PartOrigin]:
    """The reason of every part of *text*, which is what the file says now."""
    sources = provenance.sources_of(rel_path)
    origins = [line.version for line in blame_lines(versions, rel_path, text)]
    ends = list(accumulate(len(line) for line in text.splitlines(keepends=True)))
    reasons = []
    for part in parts_of(text):
        turns = sources.get(part.hash, ())
        found = (history.turn_by_id(familiar_id=familiar_id, turn_id=turn_id) for turn_id in turns[:MAX_QUOTES])
        quotes = tuple(_quote(turn) for turn in found if turn is not None)
        line = bisect_right(ends, part.start)
        version = origins[line] if line < len(origins) else None
        reasons.append(PartOrigin(part=part, quotes=quotes, turns=turns, version=version))
    return reasons


def _quote(turn: HistoryTurn) -> Quote:
    who = turn.author.label if turn.author is not None else turn.role
    return Quote(turn_id=turn.id, who=who, when=turn.timestamp, text=turn.actual_words)


OUR_SOURCES = frozenset({"memory_writer", "housekeeping"})
"""Sources of versions whose lines a writer pass may retire or move."""


def our_lines(audit: AuditLog | None, rel_path: str, text: str) -> dict[int, int]:
    """Number (from 0) of each line of *text* that is ours → the version that brought it."""
    if audit is None:
        return {}
    return {
        line.number - 1: line.version.number
        for line in blame_lines(Versions(audit), rel_path, text)
        if line.version is not None and line.version.entry.source in OUR_SOURCES
    }
