"""Values of the memory room: entries, search hits, audit entries, versions, limits.

Plain frozen values; nothing here touches a disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

DEFAULT_MAX_FILE_BYTES = 262_144
DEFAULT_MAX_RESULTS_PER_OP = 1000
DEFAULT_MAX_FILES_PER_DIR = 10_000

DOCUMENTS_FOLDER = "documents/"
"""Where the texts lie that were given to the familiar to look things up in."""

Operation = Literal["write", "append", "delete"]
OWNER = "owner"
"""Source of a change the store did not make: somebody edited the file by hand."""
WRITER_SOURCE = "memory_writer"
"""Source of what the memory writer wrote."""
OWNER_IN_REVIEW = "owner in review"
"""Source of a proposal that the owner changed before approving it."""


@dataclass(frozen=True)
class MemoryStoreLimits:
    """Caps of a store; meeting one exactly is fine."""

    max_file_bytes: int = DEFAULT_MAX_FILE_BYTES
    max_results_per_op: int = DEFAULT_MAX_RESULTS_PER_OP
    max_files_per_dir: int = DEFAULT_MAX_FILES_PER_DIR


@dataclass(frozen=True)
class MemoryEntry:
    """One name in a memory folder; folders have size 0."""

    name: str
    is_dir: bool
    size_bytes: int
    modified: datetime


@dataclass(frozen=True)
class GrepHit:
    """The first match in one line; offsets count characters of `line_text`."""

    rel_path: str
    line_number: int
    line_text: str
    match_start: int
    match_end: int


class GrepHits(list[GrepHit]):
    """What a search found, in path order."""

    def __init__(self, hits: Iterable[GrepHit] = (), left_out: Sequence[str] = ()) -> None:
        super().__init__(hits)
        self.left_out = tuple(left_out)
        """What was not looked at or is not in the list, a sentence for each."""


@dataclass(frozen=True)
class RemovedLine:
    """A line that went with a change, known by the hash of its words, and why it went."""

    line: str
    reason: str
    turn: int | None = None


@dataclass(frozen=True)
class AuditEntry:
    """One change of one memory file: who made it, when, and what stood there before and after."""

    rel_path: str
    operation: Operation
    bytes_written: int
    source: str
    timestamp: datetime
    run_id: str | None = None
    turn_range: tuple[int, int] | None = None
    hash_before: str | None = None
    """None where there was no file."""
    hash_after: str | None = None
    """None where there is no file any more."""
    removed: tuple[RemovedLine, ...] = ()
    """Lines that a writer pass took out, with the reason of each."""


@dataclass(frozen=True)
class Version:
    """One state a memory file was in; `number` counts from 1 within the file."""

    number: int
    entry: AuditEntry

    @property
    def rel_path(self) -> str:
        return self.entry.rel_path

    @property
    def content_hash(self) -> str | None:
        """None for the state of being deleted."""
        return self.entry.hash_after
