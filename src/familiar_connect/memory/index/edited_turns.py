"""Turns that were edited or taken back after they were stored, for an index that took in their earlier words."""

from __future__ import annotations

import json
from collections.abc import Iterator

from familiar_connect.history.message_edits import DELETED
from familiar_connect.history.rows import TURN_COLUMNS, turn_from_row
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn, TurnMark

READ_TURNS = 500
SEARCHED_MARKS = (None, TurnMark.belated)


def newest_edit_mark(history: HistoryStore) -> str:
    """A mark that is another one after every change to a turn; empty while nothing was ever changed."""
    rows = history.database.read("SELECT rowid, turn_id, changed_at FROM turn_revisions ORDER BY rowid DESC LIMIT 1")
    return ":".join(map(str, rows[0])) if rows else ""


def read_edited_turns(history: HistoryStore, familiar_id: str, up_to: int) -> Iterator[HistoryTurn]:
    """Every turn up to an id that once read differently, as it reads now."""
    rows = history.database.read("SELECT DISTINCT turn_id FROM turn_revisions WHERE turn_id <= ?", (up_to,))
    ids = [row[0] for row in rows]
    for start in range(0, len(ids), READ_TURNS):
        found = history.database.read(
            f"SELECT {TURN_COLUMNS} FROM turns WHERE familiar_id = ? AND id IN (SELECT value FROM json_each(?))",
            (familiar_id, json.dumps(ids[start : start + READ_TURNS])),
        )
        yield from map(turn_from_row, found)


def has_words(said: HistoryTurn) -> bool:
    """Whether there are words to find in the turn: of one that was deleted, hidden or undone none, of a copy no new."""
    if said.mark not in SEARCHED_MARKS or said.copy_of is not None:
        return False
    return bool(said.actual_words.strip()) and said.actual_words != DELETED
