"""ChannelKeyRows: the number of each channel that its platform knows by a text.

Everything that is kept by channel goes by a number. A platform whose channels have names is given one for each name,
once and for good; a network's own number that is large (a snowflake: the milliseconds since some year, and more) stays
what it is, and so does a small one on a platform that says that it keeps them. The numbers given lie above those of
chats and below every snowflake that is in use, so that none is ever meant twice.
"""

from __future__ import annotations

import sqlite3

from familiar_connect.errors import HistoryError
from familiar_connect.identity import ChannelKey
from familiar_connect.support.lru import LruCache
from familiar_connect.support.sqlite import Database

FIRST_NUMBER, LAST_NUMBER = 10**16, 2 * 10**16
"""Snowflakes of these sizes were given in a network's first weeks, before anybody was there."""
MAX_NUMBER = 2**63 - 1
FIRST_SMALL, LAST_SMALL = 100, 10**12
"""Small numbers that a platform may keep: above those of our own doors and below those of chats."""
MAX_KEPT = 5_000
MAX_ID_CHARS = 255

KEYS_TABLE = """
CREATE TABLE IF NOT EXISTS channel_keys (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    platform TEXT NOT NULL,
    id TEXT NOT NULL,
    number INTEGER NOT NULL UNIQUE,
    UNIQUE (platform, id)
)
"""
_NEXT = f"{FIRST_NUMBER} + COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'channel_keys'), 0) + 1"
"""A row once given is never given again, so neither is its number."""


def is_large_number(number: int) -> bool:
    """Whether a network's own number is so large that it stays what it is, because none is given there."""
    return LAST_NUMBER <= number <= MAX_NUMBER


class ChannelKeyRows:
    """The table `channel_keys`. Synchronous, like the store it belongs to."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: LruCache[ChannelKey, int] = LruCache(MAX_KEPT)

    def number_of(self, key: ChannelKey, *, keeps_number: bool = False) -> int:
        """The number that all of the channel's data goes by; a channel that has none yet is given one.

        Where the platform *keeps_number*, a small number is its own, unless something of another platform has it.
        """
        if not (key.platform and 0 < len(key.id) <= MAX_ID_CHARS):
            raise HistoryError(f"a channel is called by at least one and at most {MAX_ID_CHARS} characters")
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        with self._database.transaction() as connection:
            number = self._find(key)
            if number is None:
                self._insert(connection, key, keeps_number=keeps_number)
                number = self._find(key)
        assert number is not None
        self._kept.put(key, number)
        return number

    def key_of(self, number: int) -> ChannelKey | None:
        """The channel with that number; None for one that was never asked for by a key."""
        rows = self._database.read("SELECT platform, id FROM channel_keys WHERE number = ?", (number,))
        return ChannelKey(*map(str, rows[0])) if rows else None

    def ids_from(self, platform: str, start: str, limit: int) -> list[str]:
        """The names of a platform's channels that begin with *start*, the one made last at the end."""
        rows = self._database.read(
            "SELECT id FROM channel_keys WHERE platform = ? AND substr(id, 1, ?) = ? ORDER BY row DESC LIMIT ?",
            (platform, len(start), start, limit),
        )
        return [str(row[0]) for row in reversed(rows)]

    def forget(self, key: ChannelKey) -> None:
        """Let nobody read the channel's name here any more, nor those of chats below it; no number is given again."""
        below = f"{key.id}/"
        for name in (key.id, *self.ids_from(key.platform, below, -1)):
            self._kept.pop(ChannelKey(key.platform, name))
            self._database.write("DELETE FROM channel_keys WHERE platform = ? AND id = ?", (key.platform, name))

    def _find(self, key: ChannelKey) -> int | None:
        rows = self._database.read("SELECT number FROM channel_keys WHERE platform = ? AND id = ?", key)
        return int(rows[0][0]) if rows else None

    def _insert(self, connection: sqlite3.Connection, key: ChannelKey, *, keeps_number: bool) -> None:
        own = int(key.id) if key.id.isascii() and key.id.isdigit() and not key.id.startswith("0") else 0
        is_large = is_large_number(own)
        is_kept = keeps_number and FIRST_SMALL <= own < LAST_SMALL and not self._is_used_elsewhere(own, key.platform)
        is_free = (is_large or is_kept) and self.key_of(own) is None
        connection.execute(
            f"INSERT INTO channel_keys (platform, id, number) VALUES (?, ?, {'?' if is_free else _NEXT})",
            (*key, own) if is_free else key,
        )

    def _is_used_elsewhere(self, number: int, platform: str) -> bool:
        """Whether somebody on another platform spoke in a channel of that number."""
        rows = self._database.read(
            "SELECT 1 FROM turns WHERE channel_id = ? AND author_platform <> ? LIMIT 1", (number, platform)
        )
        return bool(rows)
