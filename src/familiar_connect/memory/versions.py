"""Versions: the states a memory file was in, told by the audit.

Reading never changes anything; `restore` goes through the store and is itself a new version.
"""

from __future__ import annotations

import difflib
from typing import Protocol

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.paths import shorten, split_path
from familiar_connect.memory.types import Version

MIN_HASH_CHARS = 4


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

    def log(self, rel_path: str | None = None) -> list[Version]:
        """Versions of one file or, in the order they came about, of all."""
        counts: dict[str, int] = {}
        versions = []
        wanted = None if rel_path is None else "/".join(split_path(rel_path))
        for entry in self._audit.entries(wanted):
            counts[entry.rel_path] = counts.get(entry.rel_path, 0) + 1
            versions.append(Version(counts[entry.rel_path], entry))
        return versions

    def find(self, rel_path: str, version: int | str) -> Version:
        """The version so named; of several with the same text, the newest."""
        for candidate in reversed(self.log(rel_path)):
            if candidate.number == version or (isinstance(version, str) and _is_start(version, candidate.content_hash)):
                return candidate
        raise MemoryStoreError(
            f"memory file {shorten(rel_path)} has no version {version}; its log lists the ones it has"
        )

    def show(self, rel_path: str, version: int | str) -> str:
        """The text of one version; "" where the file was deleted. Bytes that are not UTF-8 show as �."""
        return self._bytes(self.find(rel_path, version)).decode("utf-8", "replace")

    def diff(self, rel_path: str, a: int | str, b: int | str) -> str:
        """What changed from version *a* to version *b*, as a unified diff; "" when nothing did."""
        older, newer = self.find(rel_path, a), self.find(rel_path, b)
        lines = difflib.unified_diff(
            self.show(rel_path, a).splitlines(),
            self.show(rel_path, b).splitlines(),
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


def _is_start(version: str, content_hash: str | None) -> bool:
    return content_hash is not None and len(version) >= MIN_HASH_CHARS and content_hash.startswith(version.lower())
