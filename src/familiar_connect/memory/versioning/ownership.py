"""Whose line is it: which lines of a memory file the program wrote itself, and since which version.

Blame tells the version that brought a line, the audit log who made that version. Only what the memory writer or
an approved suggestion of housekeeping brought counts as ours. Every other line is the owner's, and so is every
line of a file whose versions are not kept.
"""

from __future__ import annotations

from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.versioning.blame import blame_lines
from familiar_connect.memory.versioning.versions import Versions

OUR_SOURCES = frozenset({"memory_writer", "housekeeping"})
"""Sources of versions whose lines a writer pass may retire or move."""


def our_lines(audit: AuditLog | None, rel_path: str, text: str) -> dict[int, int]:
    """Number (from 0) of each line of *text* that is ours → the version that brought it."""
    if audit is None:
        return {}
    return {
        line.number - 1: line.version.number
        for line in blame_lines(Versions(audit), rel_path, text)
        if line.version is not None and line.version.entry.source in OUR_SOURCES
    }
