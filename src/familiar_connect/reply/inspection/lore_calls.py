"""LoreCall: an entry of World Info that a turn called up, with its book, its reason and the block that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from familiar_connect.observe.inspector import world_info_lines
from familiar_connect.observe.replay_store import ReplayRecord
from familiar_connect.observe.trace import TurnTrace
from familiar_connect.presets.world_info.types import EntryPosition, WorldEntry

SOURCES = {
    EntryPosition.before_card: "world_info:before",
    EntryPosition.after_card: "world_info:after",
    EntryPosition.at_depth: "world_info:depth",
    EntryPosition.note_top: "author_note",
    EntryPosition.note_bottom: "author_note",
}
"""Where an entry of each position stands in the prompt; others stand inside examples or where a macro wants them."""
TELLING_CHARS = 40
"""The beginning of an entry by which its block is known."""


@dataclass(frozen=True, kw_only=True)
class LoreCall:
    """One entry and why it was called up, or why it was not."""

    book: str
    entry: str
    reason: str
    source: str = ""
    """Of the block it stands in; empty where that is not known."""
    text: str = ""
    """What the entry said then; empty where that is not kept."""

    @property
    def name(self) -> str:
        return f"{self.book}: {self.entry}" if self.book else self.entry

    def is_told_in(self, source: str, text: str | None) -> bool:
        """Whether the block of *source* with *text* holds it."""
        if not self.source or self.source not in source.split(", "):
            return False
        start = self.text.strip()[:TELLING_CHARS]
        return "{{" in start or not start or not text or start in text


def lore_calls(trace: TurnTrace, record: ReplayRecord | None) -> tuple[LoreCall, ...]:
    """Every entry that the turn called up, in order."""
    entries = _entries_by_name(record)
    found = []
    for line in world_info_lines(trace):
        name, reason = str(line.get("entry", "")), str(line.get("reason", ""))
        entry = entries.get(name)
        if entry is None:
            book, _, title = name.partition(": ")
            found.append(LoreCall(book=book if title else "", entry=title or name, reason=reason))
            continue
        is_shown = not reason.startswith("found, but")
        source = SOURCES.get(entry.position, "") if is_shown else f"world_info:{entry.name}"
        found.append(LoreCall(book=entry.book, entry=entry.name, reason=reason, source=source, text=entry.content))
    return tuple(found)


def calls_in_block(calls: Sequence[LoreCall], source: str, text: str | None) -> tuple[LoreCall, ...]:
    """Those of *calls* that stand in the block of *source*."""
    return tuple(call for call in calls if call.is_told_in(source, text))


def _entries_by_name(record: ReplayRecord | None) -> dict[str, WorldEntry]:
    books = record.request.books if record is not None else ()
    return {f"{entry.book}: {entry.name}": entry for book in books for entry in book.entries}
