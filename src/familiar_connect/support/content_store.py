"""ContentStore: texts kept under the SHA-256 of their content, compressed, in one SQLite file.

One file for all, because a file of its own would cost each small text a whole disk block. A text is on
disk when `keep` returns. Texts that an older version kept one by one under `objects/ab/cdef…` are still found.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import threading
import zlib
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from familiar_connect.errors import FamiliarError
from familiar_connect.support.no_follow import load_bytes, remove_file
from familiar_connect.support.sqlite import Database, Migration

PACK_NAME = "objects.db"
LOOSE_NAME = "objects"
MAX_BYTES = 64 * 1024 * 1024
"""Nothing larger is unpacked."""
_NAME = re.compile("[0-9a-f]{64}")
_AT_ONCE = 500
_LOG_PAGES = 64
"""Pages of the write-ahead log, a quarter of a megabyte: the usual four would outweigh a small store."""


def _tables(connection: sqlite3.Connection) -> None:
    # Rows in the order they come fill their pages; keyed by hash they would leave a third of each empty.
    connection.execute("CREATE TABLE objects (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, data BLOB NOT NULL)")


MIGRATIONS = (Migration("objects", _tables),)


def hash_of(data: bytes) -> str:
    """The name a text is kept under."""
    return hashlib.sha256(data).hexdigest()


class ContentStore:
    """The texts kept in *folder*, which is made by the first of them; safe to share between threads."""

    def __init__(self, folder: Path, *, error: type[FamiliarError] = FamiliarError) -> None:
        self._folder = folder
        self._error = error
        self._lock = threading.Lock()
        self._opened: Database | None = None

    def put(self, data: bytes) -> str:
        """Store a text, once; its hash. On disk when this returns."""
        name = hash_of(data)
        if not self._has(name):
            self._pack().write(
                "INSERT INTO objects (hash, data) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (bytes.fromhex(name), zlib.compress(data, 9)),
            )
        return name

    def put_all(self, texts: Iterable[bytes]) -> None:
        """Store texts together. All on disk when this returns."""
        with self._pack().transaction():
            for data in texts:
                self.put(data)

    def read(self, name: str) -> bytes:
        """The text stored under *name*; damage is told, never handed out."""
        shown = f"the text stored under {name[:12]} in {self._folder}"
        if not _NAME.fullmatch(name):
            raise self._error(f"{name[:12]!r} is not the hash of a text in {self._folder}: the log there is damaged")
        packed = self._packed(name)
        if packed is None:
            raise self._error(
                f"no text is stored under {name[:12]} in {self._folder}: restore a copy of its {PACK_NAME}"
            )
        try:
            unpacking = zlib.decompressobj()
            data = unpacking.decompress(packed, MAX_BYTES)
        except zlib.error as error:
            raise self._error(f"{shown} cannot be read: {error}") from None
        if not unpacking.eof or hash_of(data) != name:
            raise self._error(f"{shown} is damaged")
        return data

    def check(self, names: Iterable[str]) -> list[str]:
        """What is wrong with the store and with the texts in it that *names* says there are; empty when all is well."""
        try:
            found = self._pack().check() if self._is_packed() else []
        except FamiliarError as error:
            return [str(error)]
        if found:
            return [f"{self._folder / PACK_NAME} is damaged ({found[0]}): restore a copy of it"]
        lost: list[str] = []
        for name in sorted(set(names)):
            try:
                self.read(name)
            except FamiliarError as error:
                lost.append(str(error))
        more = f"; so it is with {len(lost) - 1:,} more" if len(lost) > 1 else ""
        return [f"{lost[0]}{more}"] if lost else []

    def discard(self, names: Iterable[str]) -> int:
        """Remove texts for good, leaving none of them in the file's free space; how many there were."""
        doomed = iter(sorted(set(names)))
        removed = 0
        while some := list(islice(doomed, _AT_ONCE)):
            removed += sum(self._unlink(name) for name in some)
            if self._is_packed():
                pack = self._pack()
                pack.write("PRAGMA secure_delete=ON")
                marks = ",".join("?" * len(some))
                removed += pack.write(
                    f"DELETE FROM objects WHERE hash IN ({marks})", [bytes.fromhex(name) for name in some]
                ).rowcount
        return removed

    def orphans(self, named: Container[str]) -> Iterator[tuple[str, bytes]]:
        """Texts whose name is not among *named*, with that name."""
        for name in self._names():
            if name not in named:
                with suppress(FamiliarError):
                    yield name, self.read(name)

    def flush_deleted(self) -> bool:
        """Leave nothing of removed texts in the file's log; False when another program still holds old pages."""
        return self._pack().flush_deleted() if self._is_packed() else True

    def compact(self) -> bool:
        """Give back what removed texts took up; False when another program still holds old pages."""
        return self._pack().compact() if self._is_packed() else True

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _names(self) -> list[str]:
        loose = [f"{file.parent.name}{file.name}" for file in (self._folder / LOOSE_NAME).glob("??/*")]
        names = [name for name in loose if len(name) == 64]
        if self._is_packed():
            names += [bytes(row[0]).hex() for row in self._pack().read("SELECT hash FROM objects")]
        return names

    def _has(self, name: str) -> bool:
        if self._loose(name).exists():
            return True
        if not self._is_packed():
            return False
        return bool(self._pack().read("SELECT 1 FROM objects WHERE hash = ?", (bytes.fromhex(name),)))

    def _packed(self, name: str) -> bytes | None:
        if self._is_packed():
            rows = self._pack().read("SELECT data FROM objects WHERE hash = ?", (bytes.fromhex(name),))
            if rows:
                return bytes(rows[0][0])
        try:
            return load_bytes(self._loose(name))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._error(
                f"the text stored under {name[:12]} in {self._folder} cannot be read: {error.strerror}"
            ) from None

    def _unlink(self, name: str) -> bool:
        try:
            remove_file(self._loose(name), missing_ok=False)
        except FileNotFoundError:
            return False
        return True

    def _loose(self, name: str) -> Path:
        return self._folder / LOOSE_NAME / name[:2] / name[2:]

    def _is_packed(self) -> bool:
        return self._opened is not None or (self._folder / PACK_NAME).exists()

    def _pack(self) -> Database:
        with self._lock:
            if self._opened is None:
                path = self._folder / PACK_NAME
                self._opened = Database(path, MIGRATIONS, error=self._error, synchronous="FULL", may_be_empty=False)
                self._opened.write(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")
            return self._opened
