"""Watermark rows: how far the memory writer has written up what was said."""

from __future__ import annotations

from familiar_connect.history.rows import TURN_COLUMNS, in_utc, parse_timestamp, turn_from_row
from familiar_connect.history.types import HistoryTurn, WatermarkEntry
from familiar_connect.support.clock import Clock
from familiar_connect.support.sqlite import Database, storable_all


class WatermarkRows:
    """The table `memory_writer_watermark`, and the turns that lie past it."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def get(self, familiar_id: str) -> WatermarkEntry | None:
        rows = self._database.read(
            "SELECT last_written_id, created_at FROM memory_writer_watermark WHERE familiar_id = ?", (familiar_id,)
        )
        return WatermarkEntry(rows[0][0], parse_timestamp(rows[0][1])) if rows else None

    def put(self, familiar_id: str, last_written_id: int) -> None:
        self._database.write(
            "INSERT INTO memory_writer_watermark (familiar_id, last_written_id, created_at) VALUES (?, ?, ?)"
            " ON CONFLICT (familiar_id) DO UPDATE SET last_written_id = excluded.last_written_id,"
            " created_at = excluded.created_at",
            storable_all((familiar_id, last_written_id, in_utc(self._clock.now()).isoformat())),
        )

    def turns_since(self, familiar_id: str, limit: int) -> list[HistoryTurn]:
        """The oldest *limit* turns not written up yet, ascending."""
        rows = self._database.read(
            f"SELECT {TURN_COLUMNS} FROM turns WHERE familiar_id = ? AND id > COALESCE("
            "(SELECT last_written_id FROM memory_writer_watermark WHERE familiar_id = ?), 0)"
            " ORDER BY id LIMIT ?",
            (familiar_id, familiar_id, max(limit, 0)),
        )
        return [turn_from_row(row) for row in rows]
