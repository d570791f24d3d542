"""Files on disk: replaced whole or not at all, and never outside the folder they belong to.

A crash at any moment leaves the old text or the new one. What a crash may leave beside it is a
temporary file, recognisable by its name, which readers ignore and `sweep_temporaries` removes.

Locks that programs hold on a file, and lose when they end: `SharedLock` says that something is in use, for as long
as any of its holders runs, and whoever would throw it away asks `is_held` first; `hold_alone` lets one in at a time.

Where the system has no such locks, none is known to be held.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from familiar_connect.support.no_follow import (
    OWNER_ONLY,
    hold_parent,
    make_folder,
    open_file,
    open_folder,
    open_to_append,
    refuse_linked_path,
)

try:
    import fcntl
except ImportError:  # Windows: a replaced file is refused there while another process has it open
    fcntl = None  # type: ignore[assignment]

STALE_AFTER_S = 60.0
"""A temporary file this old belongs to no write still going on."""
LONGEST_LOOK_S = 1.0
"""How long a program waits for another one that looks whether a lock is held."""

_TEMPORARY = re.compile(r"\.tmp-[0-9a-f]{16}")
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def atomic_write(path: Path, data: bytes | str, *, mode: int | None = None, durable: bool = True) -> None:
    """Replace *path* by *data*, on disk when this returns; text is written as UTF-8, newlines as they are.

    Without *durable* it is on disk when the system finds time: for what may be lost when the power fails.
    Missing parent folders are made. A link anywhere in *path* is refused. The file keeps its rights unless *mode* is
    given; a new one is its owner's alone.
    What the disk refuses (full, read-only, no right) is raised as the `OSError` it is, with nothing changed.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    with hold_parent(path, create=True) as (folder, name):
        refuse_linked_path(path)
        if mode is None:
            with contextlib.suppress(OSError):
                mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        temporary = temporary_name() if folder is not None else str(Path(name).parent / temporary_name())
        try:
            write_new(temporary, content, mode=mode, dir_fd=folder, durable=durable)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
    if durable:
        sync_folder(Path(path).parent)


def write_new(
    name: str, content: bytes, *, mode: int | None = None, dir_fd: int | None = None, durable: bool = True
) -> None:
    """Create *name*, which must not exist, with *content*, flushed to disk where it is to be *durable*."""
    fd = os.open(name, _CREATE, OWNER_ONLY if mode is None else mode, dir_fd=dir_fd)
    try:
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(fd, mode)
        write_all(fd, content)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, content: bytes) -> None:
    """Write every byte; `os.write` alone may stop early."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


@contextmanager
def open_locked(path: Path, flags: int) -> Iterator[int]:
    """*path* opened with *flags* and to ourselves: other processes that open it so wait until we are done.

    The file may be replaced while we wait; what is handed out is the one that stands there now.
    """
    while True:
        fd = open_folder(path) if os.path.isdir(path) else open_file(path, flags)
        try:
            if fcntl is not None:
                fcntl.flock(fd, fcntl.LOCK_EX)
                if os.fstat(fd).st_ino != os.lstat(path).st_ino:
                    continue
            yield fd
            return
        finally:
            os.close(fd)


def sync_folder(folder: Path | int) -> None:
    """Flush the names in *folder* to disk, where the system can."""
    if isinstance(folder, int):
        os.fsync(folder)
        return
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)  # flushing changes nothing, wherever it leads
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def temporary_name() -> str:
    """A fresh name for a file about to be renamed."""
    return f".tmp-{os.urandom(8).hex()}"


def is_temporary(name: str) -> bool:
    """Whether *name* is one `temporary_name` gives out."""
    return _TEMPORARY.fullmatch(name) is not None


def sweep_temporaries(folder: Path) -> int:
    """Remove what interrupted writes left in *folder*; how many there were."""
    swept = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if is_temporary(entry.name) and is_stale(entry.stat(follow_symlinks=False).st_mtime):
                os.unlink(entry.path)
                swept += 1
    return swept


def is_stale(modified: float) -> bool:
    """Whether a temporary file last written at *modified* was left behind."""
    return time.time() - modified > STALE_AFTER_S


def safe_join(root: Path, *parts: str) -> Path:
    """*parts* below *root*, links resolved; `ValueError` when that is anywhere else.

    Good for names that come from settings or people. It looks once: where another process may swap
    a link in afterwards, open component by component instead.
    """
    joined = "/".join(parts)
    if "\0" in joined:
        raise ValueError("a path may not contain NUL")
    base = root.resolve()
    target = base.joinpath(*parts).resolve()
    if not target.is_relative_to(base):
        raise ValueError(f"{joined!r} leads outside {base}")
    return target


class SharedLock:
    """One program's share in the lock at *path*. Calls block, at most `LONGEST_LOOK_S`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def hold(self) -> None:
        """Hold it until `release`; where the file cannot be written, it is done without.

        Whoever asks `is_held` at that moment has the file alone for as long as the question takes; that is waited for.
        """
        if fcntl is None or self._file is not None:
            return
        with contextlib.suppress(OSError):
            make_folder(self._path.parent)
            file = open_to_append(self._path)
            try:
                _share_when_looked_at(file)
            except OSError:
                file.close()
                raise
            self._file = file

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _share_when_looked_at(file: BinaryIO) -> None:
    """Take a share of the lock on *file*; `BlockingIOError` where somebody keeps it for longer than a look takes."""
    patience = time.monotonic() + LONGEST_LOOK_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > patience:
                raise
            time.sleep(LONGEST_LOOK_S / 1000)
        else:
            return


@contextlib.contextmanager
def hold_alone(path: Path) -> Iterator[bool]:
    """Whether the lock at *path* is ours; held until the end of the block, and by nobody else meanwhile."""
    if fcntl is None:
        yield True
        return
    make_folder(path.parent)
    with open_to_append(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_ours = False
        else:
            is_ours = True
        yield is_ours


def is_held(path: Path) -> bool:
    """Whether a program holds the lock at *path* now."""
    if not path.is_file():
        return False
    try:
        with hold_alone(path) as is_ours:
            return not is_ours
    except OSError:
        return True
