"""Channel statistics: counts per channel and the people in it, at the same cost however long the history is.

`channel_stats` and `channel_authors` sum up every turn up to one id; the few turns after it are read from
`turns` and added to each answer, in the same statement, so an answer is always exact. Now and then the later
turns are folded in. That keeps an append to one row in one table, and makes the tables caches in the plain
sense: emptied, they cost time and nothing else. Found missing or holding what no fold writes, they are made anew.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from typing import Any

from familiar_connect.errors import HistoryError
from familiar_connect.support.sqlite import Database, Row

FOLD_EVERY = 64
"""Turns after which the newest are folded in."""

# Both hold exactly the turns with id <= folded_to. A turn without a mode is counted under ''.
_SIDE_TABLES = (
    """
    CREATE TABLE IF NOT EXISTS channel_stats (
        familiar_id TEXT NOT NULL,
        channel_id INTEGER NOT NULL,
        mode TEXT NOT NULL,
        turn_count INTEGER NOT NULL,
        last_id INTEGER NOT NULL,
        last_timestamp TEXT NOT NULL,
        PRIMARY KEY (familiar_id, channel_id, mode)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS channel_authors (
        familiar_id TEXT NOT NULL,
        channel_id INTEGER NOT NULL,
        author_platform TEXT NOT NULL,
        author_user_id TEXT NOT NULL,
        last_turn_id INTEGER NOT NULL,
        username TEXT,
        display_name TEXT,
        PRIMARY KEY (familiar_id, channel_id, author_platform, author_user_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS channel_authors_by_recency ON channel_authors (familiar_id, channel_id, last_turn_id)",
    "CREATE TABLE IF NOT EXISTS side_tables (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), folded_to INTEGER)",
    "INSERT OR IGNORE INTO side_tables VALUES (1, 0)",
)

# Taking away or changing a turn that was folded in, by whatever program, empties the caches: still right, and
# the next fold fills them again.
_FORGET = """
    CREATE TRIGGER IF NOT EXISTS {name} AFTER {event} ON turns
    WHEN OLD.id <= (SELECT folded_to FROM side_tables) BEGIN
        DELETE FROM channel_stats;
        DELETE FROM channel_authors;
        UPDATE side_tables SET folded_to = 0;
    END
"""
_SUMMED_UP = (
    "id, familiar_id, channel_id, mode, timestamp,"
    " author_platform, author_user_id, author_username, author_display_name"
)
_TRIGGERS = (
    _FORGET.format(name="folded_turn_removed", event="DELETE"),
    _FORGET.format(name="folded_turn_changed", event=f"UPDATE OF {_SUMMED_UP}"),
)

_UNFOLDED = "id > (SELECT folded_to FROM side_tables)"

_FOLD_STATS = """
INSERT INTO channel_stats (familiar_id, channel_id, mode, turn_count, last_id, last_timestamp)
SELECT familiar_id, channel_id, COALESCE(mode, ''), COUNT(*), MAX(id), timestamp
FROM turns WHERE id > ? GROUP BY familiar_id, channel_id, COALESCE(mode, '')
ON CONFLICT (familiar_id, channel_id, mode) DO UPDATE SET
    turn_count = turn_count + excluded.turn_count,
    last_id = excluded.last_id,
    last_timestamp = excluded.last_timestamp
"""

_FOLD_AUTHORS = """
INSERT INTO channel_authors
    (familiar_id, channel_id, author_platform, author_user_id, last_turn_id, username, display_name)
SELECT familiar_id, channel_id, author_platform, author_user_id, MAX(id), author_username, author_display_name
FROM turns WHERE id > ? AND author_platform IS NOT NULL AND author_user_id IS NOT NULL
GROUP BY familiar_id, channel_id, author_platform, author_user_id
ON CONFLICT (familiar_id, channel_id, author_platform, author_user_id) DO UPDATE SET
    last_turn_id = excluded.last_turn_id,
    username = excluded.username,
    display_name = excluded.display_name
"""

_RECENT_AUTHORS = f"""
SELECT author_platform, author_user_id, username, display_name, MAX(last_turn_id) FROM (
    SELECT author_platform, author_user_id, author_username AS username, author_display_name AS display_name,
        id AS last_turn_id
    FROM turns WHERE familiar_id = ? AND channel_id = ? AND {_UNFOLDED}
        AND author_platform IS NOT NULL AND author_user_id IS NOT NULL
    UNION ALL
    SELECT * FROM (
        SELECT author_platform, author_user_id, username, display_name, last_turn_id
        FROM channel_authors WHERE familiar_id = ? AND channel_id = ? ORDER BY last_turn_id DESC LIMIT ?)
) GROUP BY author_platform, author_user_id ORDER BY 5 DESC LIMIT ?
"""

_OTHER_CHANNELS = f"""
SELECT channel_id, mode, MAX(last_id), last_timestamp FROM (
    SELECT channel_id, mode, id AS last_id, timestamp AS last_timestamp
    FROM turns WHERE familiar_id = ? AND {_UNFOLDED}
    UNION ALL
    SELECT channel_id, mode, last_id, last_timestamp FROM channel_stats WHERE familiar_id = ?
) WHERE channel_id <> ? GROUP BY channel_id ORDER BY 3 DESC
"""
# Wherever a row holds one MAX, SQLite takes the other plain columns from the row with the maximum: the newest turn.

_STATE = "SELECT folded_to, COALESCE((SELECT MAX(id) FROM turns), 0) FROM side_tables"
_ANYTHING_ODD = """
SELECT EXISTS (SELECT 1 FROM channel_stats WHERE typeof(turn_count) <> 'integer' OR typeof(last_id) <> 'integer')
    OR EXISTS (SELECT 1 FROM channel_authors WHERE typeof(last_turn_id) <> 'integer')
"""

_log = logging.getLogger(__name__)


class ChannelStats:
    """What is known of channels without reading their turns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._folded_to = 0
        self._keep_up()
        if self._read(_ANYTHING_ODD)[0][0]:
            self._repair()

    def count(self, where: str, values: Sequence[Any], before_id: int | None = None) -> int:
        """Turns for which *where* holds, a condition on familiar, channel and mode; or only those before an id."""
        self._keep_up()
        sql = (
            f"SELECT (SELECT TOTAL(turn_count) FROM channel_stats WHERE {where})"
            f" + (SELECT COUNT(*) FROM turns WHERE {where} AND {_UNFOLDED})"
        )
        if before_id is None:
            return int(self._read(sql, [*values, *values])[0][0])
        # Taken away in the same statement: a turn that arrives in between must not be missing from the count.
        sql += f" - (SELECT COUNT(*) FROM turns WHERE {where} AND id >= ?)"
        return int(self._read(sql, [*values, *values, *values, before_id])[0][0])

    def recent_authors(self, familiar_id: str, channel_id: int, limit: int) -> list[Row]:
        """Platform, id and both names of the people of a channel, newest first."""
        self._keep_up()
        here = (familiar_id, channel_id)
        return [row[:4] for row in self._read(_RECENT_AUTHORS, (*here, *here, limit, limit))]

    def other_channels(self, familiar_id: str, exclude_channel_id: int) -> list[Row]:
        """Channel, mode, newest id and its timestamp, newest first."""
        self._keep_up()
        return self._read(_OTHER_CHANNELS, (familiar_id, familiar_id, exclude_channel_id))

    def fold_if_due(self, turn_id: int) -> None:
        """Fold when it is time. The turn is stored by now, so a fold that fails must not look like its loss."""
        if turn_id - self._folded_to < FOLD_EVERY:
            return
        try:
            self.fold()
        except HistoryError as exc:
            _log.warning("side tables of the history could not be folded", extra={"error": str(exc)})

    def fold(self) -> None:
        """Sum up the turns that came since the last fold."""
        with self._database.transaction() as connection:
            if not _is_sound(connection.execute(_STATE).fetchall()):
                self._repair()
            self._folded_to = _fold(connection)

    def rebuild(self) -> None:
        """Sum up everything anew."""
        with self._database.transaction() as connection:
            recreate_channel_stats(connection)
            self._folded_to = _fold(connection)

    def _keep_up(self) -> None:
        """Fold if other hands have added many turns, or changed some, since we last did."""
        state = self._read(_STATE)
        if not _is_sound(state):
            self._repair()
            return
        self._folded_to, newest = state[0]
        self.fold_if_due(newest)

    def _read(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Rows of a query over the tables, which are made anew where one of them is missing or of another form."""
        try:
            return self._database.read(sql, parameters)
        except HistoryError as exc:
            if not str(exc.__cause__).startswith(("no such table", "no such column")):
                raise
        self._repair()
        return self._database.read(sql, parameters)

    def _repair(self) -> None:
        _log.warning("side tables of the history were damaged and are made anew")
        self.rebuild()


def _is_sound(state: list[Row]) -> bool:
    """Whether the one row says up to which of the stored turns all is folded."""
    return len(state) == 1 and isinstance(state[0][0], int) and 0 <= state[0][0] <= state[0][1]


def _fold(connection: sqlite3.Connection) -> int:
    """Fold what is unfolded; the id up to which all is folded now."""
    before, newest = connection.execute(_STATE).fetchone()
    if newest <= before:
        return int(before)
    connection.execute(_FOLD_STATS, (before,))
    connection.execute(_FOLD_AUTHORS, (before,))
    connection.execute("UPDATE side_tables SET folded_to = ?", (newest,))
    return int(newest)


def recreate_channel_stats(connection: sqlite3.Connection) -> None:
    """The caches, empty and as they should be, whatever stood in their place."""
    for table in ("channel_stats", "channel_authors", "side_tables"):
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    add_channel_stats(connection)


def add_channel_stats(connection: sqlite3.Connection) -> None:
    """Make the caches, and what empties them, where they are missing."""
    for statement in (*_SIDE_TABLES, *_TRIGGERS):
        connection.execute(statement)
