"""AuditLog: who changed which memory file, when, and every text that ever stood there.

Kept outside the memory folder: `log.jsonl`, one line per change, only ever added to, and
`objects/ab/cdef…`, the texts themselves under the SHA-256 of their content, compressed. Texts are on
disk before the line that names them, the line before the file changes, and a short second line says
that it did. So after a crash the log may announce a change that did not happen, and never lacks one
that did; the next look at the file takes such a line back. Edits made by hand are noticed the same way,
by comparing what stands in the file with what the log says.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.types import OWNER, AuditEntry
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.files import atomic_write, sweep_temporaries, sync_folder, write_all

LOG_NAME = "log.jsonl"
OBJECTS_NAME = "objects"

_TORN = b"#torn\n"
"""Ends a line that a crash cut short, so that it is not taken for a whole one."""

_log = logging.getLogger(__name__)


class CurrentFiles(Protocol):
    """What `reconcile` asks of a store."""

    def bytes_if_present(self, rel_path: str) -> bytes | None: ...


class AuditLog:
    """The write log and earlier versions of one memory folder; safe to share between threads.

    *folder* is made by the first record. Several processes may add lines; each sees the others'.
    """

    def __init__(self, folder: Path, *, clock: Clock | None = None) -> None:
        self.folder = folder
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._latest: dict[str, AuditEntry] = {}
        self._unfinished: set[str] = set()
        self._read_to = 0

    def keep(self, data: bytes) -> str:
        """Store a text, once; its hash. On disk when this returns."""
        content_hash = hash_of(data)
        home = self._object(content_hash)
        if not home.exists():
            atomic_write(home, zlib.compress(data))
            sync_folder(home.parent.parent)
        return content_hash

    def read(self, content_hash: str) -> bytes:
        """The text stored under *content_hash*."""
        shown = content_hash[:12]
        try:
            data = zlib.decompress(self._object(content_hash).read_bytes())
        except FileNotFoundError:
            raise MemoryStoreError(f"no memory text is stored under {shown} in {self.folder}") from None
        except (OSError, zlib.error) as error:
            raise MemoryStoreError(f"the memory text stored under {shown} cannot be read: {error}") from None
        if hash_of(data) != content_hash:
            raise MemoryStoreError(f"the memory text stored under {shown} in {self.folder} is damaged")
        return data

    def announce(self, entry: AuditEntry) -> None:
        """Add the line of a change about to be made, on disk when this returns. Its texts are kept already."""
        self._append(_to_json(entry))

    def finish(self, entry: AuditEntry) -> None:
        """Say that the announced change was made."""
        self._append({"done": entry.rel_path}, flush=False)

    def withdraw(self, entry: AuditEntry) -> None:
        """Take back the latest line about a file: the change it announced was not made."""
        self._append({"withdrawn": entry.rel_path, "after": entry.hash_after})

    def entries(self, rel_path: str | None = None) -> list[AuditEntry]:
        """Every change, oldest first; of one file, or of all."""
        found: list[AuditEntry] = []
        for line, _ in self._lines(0):
            entry = _from_json(line)
            if entry is not None:
                found.append(entry)
            elif (position := _position_of(line, found)) is not None:
                del found[position]
        return [entry for entry in found if rel_path is None or entry.rel_path == rel_path]

    def last_hash(self, rel_path: str) -> str | None:
        """What the log says stands in the file; None when it knows of no text there."""
        with self._lock:
            self._catch_up()
            latest = self._latest.get(rel_path)
        return None if latest is None else latest.hash_after

    def notice(self, rel_path: str, content_hash: str | None, size: int) -> AuditEntry | None:
        """Bring the log to what stands in the file; the entry of a hand edit, if that is what it took.

        The text is kept already. An announced change that was not made is taken back.
        """
        with self._lock:
            before = self.last_hash(rel_path)
            if before != content_hash and rel_path in self._unfinished:
                latest = self._latest[rel_path]
                if latest.hash_before == content_hash:
                    self.withdraw(latest)
                    before = self.last_hash(rel_path)
            if before == content_hash:
                return None
            entry = AuditEntry(
                rel_path=rel_path,
                operation="delete" if content_hash is None else "write",
                bytes_written=size,
                source=OWNER,
                timestamp=self._clock.now(),
                hash_before=before,
                hash_after=content_hash,
            )
            self._append(_to_json(entry))
            return entry

    def reconcile(self, store: CurrentFiles) -> list[AuditEntry]:
        """Compare every file the log knows with what stands there; the hand edits recorded.

        For the start of the program. Files the log has never heard of are left alone: their text is
        kept when the store first changes them.
        """
        for folder in (self.folder / OBJECTS_NAME).glob("*"):
            sweep_temporaries(folder)
        with self._lock:
            self._catch_up()
            known = {rel_path: latest.hash_after for rel_path, latest in self._latest.items()}
        noticed: list[AuditEntry] = []
        for rel_path, expected in known.items():
            try:
                data = store.bytes_if_present(rel_path)
            except MemoryStoreError as error:
                _log.warning("memory file could not be compared with its log", extra={"error": type(error).__name__})
                continue
            current = None if data is None else hash_of(data)
            if current == expected:
                continue
            if data is not None:
                self.keep(data)
            entry = self.notice(rel_path, current, len(data or b""))
            noticed += [entry] if entry else []
        return noticed

    def _object(self, content_hash: str) -> Path:
        return self.folder / OBJECTS_NAME / content_hash[:2] / content_hash[2:]

    def _append(self, line: dict[str, Any], *, flush: bool = True) -> None:
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        path = self.folder / LOG_NAME
        with self._lock:
            self.folder.mkdir(parents=True, exist_ok=True)
            is_new = not path.exists()
            fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
            try:
                if _ends_torn(fd):
                    data = _TORN + data
                write_all(fd, data)
                if flush:
                    os.fsync(fd)
            finally:
                os.close(fd)
            if is_new:
                sync_folder(self.folder)

    def _catch_up(self) -> None:
        """Read what was added to the log since the last look, by us or by others."""
        for line, end in self._lines(self._read_to):
            self._read_to = end
            entry = _from_json(line)
            if entry is not None:
                self._latest[entry.rel_path] = entry
                self._unfinished.discard(entry.rel_path)
                if entry.source != OWNER:
                    self._unfinished.add(entry.rel_path)
            elif isinstance(name := line.get("done"), str):
                self._unfinished.discard(name)
            elif isinstance(name := line.get("withdrawn"), str):
                earlier = self.entries(name)
                self._latest.pop(name, None)
                self._unfinished.discard(name)
                if earlier:
                    self._latest[name] = earlier[-1]

    def _lines(self, start: int) -> Iterator[tuple[dict[str, Any], int]]:
        """Whole lines from *start* on, each with the offset of its end; damaged ones are passed over."""
        try:
            with open(self.folder / LOG_NAME, "rb") as file:
                file.seek(start)
                data = file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise MemoryStoreError(f"cannot read the audit log {self.folder / LOG_NAME}: {error.strerror}") from None
        end = start
        for raw in data.splitlines(keepends=True):
            if not raw.endswith(b"\n"):
                return
            end += len(raw)
            try:
                line = json.loads(raw)
            except ValueError:
                line = None
            if isinstance(line, dict):
                yield line, end
            else:
                _log.warning("damaged line in the audit log passed over", extra={"offset": end - len(raw)})


def hash_of(data: bytes) -> str:
    """The name a text is kept under."""
    return hashlib.sha256(data).hexdigest()


def _ends_torn(fd: int) -> bool:
    size = os.fstat(fd).st_size
    if size == 0:
        return False
    os.lseek(fd, size - 1, os.SEEK_SET)
    return os.read(fd, 1) != b"\n"


def _position_of(line: dict[str, Any], found: list[AuditEntry]) -> int | None:
    """Which entry a withdrawal takes back."""
    for position in range(len(found) - 1, -1, -1):
        if found[position].rel_path == line.get("withdrawn"):
            return position if found[position].hash_after == line.get("after") else None
    return None


def _to_json(entry: AuditEntry) -> dict[str, Any]:
    return {
        "time": entry.timestamp.isoformat(),
        "file": entry.rel_path,
        "operation": entry.operation,
        "bytes": entry.bytes_written,
        "source": entry.source,
        "run": entry.run_id,
        "turns": entry.turn_range,
        "before": entry.hash_before,
        "after": entry.hash_after,
    }


def _from_json(line: dict[str, Any]) -> AuditEntry | None:
    try:
        turns = line["turns"]
        return AuditEntry(
            rel_path=line["file"],
            operation=line["operation"],
            bytes_written=line["bytes"],
            source=line["source"],
            timestamp=datetime.fromisoformat(line["time"]),
            run_id=line["run"],
            turn_range=None if turns is None else (turns[0], turns[1]),
            hash_before=line["before"],
            hash_after=line["after"],
        )
    except (KeyError, TypeError, ValueError, IndexError):
        return None
