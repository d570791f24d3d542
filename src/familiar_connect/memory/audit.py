"""AuditLog: who changed which memory file, when, and every text that ever stood there.

Kept outside the memory folder: `log.jsonl`, one line per change, only ever added to, and the texts
themselves, which `objects` keeps. Texts are on disk before the line that names them, the line before the
file changes, and a short second line says that it did. So after a crash the log may announce a change that
did not happen, and never lacks one that did; the next look at the file takes such a line back. Edits made
by hand are noticed the same way, by comparing what stands in the file with what the log says. Only `erase`,
by which the owner forgets a person, ever takes lines away, and only it and `rewrite`, by which words that were taken
back leave earlier versions, texts.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.audit_lines import (
    DONE,
    TORN,
    WITHDRAWN,
    active_changes,
    done_line,
    encode_line,
    entry_from_line,
    file_key_in_line,
    find_active_change,
    hashes_in,
    last_active_changes,
    line_from_entry,
    parse_line,
    path_from_key,
    path_key,
    redact_line,
    withdrawal_line,
)
from familiar_connect.memory.types import OWNER, AuditEntry
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.content_store import LOOSE_NAME, ContentStore, hash_of
from familiar_connect.support.files import (
    atomic_write,
    open_locked,
    sweep_temporaries,
    sync_folder,
    write_all,
)
from familiar_connect.support.no_follow import make_folder, open_file, open_to_read

__all__ = ["AuditLog", "CurrentFiles", "hash_of"]

LOG_NAME = "log.jsonl"
LOCK_NAME = "lock"
"""Held from the first look at a file until its change is told; the log itself is held for single lines."""

CleanText = Callable[[str, bytes], bytes]
"""A path and a text that stood there, to what it is to read."""

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
        self.objects = ContentStore(folder, error=MemoryStoreError)
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._holds = 0
        self._latest: dict[bytes, bytes] = {}
        self._unfinished: set[bytes] = set()
        self._read_to = 0
        self._read_from: int | None = None

    @contextmanager
    def exclusive_lock(self) -> Iterator[None]:
        """Nobody else, in this process or another, changes files of this memory meanwhile. May be nested."""
        with self._lock:
            if self._holds:
                yield
                return
            make_folder(self.folder)
            with open_locked(self.folder / LOCK_NAME, os.O_RDWR | os.O_CREAT):
                self._holds += 1
                try:
                    yield
                finally:
                    self._holds -= 1

    def keep(self, data: bytes) -> str:
        """Store a text, once; its hash. On disk when this returns."""
        return self.objects.put(data)

    def keep_all(self, texts: Iterable[bytes]) -> None:
        """`keep` for several texts, which wait for the disk together."""
        self.objects.put_all(texts)

    def read(self, content_hash: str) -> bytes:
        """The text stored under *content_hash*."""
        return self.objects.read(content_hash)

    def announce(self, entry: AuditEntry) -> None:
        """Add the line of a change about to be made, on disk when this returns. Its texts are kept already."""
        self.announce_all([entry])

    def announce_all(self, entries: Iterable[AuditEntry]) -> None:
        """`announce` for several files, whose lines wait for the disk together."""
        self._append(b"\n".join(line_from_entry(entry) for entry in entries))

    def finish(self, entry: AuditEntry) -> None:
        """Say that the announced change was made."""
        self.finish_all([entry])

    def finish_all(self, entries: Sequence[AuditEntry]) -> None:
        """`finish` for several files."""
        if entries:
            self._append(b"\n".join(done_line(entry.rel_path) for entry in entries), flush=False)

    def withdraw(self, entry: AuditEntry) -> None:
        """Take back the latest line about a file: the change it announced was not made."""
        self._append(withdrawal_line(entry))

    def entries(self, rel_path: str | None = None) -> list[AuditEntry]:
        """Every change, oldest first; of one file, or of all."""
        return [entry for _, entry in self.entries_with_numbers(rel_path)]

    def entries_with_numbers(
        self, rel_path: str | None = None, *, last: int | None = None
    ) -> list[tuple[int, AuditEntry]]:
        """The changes with their number within the file, counted from 1, oldest first; or only the *last* so many."""
        data = self._whole()
        standing = active_changes(data, rel_path) if last is None else last_active_changes(data, rel_path, last)
        parsed_lines = ((number, entry_from_line(raw)) for _, number, raw in standing)
        return [(number, entry) for number, entry in parsed_lines if entry is not None]

    def find(self, rel_path: str, version: int | str) -> tuple[int, AuditEntry] | None:
        """The newest change of a file with this number, or whose text's hash begins so."""
        found = find_active_change(self._whole(), rel_path, version)
        entry = None if found is None else entry_from_line(found[2])
        return None if found is None or entry is None else (found[1], entry)

    def last_hash(self, rel_path: str) -> str | None:
        """What the log says stands in the file; None when it knows of no text there."""
        with self._lock:
            self._catch_up()
            latest = self._latest_entry(rel_path)
        return None if latest is None else latest.hash_after

    def reconcile_file(self, rel_path: str, content_hash: str | None, size: int) -> AuditEntry | None:
        """Bring the log to what stands in the file; the entry of a hand edit, if that is what it took.

        The text is kept already. An announced change that was not made is taken back; one that another process
        is just making is not met here, because both are done `alone`.
        """
        with self.exclusive_lock():
            before = self.last_hash(rel_path)
            if before != content_hash and path_key(rel_path) in self._unfinished:
                latest = self._latest_entry(rel_path)
                if latest is not None and latest.hash_before == content_hash:
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
            self._append(line_from_entry(entry))
            return entry

    def reconcile(self, store: CurrentFiles, rel_path: str | None = None) -> list[AuditEntry]:
        """Compare every file the log knows, or one, with what stands there; the hand edits recorded.

        For the start of the program, and before its versions are told. Files the log has never heard of are
        left alone: their text is kept when the store first changes them.
        """
        for folder in (self.folder / LOOSE_NAME).glob("*"):
            sweep_temporaries(folder)
        with self._lock:
            self._catch_up()
            names = [name for key in self._latest if (name := path_from_key(key)) is not None]
        noticed: list[AuditEntry] = []
        for name in names if rel_path is None else [name for name in names if name == rel_path]:
            first = _current_content(store, name)
            if first is None or first[0] == self.last_hash(name):
                continue
            with self.exclusive_lock():  # a second look: the first may have met a change half made
                found = _current_content(store, name)
                if found is None:
                    continue
                current, data = found
                if data is not None:
                    self.keep(data)
                entry = self.reconcile_file(name, current, len(data or b""))
            noticed += [entry] if entry else []
        return noticed

    def erase(
        self,
        rel_paths: Collection[str],
        *,
        but_latest: Collection[str] = (),
        leftovers: Callable[[bytes], bool] | None = None,
    ) -> int:
        """Forget files for good: their lines, and the texts no other file has; how many texts went.

        Of those in *but_latest* the newest line and its text stay. *leftovers* says which texts that no line
        names, as crashes leave them, go too. Run again after a crash, it finishes what it began; `objects.compact`
        afterwards leaves nothing of them in the file.
        """
        gone = {path_key(name) for name in rel_paths}
        kept_latest = {path_key(name) for name in but_latest} - gone
        if not (self.folder / LOG_NAME).exists():
            return 0
        with self.exclusive_lock(), self._open_log() as fd:
            if fd is None:
                return 0
            lines = self._whole().split(b"\n")[:-1]
            newest = {key: raw for raw in lines if (key := file_key_in_line(raw)) is not None}
            left = [kept for raw in lines if (kept := redact_line(raw, gone, kept_latest, newest)) is not None]
            named = {name for raw in left for name in hashes_in(raw)}
            doomed = {name for raw in lines for name in hashes_in(raw)} - named
            if leftovers is not None:
                doomed |= {name for name, data in self.objects.orphans(named | doomed) if leftovers(data)}
            removed = self.objects.discard(doomed)
            if left != lines:
                self._replace_log(b"".join(raw + b"\n" for raw in left))
        return removed

    def rewrite(self, clean: CleanText, *, since: datetime, is_doomed: Callable[[bytes], bool]) -> int:
        """Let every version written *since* then read as *clean* makes it of its path and text; how many changed.

        Texts that no line names, as crashes leave them, go where *is_doomed* says so. Run again after a crash, it
        finishes what it began.
        """
        if not (self.folder / LOG_NAME).exists():
            return 0
        with self.exclusive_lock(), self._open_log() as fd:
            if fd is None:
                return 0
            lines = self._whole().split(b"\n")[:-1]
            renamed: dict[tuple[str, str], str] = {}
            left = [self._rewrite_line(raw, clean, since, renamed) for raw in lines]
            changed = {old for (_, old), new in renamed.items() if old != new}
            if left != lines:
                self._replace_log(b"".join(raw + b"\n" for raw in left))
            named = {name for raw in left for name in hashes_in(raw)}
            orphans = {name for name, data in self.objects.orphans(named | changed) if is_doomed(data)}
            self.objects.discard((changed - named) | orphans)
        return len(changed)

    def _rewrite_line(
        self,
        raw: bytes,
        clean: CleanText,
        since: datetime,
        renamed: dict[tuple[str, str], str],
    ) -> bytes:
        """A line whose texts are the cleaned ones; *renamed* tells which became which."""
        entry = entry_from_line(raw) if file_key_in_line(raw) is not None else None
        if entry is None:
            return _rewrite_withdrawal(raw, renamed)
        for name in {entry.hash_before, entry.hash_after} - {None} if entry.timestamp >= since else ():
            assert name is not None
            if (entry.rel_path, name) not in renamed:
                renamed[entry.rel_path, name] = self._clean_text(entry.rel_path, name, clean)
        names = (entry.hash_before, entry.hash_after)
        before, after = (renamed.get((entry.rel_path, name or ""), name) for name in names)
        if (before, after) == names:
            return raw
        return line_from_entry(replace(entry, hash_before=before, hash_after=after))

    def _clean_text(self, rel_path: str, name: str, clean: CleanText) -> str:
        try:
            data = self.objects.read(name)
        except MemoryStoreError:  # lost: there is nothing to clean
            return name
        cleaned = clean(rel_path, data)
        return name if cleaned == data else self.keep(cleaned)

    def check(self) -> list[str]:
        """What is wrong with the log and the texts it names, a sentence each; empty when all is well."""
        lines = [raw for raw in self._whole().split(b"\n") if raw and not raw.endswith(TORN)]
        damaged = sum(parse_line(raw) is None for raw in lines)
        entries = self.entries()
        names = {name for entry in entries for name in (entry.hash_before, entry.hash_after) if name is not None}
        found = self.objects.check(names)
        if damaged:
            found.append(f"{self.folder / LOG_NAME} has {damaged:,} damaged lines: restore a copy of it")
        return found

    def close(self) -> None:
        """Let go of the files; the next use opens them again."""
        self.objects.close()

    def _latest_entry(self, rel_path: str) -> AuditEntry | None:
        raw = self._latest.get(path_key(rel_path))
        return None if raw is None else entry_from_line(raw)

    def _append(self, line: bytes, *, flush: bool = True) -> None:
        data = line + b"\n"
        with self._lock, self._open_log(create=True) as fd:
            assert fd is not None
            if _ends_torn(fd):
                data = TORN + b"\n" + data
            write_all(fd, data)
            if flush:
                os.fsync(fd)

    @contextmanager
    def _open_log(self, *, create: bool = False) -> Iterator[int | None]:
        """The log, no other process changing it meanwhile; None where there is none."""
        path = self.folder / LOG_NAME
        if not path.exists():
            if not create:
                yield None
                return
            make_folder(self.folder)
            os.close(open_file(path, os.O_WRONLY | os.O_CREAT))
            sync_folder(self.folder)
        with open_locked(path, os.O_RDWR | os.O_APPEND) as fd:
            yield fd

    def _replace_log(self, data: bytes) -> None:
        atomic_write(self.folder / LOG_NAME, data)

    def _catch_up(self) -> None:
        """Read what was added to the log since the last look, by us or by others."""
        try:
            facts = os.stat(self.folder / LOG_NAME)
        except OSError:
            facts = None
        if facts is None or facts.st_ino != self._read_from or facts.st_size < self._read_to:
            self._latest, self._unfinished, self._read_to = {}, set(), 0
            self._read_from = None if facts is None else facts.st_ino
        data = self._whole(self._read_to)
        self._read_to += len(data)
        damaged = 0
        for raw in data.split(b"\n")[:-1]:
            if raw.startswith(b"{") and raw.endswith(b"}"):
                self._take(raw)
            else:
                damaged += 1
        if damaged:
            _log.warning("damaged lines in the audit log passed over", extra={"lines": damaged})

    def _take(self, raw: bytes) -> None:
        key = file_key_in_line(raw)
        if key is not None:
            self._latest[key] = raw
            self._unfinished.discard(key)
            if b'"source":"owner"' not in raw:
                self._unfinished.add(key)
        elif raw.startswith(DONE):
            self._unfinished.discard(raw[len(DONE) : -1])
        elif raw.startswith(WITHDRAWN):
            name = str((parse_line(raw) or {}).get("withdrawn"))
            self._latest.pop(path_key(name), None)
            self._unfinished.discard(path_key(name))
            if earlier := self.entries_with_numbers(name, last=1):
                self._latest[path_key(name)] = line_from_entry(earlier[0][1])

    def _whole(self, start: int = 0) -> bytes:
        """The log from *start* on, up to the end of its last whole line."""
        try:
            with open_to_read(self.folder / LOG_NAME) as file:
                file.seek(start)
                data = file.read()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise MemoryStoreError(f"cannot read the audit log {self.folder / LOG_NAME}: {error.strerror}") from None
        return data[: data.rfind(b"\n") + 1]


def _rewrite_withdrawal(raw: bytes, renamed: dict[tuple[str, str], str]) -> bytes:
    """A line that takes a change back names the text of that change."""
    line = parse_line(raw) if raw.startswith(WITHDRAWN) else None
    new = renamed.get((str(line.get("withdrawn")), str(line.get("after")))) if line is not None else None
    return raw if line is None or new is None else encode_line({**line, "after": new})


def _current_content(store: CurrentFiles, name: str) -> tuple[str | None, bytes | None] | None:
    """Hash and text of what stands in a file now, None twice where there is no file; None when it cannot be read."""
    try:
        data = store.bytes_if_present(name)
    except MemoryStoreError as error:
        _log.warning("memory file could not be compared with its log", extra={"error": type(error).__name__})
        return None
    return (None if data is None else hash_of(data)), data


def _ends_torn(fd: int) -> bool:
    size = os.fstat(fd).st_size
    if size == 0:
        return False
    os.lseek(fd, size - 1, os.SEEK_SET)
    return os.read(fd, 1) != b"\n"
