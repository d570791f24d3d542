"""Pinned files: those whose front matter says `pin: true` are in every prompt. `PinnedFiles` finds them."""

from __future__ import annotations

import re
import threading
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.file_audience import front_matter
from familiar_connect.memory.index.folder_listing import FileStamp
from familiar_connect.memory.store import MemoryStore

PINNED_HEAD = "---\npin: true\n---\n"
"""What a file begins with that is pinned from the start."""
HEAD = "---"
FRESH_S = 2.0
"""How old a look at the memory folder may be. The indexer looks more often, so that a turn seldom has to."""
_PIN = re.compile(r"pin[ \t]*:[ \t]*[\"']?(true|yes|on|false|no|off)[\"']?[ \t]*", re.IGNORECASE)
_YES = ("true", "yes", "on")


def read_pin(text: str) -> bool | None:
    """What the front matter of *text* says of being pinned; None where it says nothing."""
    lines = front_matter(text) if text.removeprefix("\ufeff").startswith(HEAD) else ()
    said = [found[1].lower() in _YES for line in lines if (found := _PIN.fullmatch(line.rstrip()))]
    return said[-1] if said else None


def has_pin(text: str) -> bool:
    """Whether the front matter of *text* pins it."""
    return read_pin(text) is True


@dataclass(frozen=True)
class PinnedFile:
    path: str
    text: str
    """All of it, front matter too."""


class PinnedFiles:
    """The pinned files of one memory. A file is read only when it changed; calls block.

    A pin that the owner sets while the program runs counts within `FRESH_S`; what the program itself writes, and what
    becomes of a file that is pinned, counts at once.
    """

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._stamps: Mapping[str, FileStamp] = {}
        self._pinned: dict[str, tuple[tuple[int, int] | None, str]] = {}

    def read(self) -> list[PinnedFile]:
        """Every pinned file, by path."""
        with self._lock:
            stamps = self._store.listing.look(max_age_s=FRESH_S)
            if stamps is not self._stamps:
                self._follow(stamps)
            for path, (stamp, _) in list(self._pinned.items()):
                if self._store.stamp(path) != stamp:
                    self._read(path)
            return [PinnedFile(path, text) for path, (_, text) in sorted(self._pinned.items())]

    def _follow(self, stamps: Mapping[str, FileStamp]) -> None:
        """Look into the files that changed: without front matter a few bytes tell that there is no pin."""
        changed = [path for path, stamp in stamps.items() if self._stamps.get(path) != stamp]
        self._stamps = stamps
        for path, beginning in self._store.read_beginnings(changed, len(BOM_UTF8) + len(HEAD)):
            if beginning.removeprefix(BOM_UTF8).startswith(HEAD.encode()):
                self._read(path)

    def _read(self, path: str) -> None:
        stamp, text = self._store.stamp(path), self._read_pinned_text(path)
        if text is None:
            self._pinned.pop(path, None)
        else:
            self._pinned[path] = stamp, text

    def _read_pinned_text(self, path: str) -> str | None:
        try:
            text = self._store.read_if_present(path)
        except MemoryStoreError:
            return None
        return text if text is not None and has_pin(text) else None
