"""Channel reader rows: for a hidden channel and its rules of some time, the people who could read it all that time.

A row only ever loses people. It holds marks made of ids, not the ids, and is gone once there are too many rows;
then nobody counts as having been there.

Channel parent rows: for each channel something was heard in, which channel it is a thread of.

A library forgets a thread once it is archived. What was said in it is still told, so who could read it must be known.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from familiar_connect.audience import Readers, RuledChannel
from familiar_connect.history.rows import in_utc, parse_timestamp
from familiar_connect.support.clock import Clock
from familiar_connect.support.lru import LruCache
from familiar_connect.support.sqlite import Database

STANDS_ALONE = 0
"""In place of a parent: the channel is no thread."""
MAX_PARENTS_KEPT = 5_000
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
        self._kept: LruCache[tuple[str, int], int] = LruCache(MAX_PARENTS_KEPT)

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


MAX_PEOPLE = 20_000
"""People that one row names; of more, nobody counts."""
MAX_ROWS = 5_000
MAX_KEPT, MAX_KEPT_MARKS = 2_000, 200_000
MARK_BYTES = 8

READERS_TABLE = """
CREATE TABLE IF NOT EXISTS channel_readers (
    platform TEXT NOT NULL,
    channel_id INTEGER NOT NULL,
    rules TEXT NOT NULL,
    people TEXT NOT NULL,
    joined_by TEXT,
    seen_at TEXT NOT NULL,
    PRIMARY KEY (platform, channel_id, rules)
)
"""


def mark_of(user_id: str) -> str:
    """What stands for a person in a row."""
    return hashlib.blake2b(user_id.encode(), digest_size=MARK_BYTES).hexdigest()


@dataclass(frozen=True)
class ReaderSet:
    """Some people: those marked, or everybody who had joined by then but for those marked."""

    marks: frozenset[str]
    joined_by: datetime | None = None
    """None: those marked."""

    def includes(self, user_id: str, joined_at: datetime | None) -> bool:
        if self.joined_by is None:
            return mark_of(user_id) in self.marks
        is_early = joined_at is not None and in_utc(joined_at) <= self.joined_by
        return is_early and mark_of(user_id) not in self.marks

    def without_all_but(self, readers: Collection[str], others: Collection[str]) -> ReaderSet:
        """Those of these people who are among *readers*; *others* are the rest of the server."""
        if self.joined_by is None:
            return ReaderSet(self.marks & frozenset(map(mark_of, readers)))
        return _bound(ReaderSet(self.marks | frozenset(map(mark_of, others)), self.joined_by))


def reader_set(readers: Collection[str], others: Collection[str], now: datetime) -> ReaderSet:
    """The people *readers*, whom all of a server but *others* is; in whichever form is shorter."""
    if len(readers) <= len(others):
        return _bound(ReaderSet(frozenset(map(mark_of, readers))))
    return _bound(ReaderSet(frozenset(map(mark_of, others)), in_utc(now)))


def _bound(people: ReaderSet) -> ReaderSet:
    return people if len(people.marks) <= MAX_PEOPLE else ReaderSet(frozenset())


class ChannelReaderRows:
    """The table `channel_readers`, and who could read each channel when that was last looked at."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._kept: LruCache[RuledChannel, ReaderSet | None] = LruCache(
            MAX_KEPT, size=MAX_KEPT_MARKS, size_of=lambda people: len(people.marks) if people is not None else 0
        )
        self.now: LruCache[int, Readers] = LruCache(MAX_ROWS)
        """By channel; of this run only."""

    def get(self, key: RuledChannel) -> ReaderSet | None:
        """Those who could read the channel all the time it had these rules; None: nobody knows."""
        if key not in self._kept:
            rows = self._database.read(
                "SELECT people, joined_by FROM channel_readers WHERE platform = ? AND channel_id = ? AND rules = ?",
                tuple(key),
            )
            found = _set_of(*rows[0]) if rows else None
            self._kept.put(key, found)
            return found
        return self._kept.get(key)

    def note(self, key: RuledChannel, readers: Collection[str], others: Collection[str]) -> None:
        """These people, and of their server not *others*, can read the channel under its rules now."""
        with self._database.transaction():
            self._kept.pop(key)
            before = self.get(key)
            now = self._clock.now()
            people = before.without_all_but(readers, others) if before else reader_set(readers, others, now)
            if people != before:
                self._write(key, people, now)
        self._kept.put(key, people)

    def _write(self, key: RuledChannel, people: ReaderSet, now: datetime) -> None:
        joined_by = people.joined_by.isoformat() if people.joined_by is not None else None
        self._database.write(
            "INSERT INTO channel_readers (platform, channel_id, rules, people, joined_by, seen_at)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (platform, channel_id, rules)"
            " DO UPDATE SET people = excluded.people, joined_by = excluded.joined_by, seen_at = excluded.seen_at",
            (*key, json.dumps(sorted(people.marks)), joined_by, in_utc(now).isoformat()),
        )
        self._database.write(
            "DELETE FROM channel_readers WHERE rowid IN"
            " (SELECT rowid FROM channel_readers ORDER BY seen_at DESC LIMIT -1 OFFSET ?)",
            (MAX_ROWS,),
        )


def _set_of(people: str, joined_by: str | None) -> ReaderSet:
    """What a row says; one that cannot be read names nobody."""
    try:
        found = json.loads(people)
        marks = frozenset(str(each) for each in found) if isinstance(found, list) else None
        by = parse_timestamp(joined_by) if joined_by is not None else None
    except ValueError:
        return ReaderSet(frozenset())
    return ReaderSet(marks, by) if marks is not None else ReaderSet(frozenset())
