"""Versions: the states a memory file was in, told by the audit.

Reading never changes anything; `restore` goes through the store and is itself a new version.
"""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.paths import quote_for_error, split_path
from familiar_connect.memory.types import RemovedLine, Version
from familiar_connect.memory.versioning.provenance import part_hash

MIN_HASH_CHARS = 4


@dataclass(frozen=True)
class LineChange:
    """How much of a file one version changed."""

    added: int
    removed: int

    def __str__(self) -> str:
        return f"+{self.added} −{self.removed}"


class Restorable(Protocol):
    """What `restore` asks of a store."""

    def exists(self, rel_path: str) -> bool: ...
    def write_bytes(self, rel_path: str, data: bytes, *, source: str = ...) -> None: ...
    def delete_file(self, rel_path: str, *, source: str = ...) -> None: ...


class Versions:
    """Earlier texts of the files one audit log knows.

    A version is named by its number within the file, counted from 1, or by the start of its hash.
    """

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit

    def log(self, rel_path: str | None = None, *, last: int | None = None) -> list[Version]:
        """Versions of one file or, in the order they came about, of all; or only the *last* so many."""
        wanted = None if rel_path is None else "/".join(split_path(rel_path))
        return [Version(number, entry) for number, entry in self._audit.entries_with_numbers(wanted, last=last)]

    def change_of(self, version: Version) -> LineChange:
        """How many lines came and went with a version; a line that only moved counts as neither.

        `MemoryStoreError` where one of its two texts is lost.
        """
        before = Counter(self._text(version.entry.hash_before).splitlines())
        after = Counter(self._text(version.entry.hash_after).splitlines())
        return LineChange(added=(after - before).total(), removed=(before - after).total())

    def removals_of(self, version: Version) -> list[tuple[str, RemovedLine]]:
        """Lines that a writer pass took out with a version, each with the reason logged for it; "" for lost words."""
        if not version.entry.removed:
            return []
        try:
            before = self._text(version.entry.hash_before)
        except MemoryStoreError:
            before = ""
        texts = {part_hash(line): line for line in before.splitlines()}
        return [(texts.get(removed.line, ""), removed) for removed in version.entry.removed]

    def text(self, version: Version) -> str:
        """The text of a version; "" where the file was deleted. Bytes that are not UTF-8 show as �."""
        return self._bytes(version).decode("utf-8", "replace")

    def find(self, rel_path: str, version: int | str) -> Version:
        """The version so named; of several with the same text, the newest."""
        wanted = version if isinstance(version, int) or len(version) >= MIN_HASH_CHARS else 0
        found = self._audit.find("/".join(split_path(rel_path)), wanted)
        if found is not None:
            return Version(*found)
        raise MemoryStoreError(
            f"memory file {quote_for_error(rel_path)} has no version {version}; its log lists the ones it has"
        )

    def show(self, rel_path: str, version: int | str) -> str:
        """The text of the version so named."""
        return self.text(self.find(rel_path, version))

    def diff(self, rel_path: str, a: int | str, b: int | str) -> str:
        """What changed from version *a* to version *b*, as a unified diff; "" when nothing did."""
        older, newer = self.find(rel_path, a), self.find(rel_path, b)
        lines = difflib.unified_diff(
            self.text(older).splitlines(),
            self.text(newer).splitlines(),
            fromfile=f"{rel_path} (version {older.number})",
            tofile=f"{rel_path} (version {newer.number})",
            lineterm="",
        )
        return "\n".join(lines)

    def restore(self, store: Restorable, rel_path: str, version: int | str) -> Version:
        """Put a version back in place; returns it. What stood there until now becomes a version too."""
        chosen = self.find(rel_path, version)
        source = f"restore of version {chosen.number}"
        if chosen.content_hash is not None:
            store.write_bytes(rel_path, self._bytes(chosen), source=source)
        elif store.exists(rel_path):
            store.delete_file(rel_path, source=source)
        return chosen

    def _bytes(self, version: Version) -> bytes:
        return b"" if version.content_hash is None else self._audit.read(version.content_hash)

    def _text(self, content_hash: str | None) -> str:
        return "" if content_hash is None else self._audit.read(content_hash).decode("utf-8", "replace")
