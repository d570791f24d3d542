"""Watermark rows: how far the memory writer has written up what was said, as a whole and for each audience.

The watermark of the whole says that everything up to it is written. That of an audience says how far its own
turns are: a batch never mixes audiences, so one may be ahead of another.
"""

from __future__ import annotations

from familiar_connect.audience import Audience, parse_audience
from familiar_connect.history.rows import (
    MAX_TURNS_READ,
    REMEMBERED,
    TURN_COLUMNS,
    in_utc,
    parse_timestamp,
    text_or_none,
    turn_from_row,
)
from familiar_connect.history.types import HistoryTurn, WatermarkEntry
from familiar_connect.support.clock import Clock
from familiar_connect.support.sqlite import Database, storable_all

# The turns that no watermark covers, but those that are in no prompt and copies of others; one without an audience is
# the owner's.
_UNWRITTEN = (
    f" FROM turns WHERE familiar_id = ? AND {REMEMBERED} AND copy_of IS NULL"
    " AND id > COALESCE((SELECT last_written_id FROM memory_writer_watermark WHERE familiar_id = ?), 0)"
    " AND id > COALESCE((SELECT last_written_id FROM writer_watermarks WHERE familiar_id = ?"
    " AND writer_watermarks.audience = COALESCE(turns.audience, 'owner')), 0)"
)
_IDS = _UNWRITTEN.count("?")
"""How often `_UNWRITTEN` asks for the familiar's id."""


class WatermarkRows:
    """The tables `memory_writer_watermark` and `writer_watermarks`, and the turns that lie past them."""

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

    def get_for(self, familiar_id: str, audience: Audience) -> int:
        """The newest turn of *audience* that is written up; 0 for none."""
        rows = self._database.read(
            "SELECT last_written_id FROM writer_watermarks WHERE familiar_id = ? AND audience = ?",
            (familiar_id, str(audience)),
        )
        return int(rows[0][0]) if rows else 0

    def put_for(self, familiar_id: str, audience: Audience, turn_range: tuple[int, int]) -> None:
        """The turns of *audience* in *turn_range* are written up; the watermark of the whole follows."""
        rows = self._database.read(
            "SELECT DISTINCT COALESCE(audience, 'owner') FROM turns WHERE familiar_id = ? AND id BETWEEN ? AND ?",
            (familiar_id, *turn_range),
        )
        # An audience that cannot be read is stored in its own spelling and counts as the owner's.
        spellings = {str(audience), *(text for (text,) in rows if parse_audience(text_or_none(text)) == audience)}
        now = in_utc(self._clock.now()).isoformat()
        for spelling in sorted(map(str, spellings)):
            self._database.write(
                "INSERT INTO writer_watermarks (familiar_id, audience, last_written_id, created_at)"
                " VALUES (?, ?, ?, ?) ON CONFLICT (familiar_id, audience) DO UPDATE SET"
                " last_written_id = MAX(last_written_id, excluded.last_written_id), created_at = excluded.created_at",
                storable_all((familiar_id, spelling, turn_range[1], now)),
            )
        self._follow(familiar_id)

    def turns_since(self, familiar_id: str, limit: int) -> list[HistoryTurn]:
        """The oldest *limit* turns not written up yet, of every audience, ascending."""
        rows = self._database.read(
            f"SELECT {TURN_COLUMNS}{_UNWRITTEN} ORDER BY id LIMIT ?",
            (*(familiar_id,) * _IDS, max(limit, 0)),
        )
        return [turn_from_row(row) for row in rows]

    def count_unwritten(self, familiar_id: str, most: int = -1, channel_id: int | None = None) -> int:
        """How many turns, in *channel_id* alone if given, are not written up yet, up to *most* (below 0: no
        bound). Reads all these."""
        where, which = ("", ()) if channel_id is None else (" AND channel_id = ?", (channel_id,))
        sql = f"SELECT COUNT(*) FROM (SELECT 1{_UNWRITTEN}{where} ORDER BY id LIMIT ?)"
        return int(self._database.read(sql, (*(familiar_id,) * _IDS, *which, most))[0][0])

    def next_unwritten(self, familiar_id: str, limit: int = MAX_TURNS_READ) -> list[HistoryTurn]:
        """The oldest *limit* turns not written up yet, of the audience whose turn waits longest, ascending."""
        rows = self._database.read(
            f"SELECT {TURN_COLUMNS}{_UNWRITTEN} AND COALESCE(audience, 'owner') = (SELECT COALESCE(audience, 'owner')"
            f"{_UNWRITTEN} ORDER BY id LIMIT 1) ORDER BY id LIMIT ?",
            (*(familiar_id,) * _IDS * 2, max(limit, 0)),
        )
        return [turn_from_row(row) for row in rows]

    def _follow(self, familiar_id: str) -> None:
        """Move the watermark of the whole to just before the oldest turn that is not written up; never back."""
        oldest = self._database.read(f"SELECT MIN(id){_UNWRITTEN}", (familiar_id,) * _IDS)[0][0]
        if oldest is None:
            newest = self._database.read("SELECT MAX(id) FROM turns WHERE familiar_id = ?", (familiar_id,))[0][0]
            reached = int(newest or 0)
        else:
            reached = int(oldest) - 1
        mark = self.get(familiar_id)
        if mark is None or mark.last_written_id < reached:
            self.put(familiar_id, reached)
