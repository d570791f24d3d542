"""Storage of an index: a SQLite file that may be thrown away, and vectors that change in place.

An index is derived from files or from history, so whatever is wrong with it (damaged, from another version, made
with another model, deleted while open) has one remedy: begin anew, with one line in the log. Only a file that
another program keeps locked is left alone; then the index has nothing to say for the moment.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from familiar_connect.config.folders import INDEX_NAME
from familiar_connect.errors import FamiliarError
from familiar_connect.support.no_follow import LinkRefused, load_bytes, make_folder, open_to_append, remove_file
from familiar_connect.support.sqlite import Database, Migration, Row, refuse_linked_database

Vector = NDArray[np.float32]
Numbers = NDArray[np.int64]

BUSY_TIMEOUT_S = 1.0
BLOCK_ROWS = 131_072
"""One product covers this many vectors; a larger home has several."""
FIRST_ROWS = 1_024
OPENED_ROWS = 256
"""Vectors made floats at a time; a far larger product would be shared by threads, which spin for a while afterwards."""
MOST_STEPS = 127
"""What a byte counts up to."""
LOAD_ROWS = 4_096
"""Vectors read from the file at a time."""
MAX_ROWS = 4_096
"""Rows of units held; whoever asks again asks about the same."""
COMPACT_AFTER_ROWS = 500
"""Rows put in out of order leave their pages half empty; so many of them are worth writing the file anew."""
_SUFFIXES = ("", "-wal", "-shm", "-journal")

_log = logging.getLogger(__name__)


class IndexUnavailable(FamiliarError):
    """The index cannot be used for the moment; what it was made from is unharmed."""


class IndexClosed(IndexUnavailable):
    """The program is ending, and the index with it."""


class DerivedFile:
    """One SQLite file that is made again whenever it does not fit *identity* (version, model, size).

    *page_bytes* are for rows of which hardly two have room in a page of the usual size.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: Callable[[sqlite3.Connection], None],
        identity: dict[str, str],
        page_bytes: int | None = None,
    ) -> None:
        self.path = path
        self._page_bytes = page_bytes
        self._create = create
        self._identity = identity
        self._lock = threading.RLock()
        self._database: Database | None = None
        self._stamp: tuple[int, int] | None = None
        self._closed = False
        self.open_count = 0
        """How often the rows were seen to be other ones than before: what was read from them is void then."""

    def read(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Every row of a query."""
        with self._troubles() as database:
            return database.read(sql, parameters)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; the first one makes the file, and keeps it out of version control."""
        with self._troubles() as database, database.transaction() as connection:
            yield connection

    def foreign_version(self) -> tuple[int, int]:
        """Another pair once another process wrote to the file; what goes through here does not count."""
        with self.transaction() as connection:
            version = int(connection.execute("PRAGMA data_version").fetchone()[0])
        return self.open_count, version

    def try_open(self) -> None:
        """Open or make the file, if nothing stands in the way; whatever does shows with the first use."""
        with contextlib.suppress(IndexUnavailable, OSError):
            self._ready()

    def reopen_if_replaced(self) -> None:
        """Notice that somebody deleted or replaced the file, and begin anew."""
        with self._lock:
            if self._database is not None and _stamp(self.path) != self._stamp:
                _log.info("memory index was removed and is made again", extra={"path": str(self.path)})
                self._let_go()

    def compact_once_level(self, changed: int, word_table: str) -> None:
        """After *changed* rows came or went: where those are many, have the file as small as what it holds.

        Each transaction added a part of its own to the table of words, with many of the same words; they are made one.
        Another program that reads the file just then is no reason to fail: the next time will do.
        """
        if changed >= COMPACT_AFTER_ROWS:
            with contextlib.suppress(IndexUnavailable), self._troubles() as database:
                database.write(f"INSERT INTO {word_table} ({word_table}) VALUES ('optimize')")
                database.compact()

    def flush_deleted(self, word_table: str) -> None:
        """Leave nothing of removed rows in the file: a table of words keeps them until it is merged."""
        with self._troubles() as database:
            database.write(f"INSERT INTO {word_table} ({word_table}) VALUES ('optimize')")
            database.flush_deleted()

    def reset(self, reason: str) -> None:
        """Throw the file away; the next use makes it again."""
        with self._lock:
            _log.warning("memory index is made anew", extra={"path": str(self.path), "reason": reason})
            self._let_go()
            _remove(self.path)

    def close(self) -> None:
        with self._lock:
            self._let_go()
            self._closed = True

    @contextlib.contextmanager
    def _troubles(self) -> Iterator[Database]:
        """The open database; damage met on the way throws it away, so that the next use finds a sound one."""
        database = self._ready()
        try:
            yield database
        except IndexUnavailable as exc:
            if _is_damage(exc):
                self.reset("damaged")
            raise

    def _ready(self) -> Database:
        with self._lock:
            if self._closed:
                raise IndexClosed(f"{self.path} was closed.")
            if self._database is None:
                self._database = self._open()
                self._stamp = _stamp(self.path)
                self.open_count += 1
            return self._database

    def _open(self) -> Database:
        """The file as it should be, made again at most once."""
        for attempt in range(2):
            try:
                database = self._connect()
                found: dict[str, str] = dict(database.read("SELECT key, value FROM meta"))
                if all(found.get(key) == value for key, value in self._identity.items()):
                    return database
                changed = [key for key, value in self._identity.items() if found.get(key) != value]
                database.close()
                self.reset("made for another " + " and ".join(changed))
            except IndexUnavailable as exc:
                if not _is_damage(exc) or attempt:
                    raise
                self.reset("damaged")
        return self._connect()

    def _connect(self) -> Database:
        _make_room(self.path)
        with contextlib.suppress(OSError):
            if self.path.stat().st_size == 0 or not self.path.exists():
                _remove(self.path)
        if not self.path.exists():
            _remove(self.path)  # a log whose database is gone belongs to nothing
            keep_out_of_git(self.path.parent)
        steps = [Migration("tables", self._make)]
        database = Database(
            self.path,
            steps,
            error=IndexUnavailable,
            synchronous="NORMAL",
            busy_timeout_s=BUSY_TIMEOUT_S,
            page_bytes=self._page_bytes,
        )
        database.write("PRAGMA secure_delete=ON")  # what leaves the index leaves its file
        return database

    def _make(self, connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
        connection.executemany("INSERT INTO meta VALUES (?, ?)", self._identity.items())
        self._create(connection)

    def _let_go(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None


@dataclass(frozen=True)
class Similarities:
    """How near every row is to one vector: the numbers of the rows in order, and their cosines."""

    ids: Numbers
    cosines: Vector

    def only(self, ids: Numbers) -> Similarities:
        """Those of *ids* alone."""
        kept = np.isin(self.ids, ids)
        return Similarities(self.ids[kept], self.cosines[kept])

    def nearest_ids(self, limit: int) -> Numbers:
        """Numbers of the *limit* nearest rows, in no order."""
        first = max(0, len(self.ids) - max(0, limit))
        return self.ids[np.argpartition(self.cosines, first)[first:]] if 0 < first < len(self.ids) else self.ids[first:]

    def of(self, ids: Numbers, missing: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """The cosines of certain rows, and *missing* for those that are not there."""
        if not len(self.ids):
            return np.broadcast_to(np.asarray(missing, dtype=np.float64), ids.shape).copy()
        places = np.searchsorted(self.ids, ids).clip(0, len(self.ids) - 1)
        return np.where(self.ids[places] == ids, self.cosines[places].astype(np.float64), missing)


class Vectors:
    """Unit vectors under numbers, searched as one matrix and changed in place. Safe to use from any thread.

    A row is held as whole numbers of one byte and the step they count, a quarter of what floats take; its cosines are
    off by about a two-thousandth. Rows lie in large blocks, so that growing a large home copies nothing; taking one
    away moves the last there.
    """

    def __init__(self, dim: int, most_steps: int = MOST_STEPS) -> None:
        """*most_steps* is what the largest number of a row counts; what was stored in such steps is held as it is."""
        self.dim = dim
        self._most_steps = most_steps
        self._lock = threading.Lock()
        self._blocks: list[NDArray[np.int8]] = []
        self._steps: Vector = np.empty(0, dtype=np.float32)
        self._count = 0
        self._numbers: Numbers = np.empty(0, dtype=np.int64)
        """The number of each row, by place, with room at the end."""
        self._sorted: tuple[Numbers, Numbers] | None = None
        """The numbers in order and the place of each; None after a change."""

    def __len__(self) -> int:
        return self._count

    def ids(self) -> Numbers:
        """The numbers in use, in order."""
        with self._lock:
            return self._in_order()[0]

    def put(self, ids: Sequence[int] | Numbers, vectors: Vector) -> None:
        """Add rows, or replace those whose number is known."""
        numbers = np.asarray(ids, dtype=np.int64)
        if len(numbers) != len(vectors):
            raise ValueError(f"{len(numbers)} numbers came with {len(vectors)} vectors")
        with self._lock:
            places = dict(zip(numbers.tolist(), self._places(numbers).tolist(), strict=True))
            steps = np.abs(vectors).max(axis=1, initial=1e-12) / self._most_steps
            rounded = np.rint(vectors / steps[:, None]).astype(np.int8)
            for number, row, step in zip(numbers.tolist(), rounded, steps, strict=True):
                if places[number] < 0:
                    places[number] = self._append(number)
                self._blocks[places[number] // BLOCK_ROWS][places[number] % BLOCK_ROWS] = row
                self._steps[places[number]] = step

    def drop(self, ids: Iterable[int]) -> None:
        """Take rows away; numbers that are not there do not matter."""
        numbers = np.fromiter(sorted(set(ids)), dtype=np.int64)
        with self._lock:
            places = self._places(numbers)
            for place in np.sort(places[places >= 0])[
                ::-1
            ].tolist():  # from the end: the last row is always one to keep
                last = self._count - 1
                if place != last:
                    source = self._blocks[last // BLOCK_ROWS][last % BLOCK_ROWS]
                    self._blocks[place // BLOCK_ROWS][place % BLOCK_ROWS] = source
                    self._numbers[place], self._steps[place] = self._numbers[last], self._steps[last]
                self._count = last
                self._sorted = None

    def clear(self) -> None:
        with self._lock:
            self._blocks, self._count, self._sorted = [], 0, None

    def compare(self, vector: Vector) -> Similarities:
        """How near every row is to *vector*, in one product."""
        with self._lock:
            numbers, places = self._in_order()
            return Similarities(numbers, self._scores(vector)[places])

    def nearest(self, vector: Vector, limit: int) -> list[tuple[int, float]]:
        """Numbers and cosines of the *limit* nearest rows, best first; equal ones by number."""
        near = self.compare(vector)
        best = near.nearest_ids(limit)
        found = zip(best.tolist(), near.of(best, 0.0).tolist(), strict=True)
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))

    def _in_order(self) -> tuple[Numbers, Numbers]:
        if self._sorted is None:
            places = np.argsort(self._numbers[: self._count], kind="stable")
            self._sorted = self._numbers[places], places
        return self._sorted

    def _places(self, wanted: Numbers) -> Numbers:
        """Where the rows of *wanted* lie; -1 for those that are not there."""
        numbers, places = self._in_order()
        if not len(numbers):
            return np.full(len(wanted), -1)
        at = np.searchsorted(numbers, wanted).clip(0, len(numbers) - 1)
        return np.where(numbers[at] == wanted, places[at], -1)

    def _append(self, number: int) -> int:
        """A row for *number*: the first block doubles until it is full, the others are made whole."""
        place = self._count
        block, row = divmod(place, BLOCK_ROWS)
        if block == len(self._blocks):
            rows = FIRST_ROWS if block == 0 else BLOCK_ROWS
            self._blocks.append(np.empty((rows, self.dim), dtype=np.int8))
        elif row == len(self._blocks[block]):
            grown = np.empty((min(2 * row, BLOCK_ROWS), self.dim), dtype=np.int8)
            grown[:row] = self._blocks[block]
            self._blocks[block] = grown
        if place == len(self._numbers):
            more = max(FIRST_ROWS, place)
            self._numbers = np.concatenate((self._numbers, np.zeros(more, dtype=np.int64)))
            self._steps = np.concatenate((self._steps, np.zeros(more, dtype=np.float32)))
        self._numbers[place] = number
        self._count = place + 1
        self._sorted = None
        return place

    def _scores(self, vector: Vector) -> Vector:
        """The cosine of every row, by place; few rows at a time, so that they stay in the processor's cache."""
        scores, vector = np.empty(self._count, dtype=np.float32), np.asarray(vector, dtype=np.float32)
        opened = np.empty((min(OPENED_ROWS, self._count), self.dim), dtype=np.float32)
        for first, block in zip(range(0, self._count, BLOCK_ROWS), self._blocks, strict=False):
            for start in range(first, min(first + BLOCK_ROWS, self._count), OPENED_ROWS):
                rows = block[start - first : min(start + OPENED_ROWS, self._count) - first]
                np.copyto(opened[: len(rows)], rows)
                np.dot(opened[: len(rows)], vector, scores[start : start + len(rows)])
        scores *= self._steps[: self._count]
        return scores


class RowCache:
    """Rows of units as the file holds them, read once as long as it stays as it is. Safe to use from any thread.

    *read* gives the rows of the units it is given; each begins with its number.
    """

    def __init__(self, read: Callable[[list[int]], Iterable[Row]]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._level: object = None
        self._rows: dict[int, Row | None] = {}

    def get(self, units: Iterable[int], level: object) -> dict[int, Row]:
        """The rows of those of *units* that there are; *level* is another value once the file was changed."""
        wanted = list(units)
        with self._lock:
            if level != self._level or len(self._rows) > MAX_ROWS:
                self._rows, self._level = {}, level
            rows = self._rows
        missing = [unit for unit in wanted if unit not in rows]
        if missing:
            found = {row[0]: row for row in self._read(missing)}
            rows.update((unit, found.get(unit)) for unit in missing)
        return {unit: row for unit in wanted if (row := rows.get(unit)) is not None}


def sync_vectors(
    vectors: Vectors,
    file: DerivedFile,
    stored: Numbers,
    select: str,
    decode: Callable[[Sequence[bytes], int], Vector],
) -> None:
    """Make *vectors* hold the rows *stored* and no others. Those missing are read from *file* with *select*.

    *select* gives `id, vector` and takes the ids as one JSON array. Called where the file may be another one than
    before, or another process may have written it.
    """
    held = vectors.ids()
    vectors.drop(np.setdiff1d(held, stored, assume_unique=True).tolist())
    missing = np.setdiff1d(stored, held, assume_unique=True).tolist()
    for start in range(0, len(missing), LOAD_ROWS):
        rows = file.read(select, (json.dumps(missing[start : start + LOAD_ROWS]),))
        vectors.put([row[0] for row in rows], decode([row[1] for row in rows], vectors.dim))


def read_ids(file: DerivedFile, select: str, parameters: Sequence[object] = ()) -> Numbers:
    """The one column of numbers that *select* gives."""
    rows = file.read(select, parameters)
    return np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))


def read_joined_ids(file: DerivedFile, select: str, parameters: Sequence[object] = ()) -> Numbers:
    """As `read_ids`, in no order: for thousands of numbers one text of them is far quicker to hand over than rows."""
    joined = file.read(f"SELECT group_concat(rowid) FROM ({select})", parameters)[0][0]
    return np.fromstring(joined or "", dtype=np.int64, sep=",")


def keep_out_of_git(index_folder: Path) -> None:
    """Name the index folder in the memory folder's `.gitignore`; lines that are there stay."""
    if index_folder.name != INDEX_NAME:
        return
    path = index_folder.parent / ".gitignore"
    try:
        present = load_bytes(path) if path.exists() else b""
        if any(line.strip().strip(b"/") == INDEX_NAME.encode() for line in present.splitlines()):
            return
        gap = b"" if not present or present.endswith(b"\n") else b"\n"
        with open_to_append(path) as file:
            file.write(gap + f"{INDEX_NAME}/\n".encode())
    except OSError as exc:
        _log.warning("the index folder could not be named in .gitignore", extra={"path": str(path), "error": str(exc)})


def _make_room(path: Path) -> None:
    try:
        make_folder(path.parent)
        refuse_linked_database(path)
    except LinkRefused as exc:
        raise IndexUnavailable(str(exc)) from exc


def _remove(path: Path) -> None:
    for suffix in _SUFFIXES:
        with contextlib.suppress(OSError):
            remove_file(f"{path}{suffix}")


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _is_damage(exc: BaseException) -> bool:
    """Whether making the file again would help: not where it is merely in use or the disk is full."""
    cause = exc.__cause__
    if not isinstance(cause, sqlite3.DatabaseError):
        return cause is None and "damaged" in str(exc)
    code = (getattr(cause, "sqlite_errorcode", None) or 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or (
        code == sqlite3.SQLITE_ERROR and ("no such" in str(cause) or "already exists" in str(cause))
    )
