"""Channel marks: where a channel's dialogue begins for the model, set by whoever controls the chat.

After a reset nothing from before it is shown; a compact stands for everything before it with its summary. No turn is
changed, so taking a mark back brings everything back. A compact whose summary may hold words that are not to be told
any more is removed by whatever removes other summaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from familiar_connect.history.rows import in_utc, parse_timestamp
from familiar_connect.support.clock import Clock
from familiar_connect.support.sqlite import Database, storable_all

MARK_TABLES = (
    """
    CREATE TABLE IF NOT EXISTS channel_marks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        familiar_id TEXT NOT NULL,
        channel_id INTEGER NOT NULL,
        kind TEXT NOT NULL,
        after_id INTEGER NOT NULL,
        made_at TEXT NOT NULL,
        summary TEXT NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS channel_marks_by_channel ON channel_marks (familiar_id, channel_id, id)",
)


class StartKind(StrEnum):
    reset = "reset"
    compact = "compact"


@dataclass(frozen=True, kw_only=True)
class DialogueStart:
    """From here on a channel's dialogue is shown."""

    channel_id: int
    kind: StartKind
    after_id: int
    """The newest turn that it covers."""
    made_at: datetime
    summary: str = ""
    """What stands for the turns it covers; empty for a reset."""


class DialogueStartRows:
    """The table `channel_marks`. Synchronous, like the store it stands beside."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def newest(self, familiar_id: str, channel_id: int, *, before_id: int | None = None) -> DialogueStart | None:
        """The mark in force, or the one that was in force before the turn *before_id*."""
        rows = self._database.read(
            "SELECT channel_id, kind, after_id, made_at, summary FROM channel_marks"
            " WHERE familiar_id = ? AND channel_id = ? AND (? IS NULL OR after_id < ?) ORDER BY id DESC LIMIT 1",
            (familiar_id, channel_id, before_id, before_id),
        )
        if not rows or rows[0][1] not in list(StartKind):
            return None
        where, kind, after_id, made_at, summary = rows[0]
        return DialogueStart(
            channel_id=where,
            kind=StartKind(kind),
            after_id=after_id,
            made_at=parse_timestamp(made_at),
            summary=str(summary),
        )

    def last_reset_ids(self, familiar_id: str) -> dict[int, int]:
        """The newest turn before the last reset of each channel that has one."""
        rows = self._database.read(
            "SELECT channel_id, MAX(after_id) FROM channel_marks WHERE familiar_id = ? AND kind = ?"
            " GROUP BY channel_id",
            (familiar_id, StartKind.reset.value),
        )
        return {int(channel_id): int(after_id) for channel_id, after_id in rows}

    def put(
        self, familiar_id: str, channel_id: int, kind: StartKind, *, after_id: int, summary: str = ""
    ) -> DialogueStart:
        """Begin the channel's dialogue after *after_id*."""
        now = in_utc(self._clock.now())
        values = (familiar_id, channel_id, kind.value, after_id, now.isoformat(), summary)
        self._database.write(
            "INSERT INTO channel_marks (familiar_id, channel_id, kind, after_id, made_at, summary)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            storable_all(values),
        )
        return DialogueStart(channel_id=channel_id, kind=kind, after_id=after_id, made_at=now, summary=summary)

    def remove_newest(self, familiar_id: str, channel_id: int, kind: StartKind) -> bool:
        """Take the mark in force back; False where it is none of that *kind*."""
        with self._database.transaction() as connection:
            row = connection.execute(
                "SELECT id, kind FROM channel_marks WHERE familiar_id = ? AND channel_id = ? ORDER BY id DESC LIMIT 1",
                (familiar_id, channel_id),
            ).fetchone()
            if row is None or row[1] != kind.value:
                return False
            connection.execute("DELETE FROM channel_marks WHERE id = ?", (row[0],))
        return True
