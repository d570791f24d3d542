"""Pinned files: those whose front matter says `pin: true` are in every prompt. `PinnedFiles` finds them."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.file_audience import front_matter
from familiar_connect.memory.store import MemoryStore

PINNED_HEAD = "---\npin: true\n---\n"
"""What a file begins with that is pinned from the start."""
HEAD = "---"
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
    """The pinned files of one memory; a file is read anew only when it changed. Calls block."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[str, tuple[tuple[int, int] | None, str | None]] = {}

    def read(self) -> list[PinnedFile]:
        """Every pinned file, by path."""
        with self._lock:
            stamps = {path: self._store.stamp(path) for path in self._store.glob("**/*.md")}
            known = {path: kept for path, kept in self._known.items() if stamps.get(path) == kept[0]}
            for path, stamp in stamps.items():
                if path not in known:
                    known[path] = (stamp, self._pinned_text(path))
            self._known = known
            return [PinnedFile(path, text) for path, (_, text) in sorted(known.items()) if text is not None]

    def _pinned_text(self, path: str) -> str | None:
        try:
            text = self._store.read_if_present(path)
        except MemoryStoreError:
            return None
        return text if text is not None and has_pin(text) else None
