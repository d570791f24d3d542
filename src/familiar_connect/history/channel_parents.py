"""Channel parent rows: for each channel something was heard in, which channel it is a thread of.

A library forgets a thread once it is archived. What was said in it is still told, so who could read it must be known.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from familiar_connect.support.lru import LruCache
from familiar_connect.support.sqlite import Database

STANDS_ALONE = 0
"""In place of a parent: the channel is no thread."""
MAX_KEPT = 5_000
MAX_READ = 20_000
"""Channels of a server that are looked at; of more, the newest."""

Parents = dict[int, int | None]
"""By channel: what it is a thread of; None: nobody knows."""


def add_channel_parents(connection: sqlite3.Connection) -> None:
    """Of channels heard before, nobody knows whether they are threads."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS channel_parents (platform TEXT NOT NULL, channel_id INTEGER NOT NULL,"
        " server_id INTEGER NOT NULL, parent_id INTEGER, PRIMARY KEY (platform, channel_id)) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX IF NOT EXISTS channel_parents_by_server ON channel_parents (platform, server_id)")
    connection.execute(
        "INSERT OR IGNORE INTO channel_parents (platform, channel_id, server_id)"
        " SELECT 'discord', channel_id, MAX(guild_id) FROM turns"
        " WHERE guild_id IS NOT NULL AND audience LIKE 'server:discord:%' GROUP BY channel_id"
    )


class ChannelParentRows:
    """The table `channel_parents`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: LruCache[tuple[str, int], int] = LruCache(MAX_KEPT)

    def is_news(self, platform: str, channel_id: int, parent_id: int) -> bool:
        """Whether this run has not written that down yet."""
        return self._kept.get((platform, channel_id)) != parent_id

    def note(self, platform: str, channel_id: int, server_id: int, parent_id: int) -> None:
        """A channel is a thread of *parent_id*, or stands alone."""
        with self._database.transaction():
            self._database.write(
                "INSERT INTO channel_parents (platform, channel_id, server_id, parent_id) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (platform, channel_id) DO UPDATE SET parent_id = excluded.parent_id"
                " WHERE parent_id IS NOT excluded.parent_id",
                (platform, channel_id, server_id, parent_id),
            )
        self._kept.put((platform, channel_id), parent_id)

    def of_servers(self, platform: str, server_ids: Iterable[int]) -> dict[int, Parents]:
        """The channels of each server that something was heard in."""
        found: dict[int, Parents] = {each: {} for each in server_ids}
        rows = self._database.read(
            "SELECT server_id, channel_id, parent_id FROM channel_parents"
            " WHERE platform = ? AND server_id IN (SELECT value FROM json_each(?)) ORDER BY channel_id DESC LIMIT ?",
            (platform, json.dumps(list(found)), MAX_READ),
        )
        for server_id, channel_id, parent_id in rows:
            found[server_id][channel_id] = parent_id
        return found

    def threads_of(self, platform: str, server_id: int, parent_id: int) -> list[int]:
        """The threads of a channel that something was heard in."""
        there = self.of_servers(platform, (server_id,))[server_id]
        return [each for each, parent in there.items() if parent == parent_id]

    def of_channels(self, platform: str, channel_ids: Iterable[int]) -> Parents:
        """The parents of those that are known."""
        rows = self._database.read(
            "SELECT channel_id, parent_id FROM channel_parents"
            " WHERE platform = ? AND channel_id IN (SELECT value FROM json_each(?))",
            (platform, json.dumps(sorted(set(channel_ids)))),
        )
        return dict(rows)
