"""Versions of turns: answers made anew, swipes, other greetings; and marks that keep a turn out of every prompt.

A turn reads as its chosen version does, so whoever reads turns needs to know nothing of this. No version is ever
removed. A change of what a turn reads, or of whether it is shown, is recorded as an edit is: by `message_edits`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from familiar_connect.errors import HistoryError
from familiar_connect.history.message_edits import record_change
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import TurnMark
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.text import without_surrogates

STEP = 500
"""Turns looked up at once."""
MAX_VERSIONS = 1_000
"""Versions of one turn."""


@dataclass(frozen=True, kw_only=True)
class TurnVersions:
    """Everything a turn may read, in order, and which of it is chosen."""

    turn_id: int
    texts: tuple[str, ...]
    chosen: int = 0

    @property
    def text(self) -> str:
        return self.texts[self.chosen]


class TurnVersionStore:
    """The versions and marks of one familiar's turns. Synchronous, like the store it stands beside."""

    def __init__(self, store: HistoryStore, familiar_id: str, *, clock: Clock | None = None) -> None:
        self._database = store.database
        self._familiar_id = familiar_id
        self._clock = clock or SystemClock()

    def versions_of(self, turn_id: int) -> TurnVersions | None:
        """The versions of a turn, one where it was never given another; None where there is no such turn."""
        found = list(self.versions_of_all([turn_id]))
        return found[0] if found else None

    def versions_of_all(self, turn_ids: Iterable[int]) -> Iterator[TurnVersions]:
        """The versions of many turns, by ascending id; ids that are none are left out."""
        for step in _in_steps(turn_ids):
            rows = self._database.read(
                "SELECT turns.id, COALESCE(turn_versions.content, turns.content), COALESCE(is_chosen, 1) FROM turns"
                " LEFT JOIN turn_versions ON turn_id = turns.id"
                " WHERE familiar_id = ? AND turns.id IN (SELECT value FROM json_each(?)) ORDER BY turns.id, number",
                (self._familiar_id, json.dumps(step)),
            )
            grouped: dict[int, list[tuple[str, bool]]] = {}
            for turn_id, text, is_chosen in rows:
                grouped.setdefault(turn_id, []).append((text, bool(is_chosen)))
            for turn_id, versions in grouped.items():
                chosen = next((at for at, (_, is_chosen) in enumerate(versions) if is_chosen), 0)
                yield TurnVersions(turn_id=turn_id, texts=tuple(text for text, _ in versions), chosen=chosen)

    def add_versions(self, rows: Sequence[TurnVersions]) -> int:
        """Give many turns their versions, in place of any they had, all or nothing; how many turns were there.

        A turn that reads otherwise than its chosen version reads as that from now on.
        """
        for row in rows:
            if not 0 <= row.chosen < len(row.texts) <= MAX_VERSIONS:
                raise HistoryError(
                    f"turn {row.turn_id} has {len(row.texts)} versions and number {row.chosen} of them chosen;"
                    f" there must be 1 to {MAX_VERSIONS}, counted from 0"
                )
        with self._database.transaction() as connection:
            there = self._contents(connection, (row.turn_id for row in rows))
            known = [row for row in rows if row.turn_id in there]
            connection.executemany("DELETE FROM turn_versions WHERE turn_id = ?", [(row.turn_id,) for row in known])
            connection.executemany(
                "INSERT INTO turn_versions VALUES (?, ?, ?, ?)",
                [
                    (row.turn_id, number, without_surrogates(text), int(number == row.chosen))
                    for row in known
                    for number, text in enumerate(row.texts)
                ],
            )
            for row in known:
                self._say(connection, row.turn_id, there[row.turn_id], without_surrogates(row.text))
        return len(known)

    def add_version(self, turn_id: int, text: str) -> TurnVersions:
        """Give a turn one more version, and choose it."""
        with self._database.transaction():
            now = self._known(turn_id)
            added = TurnVersions(turn_id=turn_id, texts=(*now.texts, text), chosen=len(now.texts))
            self.add_versions([added])
        return added

    def choose(self, turn_id: int, number: int) -> TurnVersions:
        """Let a turn read as its version *number*, counted from 0."""
        with self._database.transaction():
            now = self._known(turn_id)
            if not 0 <= number < len(now.texts):
                raise HistoryError(
                    f"turn {turn_id} has {len(now.texts)} versions; choose one from 1 to {len(now.texts)}"
                )
            chosen = TurnVersions(turn_id=turn_id, texts=now.texts, chosen=number)
            self.add_versions([chosen])
        return chosen

    def mark_turns(self, turn_ids: Iterable[int], mark: TurnMark | None) -> list[int]:
        """Keep turns out of every prompt, or with None let them back in; those for which that is new."""
        with self._database.transaction() as connection:
            changed = []
            for step in _in_steps(turn_ids):
                found = connection.execute(
                    "SELECT id FROM turns WHERE familiar_id = ? AND id IN (SELECT value FROM json_each(?))"
                    " AND mark IS NOT ? ORDER BY id",
                    (self._familiar_id, json.dumps(step), mark and mark.value),
                ).fetchall()
                changed += [int(row[0]) for row in found]
            for turn_id in changed:
                record_change(connection, turn_id, self._clock, was_deleted=mark is not None)
            connection.executemany(
                "UPDATE turns SET mark = ? WHERE id = ?", [(mark and mark.value, turn_id) for turn_id in changed]
            )
        return changed

    def _known(self, turn_id: int) -> TurnVersions:
        found = self.versions_of(turn_id)
        if found is None:
            raise HistoryError(f"there is no turn {turn_id} to give another version")
        return found

    def _contents(self, connection: sqlite3.Connection, turn_ids: Iterable[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        for step in _in_steps(turn_ids):
            rows = connection.execute(
                "SELECT id, content FROM turns WHERE familiar_id = ? AND id IN (SELECT value FROM json_each(?))",
                (self._familiar_id, json.dumps(step)),
            )
            found.update((turn_id, content) for turn_id, content in rows)
        return found

    def _say(self, connection: sqlite3.Connection, turn_id: int, before: str, text: str) -> None:
        if before != text:
            record_change(connection, turn_id, self._clock, was_deleted=False)
            connection.execute("UPDATE turns SET content = ? WHERE id = ?", (text, turn_id))


def _in_steps(turn_ids: Iterable[int]) -> Iterator[list[int]]:
    ids = sorted(set(turn_ids))
    for start in range(0, len(ids), STEP):
        yield ids[start : start + STEP]
