"""Locks that programs hold on a file, and lose when they end: `SharedLock` says that something is in use, for as long
as any of its holders runs, and whoever would throw it away asks `is_held` first; `hold_alone` lets one in at a time.

Where the system has no such locks, none is known to be held.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from familiar_connect.support.no_follow import make_folder, open_to_append

try:
    import fcntl
except ImportError:  # Windows: the owner is trusted to know what runs
    fcntl = None  # type: ignore[assignment]


class SharedLock:
    """One program's share in the lock at *path*. Calls block, briefly."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def hold(self) -> None:
        """Hold it until `release`; where the file cannot be written, it is done without."""
        if fcntl is None or self._file is not None:
            return
        with contextlib.suppress(OSError):
            make_folder(self._path.parent)
            self._file = open_to_append(self._path)
            fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


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
