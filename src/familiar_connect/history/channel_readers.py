"""Channel reader rows: for a hidden channel and its rules of some time, the people who could read it all that time.

A row only ever loses people. It holds marks made of ids, not the ids, and is gone once there are too many rows;
then nobody counts as having been there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from familiar_connect.audience import Readers, RuledChannel
from familiar_connect.history.rows import in_utc, parse_timestamp
from familiar_connect.support.clock import Clock
from familiar_connect.support.lru import LruCache
from familiar_connect.support.sqlite import Database

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
        return _bounded(ReaderSet(self.marks | frozenset(map(mark_of, others)), self.joined_by))


def reader_set(readers: Collection[str], others: Collection[str], now: datetime) -> ReaderSet:
    """The people *readers*, whom all of a server but *others* is; in whichever form is shorter."""
    if len(readers) <= len(others):
        return _bounded(ReaderSet(frozenset(map(mark_of, readers))))
    return _bounded(ReaderSet(frozenset(map(mark_of, others)), in_utc(now)))


def _bounded(people: ReaderSet) -> ReaderSet:
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
