"""Database: one SQLite file with one owner, opened with its migrations run.

Callable from any thread, in plain synchronous code. Writes take turns behind a lock; reads go through a
connection of their own, so nobody who reads waits while a writer flushes to disk. Whatever SQLite complains
of comes out as the owner's own error, in one sentence that names the file and the fix. A file that cannot
be read as a database is never written to, moved or replaced.
"""

from __future__ import annotations

import hashlib
import logging
import shlex
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, NoReturn, TypeAlias
from uuid import uuid4

from familiar_connect.errors import FamiliarError
from familiar_connect.support.no_follow import LinkRefused, make_folder, refuse_linked_name, refuse_linked_path
from familiar_connect.support.sqlite_schema import (
    ExpectedSchema,
    ForeignSchema,
    SchemaObject,
    Steps,
    harden,
    learn_schema,
    remove_foreign_code,
)
from familiar_connect.support.text import without_surrogates

Row: TypeAlias = tuple[Any, ...]
Durability = Literal["FULL", "NORMAL"]

MEMORY = ":memory:"
BESIDE = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database."""
BUSY_TIMEOUT_S = 5.0
"""How long to wait for another process before saying that the file is in use."""
MAX_COMPLAINTS = 20
_RETRY_S = 0.02
_BEING_MADE_S = 1.0
"""How long a new file may stay without a byte while another process makes it."""
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Migration:
    """One named step from an older layout to a newer one, run once, inside a transaction."""

    name: str
    apply: Callable[[sqlite3.Connection], None]


class Database:
    """One SQLite database and the only way to it.

    FULL means that a write is on disk when it returns; NORMAL may lose the last moments at a power cut. A file of no
    bytes is a new database where it *may_be_empty*; else it is one that lost its content, and is refused. A new one has
    pages of *page_bytes*.
    """

    def __init__(
        self,
        path: str | Path,
        migrations: Sequence[Migration],
        *,
        error: Callable[[str], Exception] = FamiliarError,
        synchronous: Durability = "FULL",
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        doctor: str | None = None,
        may_be_empty: bool = True,
        page_bytes: int | None = None,
    ) -> None:
        self.path = str(path)
        self._error = error
        self._doctor = doctor
        self._synchronous = synchronous
        self._busy_timeout_s = busy_timeout_s
        self._may_be_empty = may_be_empty
        self._page_bytes = page_bytes
        self._writing = threading.RLock()
        self._reading = threading.RLock()
        self._transaction_thread: int | None = None
        self._open: list[sqlite3.Connection] = []
        self._closed = False
        self._make_room()
        try:
            with self._plain_words():
                self._writer = self._connect()
                expected = None if self.in_memory else _schema_of(migrations)
                if expected is not None:
                    self._take_out_foreign(expected, [each.name for each in migrations])  # before it can run
                self._use_wal()
                self._migrate(migrations)
                if expected is not None:
                    self._put_back_lacking(expected)
                self._reader = self._writer if self.in_memory else self._connect(read_only=True)
        except BaseException:
            self.close()
            raise
        if self.in_memory:
            self._reading = self._writing

    @property
    def in_memory(self) -> bool:
        return self.path == MEMORY

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Every row of a query; sees all that was committed, and one's own open transaction."""
        if self._transaction_thread == threading.get_ident():
            return self._fetch(self._writer, sql, parameters)
        with self._reading:
            return self._fetch(self._reader, sql, parameters)

    def write(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """One statement; committed when it returns, unless a transaction of this thread is open.

        Text that SQLite cannot hold raises UnicodeEncodeError, and nothing is written: see `without_surrogates`.
        """
        # On the path of every message: plain `try` instead of `_plain_words`, which costs several microseconds.
        with self._writing:
            try:
                return self._writer.execute(sql, parameters)
            except sqlite3.DatabaseError as exc:
                self._complain(exc)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing. One opened inside another is part of the outer one."""
        with self._writing, self._plain_words():
            if self._transaction_thread is not None:
                yield self._writer
                return
            self._writer.execute("BEGIN IMMEDIATE")
            self._transaction_thread = threading.get_ident()
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled back already
                    self._writer.execute("ROLLBACK")
                raise
            finally:
                self._transaction_thread = None

    def check(self) -> list[str]:
        """What is wrong with the file, found by reading all of it; empty when it is sound."""
        with self._reading, self._plain_words():
            try:
                found = [str(row[0]) for row in self._reader.execute(f"PRAGMA quick_check({MAX_COMPLAINTS})")]
            except sqlite3.DatabaseError as exc:
                if _code(exc) not in _DAMAGE:
                    raise
                return [str(exc)]
        return [] if found == ["ok"] else found

    def flush_deleted(self) -> bool:
        """Empty the write-ahead log, which holds old pages; False when another program is reading."""
        with self._writing, self._plain_words():
            busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return not busy

    def compact(self) -> bool:
        """Rewrite the file without what was deleted from it, and empty its write-ahead log.

        False when another program is reading: the log then still holds old pages until that program ends.
        """
        with self._writing, self._plain_words():
            self._writer.execute("VACUUM")
            return self.flush_deleted()

    def close(self) -> None:
        """Let go of the file. Closing twice is fine; using it afterwards is an error."""
        with self._writing, self._reading:
            self._closed = True
            while self._open:
                self._open.pop().close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        for connection in getattr(self, "_open", []):
            connection.close()

    def _make_room(self) -> None:
        """Create the folder, and refuse where opening would throw away what a lost main file left behind."""
        if self.in_memory:
            return
        path = Path(self.path)
        try:
            make_folder(path.parent)
            refuse_linked_database(path)
            has_main = path.exists() and path.stat().st_size > 0
            log = Path(f"{path}-wal")
            has_log = log.exists() and log.stat().st_size > 0
        except LinkRefused as exc:
            raise self._error(str(exc)) from exc
        except OSError as exc:
            raise self._error(
                f"{path} cannot be opened or created ({exc.strerror}): "
                f"check that the folder {path.parent} can exist and be written to."
            ) from exc
        # SQLite deletes a write-ahead log whose database is missing or empty, and with it what was last written.
        if has_log and not has_main:
            raise self._error(
                self._tell_damage(f"empty or missing, while {log.name} beside it holds what was last written")
            )
        if not has_main and not self._may_be_empty and path.exists() and self._stays_empty(path):
            raise self._error(
                f"{path} is empty (0 bytes), so what it held is lost: put back a copy of it, "
                "or delete the file to start a new one on purpose."
            )

    def _stays_empty(self, path: Path) -> bool:
        """Whether a file of no bytes is left so, and not just being made by another process."""
        give_up_at = time.monotonic() + _BEING_MADE_S
        while time.monotonic() < give_up_at:
            if path.stat().st_size > 0:
                return False
            time.sleep(_RETRY_S)
        return True

    def _connect(self, *, read_only: bool = False) -> sqlite3.Connection:
        connect = _connect_in_memory if self.in_memory else connect_unlinked
        try:
            connection = connect(self.path, timeout=self._busy_timeout_s, isolation_level=None, check_same_thread=False)
        except LinkRefused as exc:
            raise self._error(str(exc)) from exc
        self._open.append(connection)
        connection.execute(f"PRAGMA synchronous={self._synchronous}")
        if self._page_bytes is not None:
            connection.execute(f"PRAGMA page_size={int(self._page_bytes)}")  # heard by a new file only
        if self._synchronous == "FULL":
            connection.execute("PRAGMA fullfsync=ON")  # macOS: a plain fsync stops at the drive's own cache
        if read_only:
            connection.execute("PRAGMA query_only=ON")
        return connection

    def _use_wal(self) -> None:
        """Switch to a write-ahead log. The switch does not heed the busy timeout, so wait here."""
        if self.in_memory:
            return
        give_up_at = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                mode = self._writer.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                break
            except sqlite3.OperationalError as exc:
                if _code(exc) != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                    raise
                time.sleep(_RETRY_S)
        if mode != "wal":
            _log.warning("database runs without a write-ahead log", extra={"path": self.path, "journal_mode": mode})

    def _migrate(self, migrations: Sequence[Migration]) -> None:
        """Run what has not run yet, in order; another process may be doing the same."""
        known = self._writer.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name='migrations'").fetchone()
        if known and all(self._has_run(migration.name) for migration in migrations):
            return
        if known:
            self._back_up(next(migration.name for migration in migrations if not self._has_run(migration.name)))
        with self.transaction() as connection:  # all or none: whoever opens the file meanwhile never sees half of them
            _make_migrations(connection)
            for migration in migrations:
                if not self._has_run(migration.name):
                    migration.apply(connection)
                    connection.execute("INSERT INTO migrations VALUES (?, datetime('now'))", (migration.name,))

    def _back_up(self, step: str) -> None:
        """Keep a copy of an older file as it was before *step* changes its layout; one made before is left alone."""
        copy = Path(f"{self.path}.before-{step}")
        if self.in_memory or copy.exists():
            return
        unfinished = Path(f"{copy}.{uuid4().hex}")  # another process may be doing the same
        copy_database(self._writer, unfinished)
        unfinished.chmod(0o600)
        unfinished.replace(copy)
        _log.info("database copied before a change of its layout", extra={"path": self.path, "copy": str(copy)})

    def _take_out_foreign(self, expected: ExpectedSchema, steps: Sequence[str]) -> None:
        """Triggers, views and the like that are none of ours go, before they can run; a copy keeps them."""
        foreign = self._foreign_in(expected)
        if not foreign:
            return
        if newer := [name for name in self._steps_run() if name not in steps]:
            raise self._error(
                f"{self.path} was changed by a newer version of this program (step {newer[0]!r} is not known here): "
                "use that version, or a copy of the file from before."
            )
        mark = hashlib.sha256("".join(each.sql for each in foreign).encode("utf-8", "replace")).hexdigest()[:8]
        self._back_up(f"cleaning-{mark}")
        with self.transaction() as connection:
            remove_foreign_code(connection, foreign)
        _log.warning(
            "the database held code that this program did not put there; it was taken out before it could run",
            extra={
                "file": self.path,
                "found": ", ".join(map(str, foreign)),
                "copy": f"{self.path}.before-cleaning-{mark}",
                "fix": "nothing is left to do; ask whoever gave you the folder",
            },
        )

    def _foreign_in(self, expected: ExpectedSchema) -> list[SchemaObject]:
        give_up_at = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                return expected.foreign_code(self._writer)
            except sqlite3.OperationalError as exc:  # another process switches the file to its write-ahead log
                if _code(exc) != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                    raise
                time.sleep(_RETRY_S)

    def _put_back_lacking(self, expected: ExpectedSchema) -> None:
        """What keeps our tables right is made again where somebody took it out."""
        lacking = expected.lacking(self._writer)
        if not lacking:
            return
        with self.transaction() as connection:
            try:
                for each in lacking:
                    connection.execute(each.sql)
            except sqlite3.IntegrityError as exc:
                raise ForeignSchema(f"{each} is missing and cannot be made again: {exc}") from exc
        _log.warning(
            "the database lacked triggers or indices of ours; they were made again",
            extra={"file": self.path, "found": ", ".join(map(str, lacking))},
        )

    def _steps_run(self) -> list[str]:
        known = self._writer.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name='migrations'").fetchone()
        return [str(row[0]) for row in self._writer.execute("SELECT name FROM migrations")] if known else []

    def _has_run(self, name: str) -> bool:
        return self._writer.execute("SELECT 1 FROM migrations WHERE name = ?", (name,)).fetchone() is not None

    def _fetch(self, connection: sqlite3.Connection, sql: str, parameters: Sequence[Any]) -> list[Row]:
        try:
            return connection.execute(sql, parameters).fetchall()
        except UnicodeEncodeError:
            return self._fetch(connection, sql, storable_all(parameters))
        except sqlite3.DatabaseError as exc:
            if not str(exc).startswith("Could not decode"):
                self._complain(exc)
            with self._plain_words():
                return _fetch_leniently(connection, sql, parameters)

    @contextmanager
    def _plain_words(self) -> Iterator[None]:
        """SQLite's complaints as the owner's error, in a sentence."""
        try:
            yield
        except sqlite3.DatabaseError as exc:
            self._complain(exc)

    def _complain(self, exc: sqlite3.DatabaseError) -> NoReturn:
        """Raise the owner's error for *exc*; a mistake of the caller, not of the file, stays what it is."""
        if isinstance(exc, sqlite3.ProgrammingError) and self._closed:
            raise self._error(f"{self.path} was closed and is no longer read or written.") from exc
        if isinstance(exc, sqlite3.ProgrammingError | sqlite3.IntegrityError):
            raise exc
        raise self._error(self._sentence(exc)) from exc

    def _sentence(self, exc: sqlite3.DatabaseError) -> str:
        where, code = self.path, _code(exc)
        folder = Path(where).parent
        if code in _DAMAGE:
            return self._tell_damage(str(exc))
        if code == sqlite3.SQLITE_FULL:
            return (
                f"{where} cannot grow because the disk is full: free some space; what was stored before is still there."
            )
        if code == sqlite3.SQLITE_READONLY:
            return f"{where} is read-only: allow writing to it and to the folder {folder}; nothing in it was changed."
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
            return f"{where} cannot be opened or created: check that it is a file and that {folder} may be written to."
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            waited = f"{self._busy_timeout_s:g} s"
            return f"{where} has been in use by another program for over {waited}: close that program and try again."
        if code == sqlite3.SQLITE_IOERR:
            return f"{where} could not be read or written ({exc}): check the disk and its free space, then try again."
        return f"{where} could not be used ({exc}); nothing in it was changed."

    def _tell_damage(self, detail: str) -> str:
        aside = f"mv {shlex.quote(self.path)}* SOME-OTHER-FOLDER/"
        doctor = f", or run `{self._doctor}`" if self._doctor else ""
        return (
            f"{self.path} is damaged ({detail}); it was left as it is: "
            f"move it aside with the files beside it ({aside}) to start a new one{doctor}."
        )


def connect_unlinked(path: Path | str, query: str = "", **settings: Any) -> sqlite3.Connection:
    """A connection to the database *path*, which may have a *query* such as `mode=ro`.

    A `LinkRefused` where it is a link, also where it became one while it was opened: nothing is read or written then.
    """
    refuse_linked_database(path)
    address = f"{Path(path).absolute().as_uri()}?{query}" if query else path
    connection: sqlite3.Connection = sqlite3.connect(address, uri=bool(query), **settings)
    try:
        refuse_linked_database(path)
        return harden(connection)
    except BaseException:
        connection.close()
        raise


def copy_database(source: sqlite3.Connection, copy: Path) -> None:
    """All of *source*, with what is not yet merged into it, as a new file."""
    with closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def clean_schema(connection: sqlite3.Connection, expected: ExpectedSchema) -> list[str]:
    """Take out what is none of ours; what it was. A `ForeignSchema` where a table of ours was made to compute."""
    foreign = expected.foreign_code(connection)
    if foreign:
        with connection:
            remove_foreign_code(connection, foreign)
    return [str(each) for each in foreign]


def _connect_in_memory(path: str, **settings: Any) -> sqlite3.Connection:
    return harden(sqlite3.connect(path, **settings))


def schema_made_by(steps: Steps) -> ExpectedSchema:
    """What *steps* make of an empty database."""
    with closing(sqlite3.connect(MEMORY, isolation_level=None)) as connection:
        return learn_schema(connection, steps)


def _schema_of(migrations: Sequence[Migration]) -> ExpectedSchema:
    """What *migrations* make; kept where they are plain functions, which make the same of every database."""
    steps = (_make_migrations, *(each.apply for each in migrations))
    return _read_kept_schema(steps) if all(isinstance(step, FunctionType) for step in steps) else schema_made_by(steps)


@lru_cache(maxsize=32)
def _read_kept_schema(steps: tuple[Callable[[sqlite3.Connection], None], ...]) -> ExpectedSchema:
    """To learn it is most of what opening a small database costs."""
    return schema_made_by(steps)


def _make_migrations(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at TEXT)")


def refuse_linked_database(path: Path | str) -> None:
    """A `LinkRefused` where the database *path*, or a file that SQLite keeps beside it, is a link or has two names."""
    refuse_linked_path(path, is_written=True)
    for ending in BESIDE:
        refuse_linked_name(Path(f"{path}{ending}"), is_written=True)


def storable_all(parameters: Sequence[Any]) -> tuple[Any, ...]:
    """*parameters* with every text in them made fit for UTF-8."""
    return tuple(without_surrogates(value) if isinstance(value, str) else value for value in parameters)


def _code(exc: sqlite3.Error) -> int | None:
    """The primary result code, without its extension."""
    code: int | None = getattr(exc, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _fetch_leniently(connection: sqlite3.Connection, sql: str, parameters: Sequence[Any]) -> list[Row]:
    """The same rows where some text in the file is not UTF-8: one bad byte costs that byte, not the row."""
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        return connection.execute(sql, parameters).fetchall()
    finally:
        connection.text_factory = str
