"""The ledger of past turns: traces → SQLite.

Writing is buffered; reading sees what is flushed. The ledger observes: a database that is missing,
locked, corrupt or on a full disk costs one warning and the traces themselves, never a turn. A row that
makes no sense is passed over and the others are shown; a home that cannot be written can be read. Each
operation opens and closes the database, so nothing is tied to a thread or an event loop; callers on
a loop run it in a thread.
"""

from __future__ import annotations

import json
import logging
import math
import sqlite3
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any, Protocol, TypeVar, runtime_checkable

from familiar_connect.observe.trace import StageSpan, TurnTrace, pack_facts, unpack_facts
from familiar_connect.support.no_follow import make_folder
from familiar_connect.support.sqlite import clean_schema, connect_unlinked, schema_made_by
from familiar_connect.support.sqlite_schema import ExpectedSchema

logger = logging.getLogger(__name__)

DEFAULT_KEEP = 20_000
"""Traces kept; older ones are pruned when new ones are flushed."""
MAX_BUFFERED = 1_000
"""Traces held while the database cannot be written."""
BUSY_TIMEOUT_S = 5.0
MAX_NESTING = 32
"""Facts nested deeper were not written by us."""
_READ_ONLY = ("mode=ro", "mode=ro&immutable=1")
"""Ways to read where nothing may be written; the last for a folder that cannot even hold a lock."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS traces (
    id INTEGER PRIMARY KEY,
    trace_id TEXT NOT NULL,
    familiar_id TEXT NOT NULL,
    channel_id INTEGER NOT NULL,
    guild_id INTEGER,
    modality TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    at REAL NOT NULL,
    total_duration_s REAL NOT NULL,
    tags TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS traces_by_time ON traces (familiar_id, at, id);
CREATE INDEX IF NOT EXISTS traces_by_trace_id ON traces (trace_id);
CREATE TABLE IF NOT EXISTS stages (
    trace INTEGER NOT NULL REFERENCES traces (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    start_s REAL NOT NULL,
    duration_s REAL NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (trace, place)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spending (
    familiar_id TEXT NOT NULL,
    day TEXT NOT NULL,
    person TEXT NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    money REAL NOT NULL,
    PRIMARY KEY (familiar_id, day, person)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS place_spending (
    familiar_id TEXT NOT NULL,
    day TEXT NOT NULL,
    place TEXT NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    money REAL NOT NULL,
    PRIMARY KEY (familiar_id, day, place)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refusals (
    familiar_id TEXT NOT NULL,
    day TEXT NOT NULL,
    person TEXT NOT NULL,
    reason TEXT NOT NULL,
    messages INTEGER NOT NULL,
    told INTEGER NOT NULL,
    last_at TEXT NOT NULL,
    PRIMARY KEY (familiar_id, day, person, reason)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS replies (
    familiar_id TEXT NOT NULL,
    minute INTEGER NOT NULL,
    whose TEXT NOT NULL,
    replies INTEGER NOT NULL,
    PRIMARY KEY (familiar_id, minute, whose)
) WITHOUT ROWID;
"""
_TRACE_COLUMNS = "id, trace_id, familiar_id, channel_id, guild_id, modality, timestamp, total_duration_s, tags"
_NEWEST_FIRST = "ORDER BY at DESC, id DESC"

T = TypeVar("T")


@runtime_checkable
class MetricsCollector(Protocol):
    """Receives finished traces."""

    def record(self, trace: TurnTrace) -> None: ...
    def close(self) -> None: ...


class NullCollector:
    """A collector that keeps nothing."""

    def record(self, trace: TurnTrace) -> None:
        """Let *trace* go."""

    def close(self) -> None:
        """Nothing to close."""


