"""Explanation: each part of a memory file with the words it came from.

A part whose turns are on record is shown with those turns, quoted. One without, such as a line the owner
wrote, is answered by blame: which version brought it, and who made that.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Protocol

from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.types import Version
from familiar_connect.memory.versioning.blame import blame_lines
from familiar_connect.memory.versioning.provenance import MarkdownPart, Provenance, parts_of
from familiar_connect.memory.versioning.versions import Versions

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
