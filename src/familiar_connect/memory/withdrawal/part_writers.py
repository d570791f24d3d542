"""PartWriters: who first wrote each part and heading of a memory file, told by its versions."""

from __future__ import annotations

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.part_audiences import TOOL_SOURCE
from familiar_connect.memory.versioning.blame import OUR_SOURCES
from familiar_connect.memory.versioning.provenance import part_hash, parts_of
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.support.markdown import read_headings

_OURS = OUR_SOURCES | {TOOL_SOURCE}


class PartWriters:
    """Which parts the program wrote. A file is read once, when it is first asked about."""

    def __init__(self, audit: AuditLog | None) -> None:
        self._audit = audit
        self._ours: dict[str, frozenset[str]] = {}

    def is_ours(self, rel_path: str, part: str) -> bool:
        """Whether the program was the first to write the part of that hash; of what nobody knows, no."""
        if rel_path not in self._ours:
            self._ours[rel_path] = self._parts_of_ours(rel_path)
        return part in self._ours[rel_path]

    def _parts_of_ours(self, rel_path: str) -> frozenset[str]:
        if self._audit is None:
            return frozenset()
        versions = Versions(self._audit)
        known: set[str] = set()
        ours: set[str] = set()
        for version in versions.log(rel_path):
            try:
                text = versions.text(version)
            except MemoryStoreError:  # lost: told by the versions around it
                continue
            headings = (heading.text for heading in read_headings(text.splitlines()))
            parts = {*(part.hash for part in parts_of(text)), *map(part_hash, headings)}
            if version.entry.source in _OURS:
                ours |= parts - known
            known |= parts
        return frozenset(ours)