class SQLiteCollector:
    """Traces in `metrics.db`."""

    def __init__(
        self, db_path: Path | str, *, flush_interval: int = 50, keep: int = DEFAULT_KEEP, holds_open: bool = False
    ) -> None:
        """With *holds_open* the database stays open from the first write until `close`.

        Whoever closes it last, after every turn, has all of it flushed to disk; so nobody does while a familiar runs.
        """
        self._path = Path(db_path)
        self._holds_open = holds_open
        self._held: sqlite3.Connection | None = None
        self._flush_interval = max(1, flush_interval)
        self._keep = keep
        self._buffer: deque[TurnTrace] = deque(maxlen=max(MAX_BUFFERED, self._flush_interval))
        self._since_flush = 0
        self._lock = RLock()
        self._warned = False

    def record(self, trace: TurnTrace) -> None:
        """Take *trace*; every `flush_interval` of them are written together."""
        with self._lock:
            self._buffer.append(trace)
            self._since_flush += 1
            if self._since_flush >= self._flush_interval:
                self.flush()

    def flush(self) -> None:
        """Write what is buffered. What cannot be written now is kept for the next time, within bounds."""
        with self._lock:
            self._since_flush = 0
            if not self._buffer:
                return
            written = self._guard(self._write, False)
            if written:
                self._buffer.clear()

    def close(self) -> None:
        """Write what is buffered, and let go of the database. May be called more than once."""
        self.flush()
        with self._lock:
            self._holds_open = False
            if self._held is not None:
                self._held.close()
                self._held = None

    def recent_traces(
        self,
        *,
        familiar_id: str,
        limit: int = 100,
        before: str | None = None,
        facts: Collection[str] | None = None,
    ) -> list[TurnTrace]:
        """The newest flushed traces, newest first; with *before* those that are older than the trace of that id.

        With *facts* the stages have no others: a list of many turns needs few, and the rest is most of the work.
        """
        if before is None:
            return self._traces(f"WHERE familiar_id = ? {_NEWEST_FIRST}", (familiar_id,), limit, facts)
        older = "(at, id) < (SELECT at, id FROM traces WHERE trace_id = ?)"
        return self._traces(f"WHERE familiar_id = ? AND {older} {_NEWEST_FIRST}", (familiar_id, before), limit, facts)

    def traces_in_range(self, *, familiar_id: str, start: str | datetime, end: str | datetime) -> list[TurnTrace]:
        """Flushed traces from *start* to *end*, both included, oldest first."""
        return self._traces(
            "WHERE familiar_id = ? AND at BETWEEN ? AND ? ORDER BY at, id",
            (familiar_id, _seconds(start), _seconds(end)),
        )

    def starts_in_channel(
        self, *, familiar_id: str, channel_id: int, start: datetime, end: datetime
    ) -> list[tuple[str, float]]:
        """Ids of one channel's flushed traces and when each began, in seconds since 1970; oldest first."""
        query = (
            "SELECT trace_id, at FROM traces WHERE familiar_id = ? AND at BETWEEN ? AND ? AND channel_id = ?"
            " ORDER BY at, id"
        )
        values = (familiar_id, _seconds(start), _seconds(end), channel_id)
        return self._read(lambda db: [(str(row[0]), float(row[1])) for row in db.execute(query, values)], [])

    def stage_durations(self, *, familiar_id: str, stage_name: str, limit: int = 1000) -> list[float]:
        """How long one stage took in the newest flushed traces, newest first."""
        query = (
            "SELECT stages.duration_s FROM traces JOIN stages ON stages.trace = traces.id"
            " WHERE familiar_id = ? AND name = ? ORDER BY at DESC, id DESC, place LIMIT ?"
        )

        def durations(db: sqlite3.Connection) -> list[float]:
            return [row[0] for row in db.execute(query, (familiar_id, stage_name, limit)) if _is_number(row[0])]

        return self._read(durations, [])

    def last_trace(self, familiar_id: str) -> TurnTrace | None:
        """The newest trace, flushed first when it is still buffered."""
        self.flush()
        return next(iter(self.recent_traces(familiar_id=familiar_id, limit=1)), None)

    def trace(self, trace_id: str) -> TurnTrace | None:
        """One trace by its id, flushed first when it is still buffered."""
        self.flush()
        return next(iter(self._traces("WHERE trace_id = ? ORDER BY id DESC", (trace_id,), 1)), None)

    def trace_ids_like(self, part: str, *, familiar_id: str, limit: int = 5) -> list[str]:
        """Ids of traces that begin or end with *part*, newest first."""
        escaped = part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        query = (
            "SELECT trace_id FROM traces WHERE familiar_id = ?"
            f" AND (trace_id LIKE ? ESCAPE '\\' OR trace_id LIKE ? ESCAPE '\\') {_NEWEST_FIRST} LIMIT ?"
        )
        values = (familiar_id, f"{escaped}%", f"%{escaped}", limit)
        return self._read(lambda db: [str(row[0]) for row in db.execute(query, values)], [])

    def forget_words(self, is_meant: Callable[[object], bool], *, since: datetime) -> int:
        """Empty the facts of stages since then that *is_meant*, so that only their times are left; how many."""
        self.flush()

        def empty() -> int:
            with open_ledger(self._path) as db:
                rows = db.execute(
                    "SELECT trace, place, metadata FROM stages WHERE trace IN (SELECT id FROM traces WHERE at >= ?)",
                    (_seconds(since),),
                ).fetchall()
                doomed = [(trace, place) for trace, place, facts in rows if _are_meant(facts, is_meant)]
                if doomed:
                    db.execute("PRAGMA secure_delete = ON")
                    with db:
                        db.executemany(
                            "UPDATE stages SET metadata = ? WHERE trace = ? AND place = ?",
                            [(pack_facts({}), trace, place) for trace, place in doomed],
                        )
                    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                return len(doomed)

        with self._lock:
            return self._guard(empty, 0) if self._path.exists() else 0

    def problem(self) -> str | None:
        """What keeps the database from being read, if anything does."""
        try:
            with self._open_to_read() as db:
                found = db.execute("PRAGMA quick_check(1)").fetchone()
        except (sqlite3.Error, OSError) as failure:
            return str(failure)
        return None if found == ("ok",) else str(found[0] if found else "it is empty")

    def _traces(
        self,
        condition: str,
        values: Sequence[object],
        limit: int | None = None,
        facts: Collection[str] | None = None,
    ) -> list[TurnTrace]:
        """At most *limit* traces that can be read; one warning counts those that cannot."""

        def query(db: sqlite3.Connection) -> list[TurnTrace]:
            found: list[TurnTrace] = []
            unreadable = 0
            for row in db.execute(f"SELECT {_TRACE_COLUMNS} FROM traces {condition}", values):
                if limit is not None and len(found) >= limit:
                    break
                try:
                    found.append(_to_trace(row, _stages_of(db, row[0], facts)))
                except (ValueError, TypeError, RecursionError):
                    unreadable += 1
            if unreadable:
                logger.warning("past turns passed over", extra={"file": str(self._path), "unreadable": unreadable})
            return found

        return self._read(query, [])

    def _read(self, query: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        def read() -> T:
            with self._open_to_read() as db:
                return query(db)

        with self._lock:
            return self._guard(read, otherwise) if self._path.exists() else otherwise

    def _write(self) -> bool:
        make_folder(self._path.parent)
        with open_ledger(self._path) as db, db:
            for trace in self._buffer:
                _insert(db, trace)
            db.execute(
                "DELETE FROM traces WHERE id <= (SELECT id FROM traces ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (self._keep,),
            )
            if self._holds_open and self._held is None:
                self._hold()
        self._warned = False
        return True

    def _hold(self) -> None:
        """Keep one connection that reads nothing more: the others open and close beside it without a flush."""
        held = connect_unlinked(self._path, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
        try:
            held.execute("SELECT 1 FROM traces LIMIT 1").fetchall()
        except sqlite3.Error:
            held.close()
            raise
        self._held = held

    @contextmanager
    def _open_to_read(self) -> Iterator[sqlite3.Connection]:
        with closing(self._connect_to_read()) as db:
            db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield db

    def _connect_to_read(self) -> sqlite3.Connection:
        """As for writing, so that an older file is brought up to date; else, where that is forbidden, as it is."""
        try:
            return self._connect("mode=rwc", prepare_ledger)
        except sqlite3.OperationalError as refused:
            for access in _READ_ONLY:
                with suppress(sqlite3.OperationalError):
                    return self._connect(access, lambda db: db.execute("SELECT 1 FROM traces LIMIT 1"))
            raise refused

    def _connect(self, access: str, look: Callable[[sqlite3.Connection], object]) -> sqlite3.Connection:
        db = connect_unlinked(self._path, access, timeout=BUSY_TIMEOUT_S)
        try:
            look(db)
        except BaseException:
            db.close()
            raise
        return db

    def _guard(self, action: Callable[[], T], otherwise: T) -> T:
        """*action*, or *otherwise* and one warning until writing works again."""
        try:
            return action()
        except (sqlite3.Error, OSError, ValueError) as failure:
            if not self._warned:
                logger.warning(
                    "past turns cannot be kept or read; the program goes on without them",
                    extra={"file": str(self._path), "error": f"{type(failure).__name__}: {failure}"},
                )
            self._warned = True
            return otherwise


@contextmanager
def open_ledger(path: Path) -> Iterator[sqlite3.Connection]:
    """The database at *path*, with its tables, for as long as the block runs."""
    with closing(connect_unlinked(path, timeout=BUSY_TIMEOUT_S)) as db:
        prepare_ledger(db)
        yield db


@cache
def _expect_schema() -> ExpectedSchema:
    return schema_made_by([lambda db: db.executescript(_SCHEMA)])


def prepare_ledger(db: sqlite3.Connection) -> None:
    """Its tables, and nothing in it that others made to run."""
    found = clean_schema(db, _expect_schema())
    if found:
        logger.warning(
            "the ledger held code that this program did not put there; it was taken out before it could run",
            extra={"found": ", ".join(found)},
        )
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA foreign_keys = ON")
    db.executescript(_SCHEMA)


def _insert(db: sqlite3.Connection, trace: TurnTrace) -> None:
    row = db.execute(
        "INSERT INTO traces (trace_id, familiar_id, channel_id, guild_id, modality, timestamp, at,"
        " total_duration_s, tags) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            trace.trace_id,
            trace.familiar_id,
            trace.channel_id,
            trace.guild_id,
            trace.modality,
            trace.timestamp,
            _seconds(trace.timestamp),
            trace.total_duration_s,
            json.dumps(dict(trace.tags), default=str),
        ),
    ).lastrowid
    db.executemany(
        "INSERT INTO stages (trace, place, name, start_s, duration_s, metadata) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (row, place, span.name, span.start_s, span.duration_s, pack_facts(span.metadata))
            for place, span in enumerate(trace.stages)
        ],
    )


