"""Summary rows: the familiar's rolling summary, and what happens elsewhere as each mode is told it.

Caches of what was said, replaced as it grows; losing one costs a summariser's call, never a turn.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from familiar_connect.audience import Audience
from familiar_connect.history.rows import SUMMARY_TABLES, Mode, in_utc, mode_value, parse_timestamp
from familiar_connect.history.types import CrossContextEntry, SummaryEntry
from familiar_connect.support.clock import Clock
from familiar_connect.support.sqlite import Database, Row, storable_all


class SummaryRows:
    """The tables `summaries` and `cross_context_summaries`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def get(self, familiar_id: str, channel_id: int) -> SummaryEntry | None:
        rows = self._database.read(
            "SELECT last_summarised_id, summary_text, created_at FROM summaries"
            " WHERE familiar_id = ? AND channel_id = ?",
            (familiar_id, channel_id),
        )
        return SummaryEntry(rows[0][0], rows[0][1], parse_timestamp(rows[0][2])) if _is_summary(rows) else None

    def put(
        self, familiar_id: str, channel_id: int, last_summarised_id: int, summary_text: str, level: int = -1
    ) -> None:
        """Keep a summary, unless a turn it covers was changed after the change *level*."""
        if self._is_outdated(level, last_summarised_id):
            return
        self._database.write(
            "INSERT INTO summaries (familiar_id, channel_id, last_summarised_id, summary_text, created_at)"
            " VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (familiar_id, channel_id) DO UPDATE SET last_summarised_id = excluded.last_summarised_id,"
            " summary_text = excluded.summary_text, created_at = excluded.created_at",
            storable_all((familiar_id, channel_id, last_summarised_id, summary_text, self._now())),
        )

    def row_of(self, audience: Audience) -> int:
        """The `channel_id` that the rolling summary of *audience* stands under; below 0, so no channel's."""
        text = str(audience)
        found = self._database.read("SELECT id FROM audiences WHERE audience = ?", (text,))
        if not found:
            self._database.write("INSERT OR IGNORE INTO audiences (audience) VALUES (?)", (text,))
            found = self._database.read("SELECT id FROM audiences WHERE audience = ?", (text,))
        return -int(found[0][0])

    def forget_channel(self, familiar_id: str, channel_id: int) -> None:
        """Drop what was told of a channel, and every summary of a server's open talk: its words may be in them."""
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM channel_marks WHERE familiar_id = ? AND channel_id = ? AND kind = 'compact'",
                (familiar_id, channel_id),
            )
            connection.execute(
                "DELETE FROM cross_context_summaries WHERE familiar_id = ? AND source_channel_id = ?",
                (familiar_id, channel_id),
            )
            connection.execute(
                "DELETE FROM summaries WHERE familiar_id = ? AND channel_id IN"
                " (SELECT -id FROM audiences WHERE audience LIKE 'server:%')",
                (familiar_id,),
            )

    def forget_dialogue(self, familiar_id: str, channel_id: int) -> None:
        """Drop every summary that may tell what was said in a channel; marks stay."""
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM cross_context_summaries WHERE familiar_id = ? AND source_channel_id = ?",
                (familiar_id, channel_id),
            )
            connection.execute(
                "DELETE FROM summaries WHERE familiar_id = ? AND (channel_id IN (0, ?) OR channel_id IN"
                " (SELECT -id FROM audiences WHERE audience IN (SELECT COALESCE(audience, 'owner') FROM turns"
                " WHERE familiar_id = ? AND channel_id = ?)))",
                (familiar_id, channel_id, familiar_id, channel_id),
            )

    def get_cross_context(
        self, familiar_id: str, viewer_mode: Mode, source_channel_id: int
    ) -> CrossContextEntry | None:
        rows = self._database.read(
            "SELECT source_last_id, summary_text, created_at FROM cross_context_summaries"
            " WHERE familiar_id = ? AND viewer_mode = ? AND source_channel_id = ?",
            (familiar_id, mode_value(viewer_mode) or "", source_channel_id),
        )
        return CrossContextEntry(rows[0][0], rows[0][1], parse_timestamp(rows[0][2])) if _is_summary(rows) else None

    def put_cross_context(
        self,
        familiar_id: str,
        viewer_mode: Mode,
        source_channel_id: int,
        source_last_id: int,
        summary_text: str,
        level: int = -1,
    ) -> None:
        """As `put`, for what is told of another channel."""
        if self._is_outdated(level, source_last_id):
            return
        viewer = mode_value(viewer_mode) or ""
        self._database.write(
            "INSERT INTO cross_context_summaries"
            " (familiar_id, viewer_mode, source_channel_id, source_last_id, summary_text, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (familiar_id, viewer_mode, source_channel_id) DO UPDATE SET"
            " source_last_id = excluded.source_last_id, summary_text = excluded.summary_text,"
            " created_at = excluded.created_at",
            storable_all((familiar_id, viewer, source_channel_id, source_last_id, summary_text, self._now())),
        )

    def count(self, familiar_id: str) -> int:
        """How many summaries are kept."""
        sql = (f"SELECT COUNT(*) FROM {table} WHERE familiar_id = ?" for table in SUMMARY_TABLES)
        return sum(int(self._database.read(each, (familiar_id,))[0][0]) for each in sql)

    def leave_out(self, familiar_id: str, people: Collection[str]) -> None:
        """Drop the summaries unless they were made without *people* (canonical keys); the next ones are."""
        with self._database.transaction() as connection:
            known = "SELECT people FROM summaries_without WHERE familiar_id = ?"
            without = _people(connection.execute(known, (familiar_id,)).fetchone())
            if not without.issuperset(people):
                for table in SUMMARY_TABLES:
                    connection.execute(f"DELETE FROM {table} WHERE familiar_id = ?", (familiar_id,))
                connection.execute(
                    "DELETE FROM channel_marks WHERE familiar_id = ? AND kind = 'compact'", (familiar_id,)
                )
            if without != set(people):
                connection.execute(
                    "INSERT OR REPLACE INTO summaries_without (familiar_id, people) VALUES (?, ?)",
                    storable_all((familiar_id, json.dumps(sorted(people)))),
                )

    def _is_outdated(self, level: int, last_id: int) -> bool:
        if level < 0:
            return False
        changed = "SELECT 1 FROM turn_revisions WHERE rowid > ? AND turn_id <= ? LIMIT 1"
        return bool(self._database.read(changed, (level, last_id)))

    def _now(self) -> str:
        return in_utc(self._clock.now()).isoformat()


def _is_summary(rows: list[Row]) -> bool:
    """Whether there is one: a row that another program filled with something else counts as none."""
    return bool(rows) and isinstance(rows[0][0], int) and isinstance(rows[0][1], str)


def _people(row: Row | None) -> set[str]:
    try:
        return set(map(str, json.loads(row[0]))) if row else set()
    except (TypeError, ValueError, RecursionError):
        return set()
