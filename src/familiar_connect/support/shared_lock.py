"""SharedLock: a file that says that something is in use, for as long as any of the programs that hold it runs.

Whoever would throw the thing away asks `is_held` first. Where the system has no such locks, none is known to be held.
"""

from __future__ import annotations

import contextlib
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


def is_held(path: Path) -> bool:
    """Whether a program holds the lock at *path* now."""
    if fcntl is None or not path.is_file():
        return False
    try:
        with open_to_append(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False