def _stages_of(db: sqlite3.Connection, row_id: int, facts: Collection[str] | None) -> tuple[StageSpan, ...]:
    rows = db.execute(
        "SELECT name, start_s, duration_s, metadata FROM stages WHERE trace = ? ORDER BY place", (row_id,)
    )
    return tuple(
        StageSpan(_text(n), _number(start), _number(took), _facts(metadata, facts)) for n, start, took, metadata in rows
    )


def _are_meant(facts: str | bytes, is_meant: Callable[[object], bool]) -> bool:
    """Whether the facts of a stage *is_meant*; what cannot be read counts as yes."""
    try:
        return is_meant(unpack_facts(facts))
    except (ValueError, TypeError, RecursionError):
        return True


def _to_trace(row: Sequence[Any], stages: tuple[StageSpan, ...]) -> TurnTrace:
    _, trace_id, familiar_id, channel_id, guild_id, modality, timestamp, total_duration_s, tags = row
    return TurnTrace(
        trace_id=_text(trace_id),
        familiar_id=_text(familiar_id),
        channel_id=int(_number(channel_id)),
        guild_id=None if guild_id is None else int(_number(guild_id)),
        modality=_text(modality),
        timestamp=_text(timestamp),
        total_duration_s=_number(total_duration_s),
        stages=stages,
        tags={key: str(value) for key, value in _facts(tags).items()},
    )


def _facts(text: Any, names: Collection[str] | None = None) -> dict[str, Any]:
    """Facts as they were written, those of *names* or all; a number that JSON does not know is nothing."""
    found = unpack_facts(text, names)
    if not isinstance(found, dict) or not _is_shallow(found, MAX_NESTING):
        raise ValueError("no facts")
    return found


def _is_shallow(value: object, levels: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in inside)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _number(value: Any) -> Any:
    if not _is_number(value):
        raise ValueError("no number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _seconds(moment: str | datetime) -> float:
    """*moment* on one scale, whatever its offset; without one it is taken as UTC."""
    try:
        when = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    except ValueError:
        return 0.0
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
