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
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from familiar_connect.config.folders import INDEX_NAME
from familiar_connect.errors import FamiliarError
from familiar_connect.support.no_follow import LinkRefused, load_bytes, make_folder, open_to_append, remove_file
from familiar_connect.support.sqlite import Database, Migration, Row, refuse_linked_database

Vector = NDArray[np.float32]

BUSY_TIMEOUT_S = 1.0
BLOCK_ROWS = 131_072
"""One product covers this many vectors; a larger home has several."""
FIRST_ROWS = 1_024
LOAD_ROWS = 4_096
"""Vectors read from the file at a time."""
_SUFFIXES = ("", "-wal", "-shm", "-journal")

_log = logging.getLogger(__name__)


class IndexUnavailable(FamiliarError):
    """The index cannot be used for the moment; what it was made from is unharmed."""


class DerivedFile:
    """One SQLite file that is made again whenever it does not fit *identity* (version, model, size)."""

    def __init__(self, path: Path, *, create: Callable[[sqlite3.Connection], None], identity: dict[str, str]) -> None:
        self.path = path
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

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; the first one makes the file, and keeps it out of version control."""
        with self._troubles() as database, database.transaction() as connection:
            yield connection

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

    @contextmanager
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
                raise IndexUnavailable(f"{self.path} was closed.")
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
                self._discard("made for another " + " and ".join(changed))
            except IndexUnavailable as exc:
                if not _is_damage(exc) or attempt:
                    raise
                self._discard("damaged")
        return self._connect()

    def _connect(self) -> Database:
        _make_room(self.path)
        with contextlib.suppress(OSError):
            if self.path.stat().st_size == 0 or not self.path.exists():
                _remove(self.path)
        if not self.path.exists():
            _remove(self.path)  # a log whose database is gone belongs to nothing
            keep_out_of_git(self.path.parent)
        return Database(
            self.path,
            [Migration("tables", self._make)],
            error=IndexUnavailable,
            synchronous="NORMAL",
            busy_timeout_s=BUSY_TIMEOUT_S,
        )

    def _make(self, connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
        connection.executemany("INSERT INTO meta VALUES (?, ?)", self._identity.items())
        self._create(connection)

    def _discard(self, reason: str) -> None:
        _log.warning("memory index is made anew", extra={"path": str(self.path), "reason": reason})
        _remove(self.path)

    def _let_go(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None


class Vectors:
    """Unit vectors under numbers, searched as one matrix and changed in place. Safe to use from any thread.

    Rows lie in large blocks, so that growing a large home copies nothing; taking one away moves the last there.
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._lock = threading.Lock()
        self._blocks: list[Vector] = []
        self._ids: list[int] = []
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self) -> list[int]:
        """The numbers in use, in no order."""
        with self._lock:
            return list(self._ids)

    def put(self, ids: Sequence[int], vectors: Vector) -> None:
        """Add rows, or replace those whose number is known."""
        with self._lock:
            for number, vector in zip(ids, vectors, strict=True):
                place = self._places.get(number)
                if place is None:
                    place = self._places[number] = len(self._ids)
                    self._ids.append(number)
                    self._make_room(place)
                self._blocks[place // BLOCK_ROWS][place % BLOCK_ROWS] = vector

    def drop(self, ids: Iterable[int]) -> None:
        """Take rows away; numbers that are not there do not matter."""
        with self._lock:
            for number in ids:
                place = self._places.pop(number, None)
                if place is None:
                    continue
                last = len(self._ids) - 1
                moved = self._ids.pop()
                if place != last:
                    self._blocks[place // BLOCK_ROWS][place % BLOCK_ROWS] = self._blocks[last // BLOCK_ROWS][
                        last % BLOCK_ROWS
                    ]
                    self._ids[place] = moved
                    self._places[moved] = place

    def clear(self) -> None:
        with self._lock:
            self._blocks, self._ids, self._places = [], [], {}

    def nearest(self, vector: Vector, limit: int) -> list[tuple[int, float]]:
        """Numbers and cosines of the *limit* nearest rows, best first; equal ones by number."""
        with self._lock:
            count = len(self._ids)
            if count == 0 or limit <= 0:
                return []
            scores = self._scores(vector, count)
            first = max(0, count - limit)
            places = np.argpartition(scores, first)[first:] if first else np.arange(count)
            found = [(self._ids[place], float(scores[place])) for place in places.tolist()]
        found.sort(key=lambda hit: (-hit[1], hit[0]))
        return found

    def cosines(self, vector: Vector, ids: Sequence[int]) -> dict[int, float]:
        """The cosines of certain rows; those that are not there are left out."""
        with self._lock:
            known = [number for number in ids if number in self._places]
            if not known:
                return {}
            places = np.fromiter((self._places[number] for number in known), dtype=np.int64, count=len(known))
            scores = np.empty(len(known), dtype=np.float32)
            for number, block in enumerate(self._blocks):
                here = places // BLOCK_ROWS == number
                scores[here] = block[places[here] % BLOCK_ROWS] @ vector
        return dict(zip(known, scores.tolist(), strict=True))

    def _make_room(self, place: int) -> None:
        """A row for *place*: the first block doubles until it is full, the others are made whole."""
        number, row = divmod(place, BLOCK_ROWS)
        if number == len(self._blocks):
            rows = FIRST_ROWS if number == 0 else BLOCK_ROWS
            self._blocks.append(np.empty((rows, self.dim), dtype=np.float32))
        elif row == len(self._blocks[number]):
            grown = np.empty((min(2 * row, BLOCK_ROWS), self.dim), dtype=np.float32)
            grown[:row] = self._blocks[number]
            self._blocks[number] = grown

    def _scores(self, vector: Vector, count: int) -> Vector:
        if count <= BLOCK_ROWS:
            return np.asarray(self._blocks[0][:count] @ vector)
        scores = np.empty(count, dtype=np.float32)
        for number, block in enumerate(self._blocks):
            start = number * BLOCK_ROWS
            rows = min(BLOCK_ROWS, count - start)
            if rows > 0:
                np.matmul(block[:rows], vector, out=scores[start : start + rows])
        return scores


def sync_vectors(vectors: Vectors, file: DerivedFile, stored: Set[int], select: str) -> None:
    """Make *vectors* hold the rows *stored* and no others. Those missing are read from *file* with *select*.

    *select* gives `id, vector` and takes the ids as one JSON array. Called where the file may be another one than
    before, or another process may have written it.
    """
    held = set(vectors.ids())
    vectors.drop(held - stored)
    missing = sorted(stored - held)
    for start in range(0, len(missing), LOAD_ROWS):
        rows = file.read(select, (json.dumps(missing[start : start + LOAD_ROWS]),))
        vectors.put([row[0] for row in rows], from_blobs([row[1] for row in rows], vectors.dim))


def to_blob(vector: Vector) -> bytes:
    """A vector as it is stored: little-endian float32, of length one."""
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length > 0 else vector, dtype="<f4").tobytes()


def from_blobs(blobs: Sequence[bytes], dim: int) -> Vector:
    """Stored vectors as one matrix."""
    return np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), dim).astype(np.float32, copy=False)


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
