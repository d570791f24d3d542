"""FolderListing: which Markdown files a memory holds and when each was last written, without reading any.
`FolderSnapshot` tells which of them were edited, added, renamed or deleted since the last look.

Looking at ten thousand files takes tens of milliseconds, so whoever asks says how old an answer may be, and all who
ask share the last look: while the program runs, the indexer looks about once a second.
"""

from __future__ import annotations

import itertools
import math
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.paths import Root, split_path
from familiar_connect.memory.search import path_of, walk_files


class FileStamp(NamedTuple):
    """What tells a changed file from an unchanged one without reading it."""

    mtime: float
    ctime: float
    size: int


class FolderListing:
    """The stamps of every Markdown file below *root*, by path. Safe to use from any thread; calls block."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._stamps: Mapping[str, FileStamp] = {}
        self._writes = itertools.count(1)
        self._last_write = 0
        self._looked: tuple[float, int] = (-math.inf, 0)
        """When that was, and which write of the program was the last before it."""

    def look(self, *, max_age_s: float = 0.0) -> Mapping[str, FileStamp]:
        """Every file in path order; the same object as long as nothing changed, so nobody may write to it.

        A look that was made at most *max_age_s* ago, and since the program itself last wrote, is not made again.
        """
        with self._lock:
            now, last_write = time.monotonic(), self._last_write
            if now - self._looked[0] >= max_age_s or last_write != self._looked[1]:
                found = dict(file_stamps(self.root))
                if found != self._stamps:
                    self._stamps = found
                self._looked = now, last_write
            return self._stamps

    def expire(self) -> None:
        """Have the next one who asks look: the program wrote something."""
        self._last_write = next(self._writes)


class FolderSnapshot:
    """The stamps of every Markdown file in *listing*, as they were at the last look. Reads no file."""

    def __init__(self, listing: FolderListing) -> None:
        self._listing = listing
        self._stamps: dict[str, FileStamp] = {}

    def take(self) -> None:
        """Look, and count nothing of it as changed."""
        self._stamps = dict(self._listing.look())

    def note(self, rel_path: str) -> None:
        """Count the file at *rel_path*, as it is now, as known."""
        found = locate_file(self._listing.root, rel_path)
        if found is None:
            self._stamps.pop(rel_path, None)
        else:
            self._stamps[found[0]] = found[1]

    def find_changes(self) -> list[str]:
        """Paths that changed since the last look; those that are gone come first, as they cost nothing to follow."""
        before, self._stamps = self._stamps, dict(self._listing.look())
        gone = [path for path in before if path not in self._stamps]
        return [*gone, *(path for path, stamp in self._stamps.items() if before.get(path) != stamp)]


def file_stamps(root: Path) -> Iterator[tuple[str, FileStamp]]:
    """Every Markdown file that is not hidden by a dot, in path order."""
    for folder, name in walk_files(Root(root), ()):
        if name.endswith(".md"):
            try:
                facts = folder.lstat(name)
            except OSError:
                continue
            yield path_of(folder, name), FileStamp(facts.st_mtime, facts.st_ctime, facts.st_size)


def locate_file(root: Path, rel_path: str) -> tuple[str, FileStamp] | None:
    """The true path and the stamp of a Markdown file of the listing; None when there is none."""
    try:
        with Root(root).parent_of(split_path(rel_path)) as (folder, name):
            facts, path = folder.lstat(name), path_of(folder, name)
    except (OSError, MemoryStoreError):
        return None
    if (
        not stat.S_ISREG(facts.st_mode)
        or not name.endswith(".md")
        or any(p.startswith(".") for p in (*folder.parts, name))
    ):
        return None
    return path, FileStamp(facts.st_mtime, facts.st_ctime, facts.st_size)
