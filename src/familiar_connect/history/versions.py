"""Versions of turns: answers made anew, swipes, other greetings; and marks that keep a turn out of every prompt.

A turn reads as its chosen version does, so whoever reads turns needs to know nothing of this. No version is ever
removed. A change of what a turn reads, or of whether it is shown, is recorded as an edit is: by `message_edits`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from familiar_connect.errors import HistoryError
from familiar_connect.history.message_edits import record_change, set_words
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
    views: tuple[str | None, ...] = ()
    """What scripts made of each, as `HistoryTurn.view`; empty: nothing of any."""

    @property
    def text(self) -> str:
        return self.texts[self.chosen]

    @property
    def view(self) -> str | None:
        return self.views[self.chosen] if self.views else None

    @property
    def display_texts(self) -> tuple[str, ...]:
        """Every version as the chat shows it."""
        views = self.views or (None,) * len(self.texts)
        return tuple(text if view is None else view for text, view in zip(self.texts, views, strict=True))


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
                "SELECT turns.id, COALESCE(turn_versions.content, turns.content), COALESCE(is_chosen, 1),"
                " IIF(number IS NULL, turns.view, turn_versions.view) FROM turns"
                " LEFT JOIN turn_versions ON turn_id = turns.id"
                " WHERE familiar_id = ? AND turns.id IN (SELECT value FROM json_each(?)) ORDER BY turns.id, number",
                (self._familiar_id, json.dumps(step)),
            )
            grouped: dict[int, list[tuple[str, bool, str | None]]] = {}
            for turn_id, text, is_chosen, view in rows:
                grouped.setdefault(turn_id, []).append((text, bool(is_chosen), view))
            for turn_id, versions in grouped.items():
                texts, choices, views = zip(*versions, strict=True)
                chosen = choices.index(True) if True in choices else 0
                has_views = any(view is not None for view in views)
                yield TurnVersions(turn_id=turn_id, texts=texts, chosen=chosen, views=views if has_views else ())

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
                "INSERT INTO turn_versions (turn_id, number, content, is_chosen, view) VALUES (?, ?, ?, ?, ?)",
                [
                    (row.turn_id, number, without_surrogates(text), int(number == row.chosen), _view(row, number))
                    for row in known
                    for number, text in enumerate(row.texts)
                ],
            )
            for row in known:
                now = without_surrogates(row.text), _view(row, row.chosen)
                self._say(connection, row.turn_id, there[row.turn_id], now)
        return len(known)

    def add_version(self, turn_id: int, text: str, view: str | None = None) -> TurnVersions:
        """Give a turn one more version, and choose it; *view* is what scripts made of it."""
        with self._database.transaction():
            now = self._known(turn_id)
            views = now.views or (None,) * len(now.texts)
            added = TurnVersions(turn_id=turn_id, texts=(*now.texts, text), chosen=len(now.texts), views=(*views, view))
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
            chosen = replace(now, chosen=number)
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

    def _contents(self, connection: sqlite3.Connection, turn_ids: Iterable[int]) -> dict[int, tuple[str, str | None]]:
        """The words and the view of each turn."""
        found: dict[int, tuple[str, str | None]] = {}
        for step in _in_steps(turn_ids):
            rows = connection.execute(
                "SELECT id, content, view FROM turns WHERE familiar_id = ? AND id IN (SELECT value FROM json_each(?))",
                (self._familiar_id, json.dumps(step)),
            )
            found.update((turn_id, (content, view)) for turn_id, content, view in rows)
        return found

    def _say(
        self,
        connection: sqlite3.Connection,
        turn_id: int,
        before: tuple[str, str | None],
        now: tuple[str, str | None],
    ) -> None:
        if before != now:
            record_change(connection, turn_id, self._clock, was_deleted=False)
            set_words(connection, turn_id, *now)


def _view(row: TurnVersions, number: int) -> str | None:
    view = row.views[number] if row.views else None
    return None if view is None else without_surrogates(view)


def _in_steps(turn_ids: Iterable[int]) -> Iterator[list[int]]:
    ids = sorted(set(turn_ids))
    for start in range(0, len(ids), STEP):
        yield ids[start : start + STEP]
