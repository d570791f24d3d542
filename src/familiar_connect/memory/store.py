"""MemoryStore: the memory of one familiar, a folder of Markdown and nothing else.

Every path stays inside the root, every file under its cap, every change is on disk whole or not at
all and stands in the audit. All calls are synchronous and may come from any thread; from async
code run them in a thread (`grep_async` does).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from familiar_connect.errors import (
    MemoryStoreEncodingError,
    MemoryStoreError,
    MemoryStorePathError,
    MemoryStorePatternError,
    MemoryStoreSizeLimitError,
)
from familiar_connect.memory import search
from familiar_connect.memory.audit import AuditLog, hash_of
from familiar_connect.memory.batch_write import FileChange, FileState, write_batch
from familiar_connect.memory.index.folder_listing import FolderListing
from familiar_connect.memory.paths import CAN_HOLD_FOLDERS, Folder, Parts, Root, failure, quote_for_error, split_path
from familiar_connect.memory.types import (
    DEFAULT_MAX_FILE_BYTES,
    DEFAULT_MAX_FILES_PER_DIR,
    DEFAULT_MAX_RESULTS_PER_OP,
    AuditEntry,
    GrepHit,
    GrepHits,
    MemoryEntry,
    MemoryStoreLimits,
    Operation,
    RemovedLine,
)
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.files import open_locked, temporary_name, write_new
from familiar_connect.support.no_follow import make_folder

__all__ = [
    "DEFAULT_MAX_FILES_PER_DIR",
    "DEFAULT_MAX_FILE_BYTES",
    "DEFAULT_MAX_RESULTS_PER_OP",
    "AuditEntry",
    "GrepHit",
    "GrepHits",
    "MemoryEntry",
    "MemoryStore",
    "MemoryStoreEncodingError",
    "MemoryStoreError",
    "MemoryStoreLimits",
    "MemoryStorePathError",
    "MemoryStorePatternError",
    "MemoryStoreSizeLimitError",
]

MAX_BINARY_BYTES = 32 * 1024 * 1024
"""Cap of `write_bytes` (a character card's picture), and of what a change may replace."""
MAX_REMEMBERED_ENTRIES = 500
"""Audit entries of this store held in memory; the log on disk has them all."""


class MemoryStore:
    """A memory folder at *root*, which is made when missing.

    With *audit_dir*, which lies outside the root, every change is logged there for good and every
    earlier text stays recoverable; without it the entries live as long as the store.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        limits: MemoryStoreLimits | None = None,
        audit_dir: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.root = Path(os.path.abspath(root))
        self.limits = limits or MemoryStoreLimits()
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._entries: deque[AuditEntry] = deque(maxlen=MAX_REMEMBERED_ENTRIES)
        if audit_dir is not None and audit_dir.resolve().is_relative_to(self.root.resolve()):
            raise MemoryStorePathError(f"the audit folder {audit_dir} is inside the memory folder; choose another")
        self.audit = AuditLog(audit_dir, clock=self._clock) if audit_dir is not None else None
        self._tree = Root(self.root)
        self.listing = FolderListing(self.root)
        """Which Markdown files there are."""
        try:
            make_folder(self.root)
        except OSError as error:
            raise failure("make", str(self.root), error) from None
        self._swept: set[Parts] = set()

    @property
    def audit_entries(self) -> list[AuditEntry]:
        """What this store changed, oldest first."""
        return list(self._entries.copy())  # a copy in one step: other threads may be adding

    def list_dir(self, rel_path: str = "") -> list[MemoryEntry]:
        """Files and folders at *rel_path*, by name; links are listed where they lead to something inside the root."""
        parts = split_path(rel_path)
        found: list[MemoryEntry] = []
        try:
            with self._tree.folder(parts) as folder:
                for item in folder.scan():
                    entry = self._entry(folder, item)
                    if entry is not None:
                        found.append(entry)
                    if len(found) > self.limits.max_files_per_dir:
                        raise MemoryStoreSizeLimitError(
                            f"memory folder {quote_for_error(rel_path)} holds more than "
                            f"{self.limits.max_files_per_dir} files; "
                            "move some into folders of their own"
                        )
        except OSError as error:
            raise failure("list", rel_path, error) from None
        return sorted(found, key=lambda entry: entry.name)

    def read_file(self, rel_path: str) -> str:
        """The text of a file."""
        return _decode(rel_path, self._read(rel_path, self.limits.max_file_bytes))

    def read_beginnings(self, paths: Iterable[str], size: int) -> Iterator[tuple[str, bytes]]:
        """The first *size* bytes of each of *paths*, as the listing has them: far quicker than reading whole files.

        One that cannot be read is left out.
        """
        split = (path.rpartition("/") for path in paths)
        for parent, names in itertools.groupby(split, key=lambda parts: parts[0]):
            with contextlib.suppress(OSError, MemoryStorePathError), self._tree.folder(split_path(parent)) as folder:
                for _, _, name in names:
                    with contextlib.suppress(OSError):
                        yield search.path_of(folder, name), folder.read_beginning(name, size)

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Open while several files are read one after another: that is quicker."""
        return self._tree.hold()

    def read_if_present(self, rel_path: str, *, whole: bool = False) -> str | None:
        """The text of a file, or None when there is none; *whole*: also of one over its cap."""
        try:
            with self._tree.parent_of(split_path(rel_path)) as (folder, name):
                if not stat.S_ISREG(folder.lstat(name).st_mode):
                    return None
                data = _read_in(folder, name, rel_path, MAX_BINARY_BYTES if whole else self.limits.max_file_bytes)
        except OSError:
            return None
        return _decode(rel_path, data)

    def read_bytes(self, rel_path: str) -> bytes:
        """The bytes of a file, text or not."""
        return self._read(rel_path, MAX_BINARY_BYTES)

    def bytes_if_present(self, rel_path: str) -> bytes | None:
        """The bytes of a file, or None when there is none."""
        return self.read_bytes(rel_path) if self.exists(rel_path) else None

    def exists(self, rel_path: str) -> bool:
        """Whether a plain file stands at *rel_path*."""
        try:
            with self._tree.parent_of(split_path(rel_path)) as (folder, name):
                return stat.S_ISREG(folder.lstat(name).st_mode)
        except OSError:
            return False

    def stamp(self, rel_path: str) -> tuple[int, int] | None:
        """When the file was last written, and its size: the same as long as its text is; None when there is none.

        Asked of every file that a search brings up, so it opens nothing; whoever reads the file is told of links.
        """
        try:
            facts = os.lstat(os.path.join(self.root, *split_path(rel_path)))
        except OSError:
            return None
        return (facts.st_mtime_ns, facts.st_size) if stat.S_ISREG(facts.st_mode) else None

    def write_file(
        self,
        rel_path: str,
        content: str,
        *,
        source: str = "unknown",
        run_id: str | None = None,
        turn_range: tuple[int, int] | None = None,
        removed: tuple[RemovedLine, ...] = (),
    ) -> None:
        """Replace, or create, a text file; *removed* tells the log why lines went."""
        data = _encode(rel_path, content)
        _check_size(rel_path, len(data), self.limits.max_file_bytes)
        self._change(rel_path, "write", data, source=source, run_id=run_id, turn_range=turn_range, removed=removed)

    def write_many(self, rel_path: str, texts: Mapping[str, str], *, source: str = "unknown") -> None:
        """Replace, or create, text files of the folder *rel_path*, by name: `write_file` for many, and far quicker.

        All fit under the cap or nothing is written. Names that are links are refused.
        """
        folder_parts = split_path(rel_path)
        encoded: dict[str, bytes] = {}
        for name, text in texts.items():
            path = "/".join((*folder_parts, name))
            if split_path(path) != (*folder_parts, name):
                raise MemoryStorePathError(f"{quote_for_error(name)} is not the name of a memory file")
            encoded[name] = _encode(path, text)
            _check_size(path, len(encoded[name]), self.limits.max_file_bytes)
        try:
            with self._lock, self._alone(), self._tree.folder(folder_parts, create=True) as folder:
                self._sweep(folder)
                changes: list[FileChange] = []
                for name, data in encoded.items():
                    old = _current_state(folder, name, required=False)
                    entry = self._audit_entry(folder, name, "write", data, old, data, source=source)
                    changes.append(FileChange(name, entry, old, data))
                write_batch(folder, self.audit, changes, made=self._entries)
        except OSError as error:
            raise failure("write", rel_path, error) from None
        finally:
            self.listing.expire()

    def append_file(
        self,
        rel_path: str,
        content: str,
        *,
        source: str = "unknown",
        run_id: str | None = None,
        turn_range: tuple[int, int] | None = None,
    ) -> None:
        """Add to the end of a text file, or create it."""
        data = _encode(rel_path, content)
        _check_size(rel_path, len(data), self.limits.max_file_bytes)
        self._change(rel_path, "append", data, source=source, run_id=run_id, turn_range=turn_range)

    def write_bytes(self, rel_path: str, data: bytes, *, source: str = "unknown") -> None:
        """Replace, or create, a file that need not be text."""
        _check_size(rel_path, len(data), MAX_BINARY_BYTES)
        self._change(rel_path, "write", data, source=source)

    def delete_file(self, rel_path: str, *, source: str = "unknown") -> None:
        """Remove a file; its text stays in the audit."""
        self._change(rel_path, "delete", b"", source=source)

    def glob(self, pattern: str) -> list[str]:
        """Files whose path matches *pattern*, sorted, up to the cap; see `memory.search`."""
        return search.glob_tree(self._tree, self.limits, pattern)

    def list_files(self, rel_path: str = "") -> list[str]:
        """Every Markdown file below *rel_path* that is not hidden by a dot, in path order, however many there are."""
        found = search.walk_files(self._tree, split_path(rel_path))
        return [search.path_of(folder, name) for folder, name in found if name.endswith(".md")]

    def unreadable_folders(self, rel_path: str = "") -> list[str]:
        """Why folders at or below *rel_path* cannot be read, a sentence for each; `glob` and `grep` pass them over."""
        return [str(error) for error in search.unreadable_folders(self._tree, split_path(rel_path))]

    def grep(self, pattern: str, rel_path: str = "", case_insensitive: bool = True) -> GrepHits:
        """The first match of every matching line, up to the cap; see `memory.search`."""
        return search.grep_tree(self._tree, self.limits, pattern, split_path(rel_path), ignore_case=case_insensitive)

    def grep_shown(
        self, pattern: str, show: search.Show, rel_path: str = "", case_insensitive: bool = True
    ) -> GrepHits:
        """`grep` in what *show* makes of each file."""
        parts = split_path(rel_path)
        return search.grep_tree(self._tree, self.limits, pattern, parts, ignore_case=case_insensitive, show=show)

    async def grep_async(self, pattern: str, rel_path: str = "", case_insensitive: bool = True) -> GrepHits:
        """`grep`, off the event loop."""
        import asyncio  # verbs that only look do without it

        return await asyncio.to_thread(self.grep, pattern, rel_path, case_insensitive)

    def read_to_cap(self, rel_path: str) -> str:
        """As `read_file`, but of a file over the cap its whole lines up to it; `files_over_cap` names those."""
        try:
            with self._tree.parent_of(split_path(rel_path)) as (folder, name):
                data, _ = folder.read_to(name, self.limits.max_file_bytes)
        except OSError as error:
            raise failure("read", rel_path, error) from None
        return _decode(rel_path, data)

    def files_over_cap(self, rel_path: str = "") -> list[str]:
        """The Markdown files at or below *rel_path* of which only the first part is read. Looks at every file."""
        return list(search.find_oversize_files(self._tree, split_path(rel_path), self.limits.max_file_bytes))

    def _read(self, rel_path: str, max_bytes: int) -> bytes:
        try:
            with self._tree.parent_of(split_path(rel_path)) as (folder, name):
                return _read_in(folder, name, rel_path, max_bytes)
        except OSError as error:
            raise failure("read", rel_path, error) from None

    def _change(
        self,
        rel_path: str,
        operation: Operation,
        data: bytes,
        *,
        source: str,
        run_id: str | None = None,
        turn_range: tuple[int, int] | None = None,
        removed: tuple[RemovedLine, ...] = (),
    ) -> None:
        """One audited change: texts kept, line logged, file replaced, in this order and all flushed to disk."""
        parts = split_path(rel_path)
        verb = "delete" if operation == "delete" else "write"
        try:
            with self._lock, self._alone(), self._tree.parent_of(parts, create=operation != "delete") as (folder, name):
                old = _current_state(folder, name, required=operation == "delete")
                new = None if operation == "delete" else data
                if operation == "append" and old is not None:
                    new = old.data + data
                    _check_size(rel_path, len(new), self.limits.max_file_bytes)
                entry = self._audit_entry(folder, name, operation, data, old, new, source=source)
                entry = replace(entry, run_id=run_id, turn_range=turn_range, removed=removed)
                self._sweep(folder)
                self._commit(folder, name, entry, old, new)
                self._entries.append(entry)
        except OSError as error:
            raise failure(verb, rel_path, error) from None
        finally:
            self.listing.expire()

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Nobody else changes this memory meanwhile: no other thread and, where there is an audit, no other process."""
        with self._lock, self.audit.exclusive_lock() if self.audit is not None else contextlib.nullcontext():
            yield

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process changes this memory meanwhile.

        Without an audit there is no place for a lock file, so the root itself is locked, where it can be opened.
        """
        if self.audit is not None:
            with self.audit.exclusive_lock():
                yield
        elif CAN_HOLD_FOLDERS:
            with open_locked(self.root, os.O_RDONLY):
                yield
        else:
            yield

    def _commit(self, folder: Folder, name: str, entry: AuditEntry, old: FileState | None, new: bytes | None) -> None:
        temporary = temporary_name()
        try:
            if new is not None:
                write_new(folder.at(temporary), new, mode=old.mode if old else None, dir_fd=folder.fd)
            self._announce(entry, old, new)
            try:
                if new is None:
                    folder.unlink(name)
                else:
                    folder.replace(temporary, name)
            except OSError:
                self._withdraw(entry)
                raise
        except BaseException:
            with contextlib.suppress(OSError):
                folder.unlink(temporary)
            raise
        folder.sync()
        self._finish(entry)

    def _audit_entry(
        self,
        folder: Folder,
        name: str,
        operation: Operation,
        data: bytes,
        old: FileState | None,
        new: bytes | None,
        *,
        source: str,
    ) -> AuditEntry:
        return AuditEntry(
            rel_path=search.path_of(folder, name),
            operation=operation,
            bytes_written=len(data),
            source=source.strip() or "unknown",
            timestamp=self._clock.now(),
            hash_before=None if old is None else hash_of(old.data),
            hash_after=None if new is None else hash_of(new),
        )

    def _sweep(self, folder: Folder) -> None:
        if folder.parts not in self._swept:
            folder.sweep()
            self._swept.add(folder.parts)

    def _announce(self, entry: AuditEntry, old: FileState | None, new: bytes | None) -> None:
        """Keep both texts and log the change, and before it whatever another hand did to the file since our last."""
        if self.audit is None:
            return
        if old is not None:
            self.audit.keep(old.data)
        if new is not None:
            self.audit.keep(new)
        self.audit.reconcile_file(entry.rel_path, entry.hash_before, len(old.data) if old else 0)
        self.audit.announce(entry)

    def _finish(self, entry: AuditEntry) -> None:
        if self.audit is not None:
            with contextlib.suppress(OSError):  # the next look at the file tells as well
                self.audit.finish(entry)

    def _withdraw(self, entry: AuditEntry) -> None:
        if self.audit is not None:
            with contextlib.suppress(OSError):  # the next look at the file tells as well
                self.audit.withdraw(entry)

    def _entry(self, folder: Folder, item: os.DirEntry[str]) -> MemoryEntry | None:
        """The entry for *item*, or None for what is neither file nor folder inside the root."""
        try:
            if item.is_symlink():
                with self._tree.parent_of((*folder.parts, item.name)) as (home, name):
                    facts = home.lstat(name)
            else:
                facts = item.stat(follow_symlinks=False)
        except (OSError, MemoryStorePathError):
            return None
        is_dir = stat.S_ISDIR(facts.st_mode)
        if not is_dir and not stat.S_ISREG(facts.st_mode):
            return None
        modified = datetime.fromtimestamp(facts.st_mtime, UTC)
        return MemoryEntry(name=item.name, is_dir=is_dir, size_bytes=0 if is_dir else facts.st_size, modified=modified)


def _current_state(folder: Folder, name: str, *, required: bool) -> FileState | None:
    try:
        facts = folder.lstat(name)
        data = folder.read(name, MAX_BINARY_BYTES)
    except FileNotFoundError:
        if required:
            raise
        return None
    if data is None:
        raise MemoryStoreSizeLimitError(
            f"memory file {quote_for_error(search.path_of(folder, name))} is larger than {MAX_BINARY_BYTES} bytes, "
            "too large to keep a copy of; move it away first"
        )
    return FileState(data, stat.S_IMODE(facts.st_mode))


def _encode(rel_path: str, content: str) -> bytes:
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError:
        raise MemoryStoreEncodingError(
            f"the text for memory file {quote_for_error(rel_path)} holds half a character (a lone surrogate)"
        ) from None


def _read_in(folder: Folder, name: str, rel_path: str, max_bytes: int) -> bytes:
    """The bytes of the file *name* in *folder*; what stands in the way is one sentence."""
    try:
        data = folder.read(name, max_bytes)
    except OSError as error:
        raise failure("read", rel_path, error) from None
    if data is None:
        raise MemoryStoreSizeLimitError(
            f"memory file {quote_for_error(rel_path)} is larger than {max_bytes} bytes; shorten or split it"
        )
    return data


def _decode(rel_path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MemoryStoreEncodingError(
            f"memory file {quote_for_error(rel_path)} is not UTF-8 text (byte {error.start}); save it again as UTF-8"
        ) from None


def _check_size(rel_path: str, size: int, cap: int) -> None:
    if size > cap:
        raise MemoryStoreSizeLimitError(
            f"memory file {quote_for_error(rel_path)} would be {size} bytes, more than the {cap} allowed; "
            "shorten or split it"
        )
