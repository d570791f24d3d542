"""Plan: what one writer pass will do, decided and complete before the first file changes.

A plan is plain data. It can be kept in a journal and carried out again after a crash, or wait as a
proposal until the owner approves it. Carrying it out twice changes nothing the second time.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from familiar_connect.memory.note_paths import is_archive, original_path
from familiar_connect.memory.types import WRITER_SOURCE


@dataclass(frozen=True, kw_only=True)
class WriterRun:
    """Which pass this is."""

    run_id: str
    familiar_id: str
    now: datetime


@dataclass(frozen=True, kw_only=True)
class PartSource:
    """One part of a file (a bullet, a paragraph, a heading's lead) and the turns it came from."""

    part: str
    """`part_hash` of the part's text."""
    turns: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class LineRemoval:
    """Lines that a file loses, and why."""

    text: str
    reason: str
    """`outdated`: a turn says so; `extended`: a new line begins with it; `archived`: moved to the archive file;
    `renamed`: a person's file is headed by another name; `duplicate`: another line says it; `moved`: it stands in
    another file now."""
    turn: int | None = None


@dataclass(frozen=True, kw_only=True)
class PlannedWrite:
    """The text one file shall have."""

    rel_path: str
    content: str
    before: str | None
    """Hash of the text this was decided on; None: there was no file."""
    parts: tuple[PartSource, ...] = ()
    removed: tuple[LineRemoval, ...] = ()
    """Every line of the text it was decided on that `content` lacks."""
    edited: bool = False
    """Whether the owner changed it in review: its lines are then theirs."""


@dataclass(frozen=True, kw_only=True)
class RefusedEdit:
    """What the model wanted and code did not allow."""

    name: str
    reason: str
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything one pass will write, and which turns it has read: those of its audience in the range."""

    run_id: str
    familiar_id: str
    turn_range: tuple[int, int]
    created_at: str
    writes: tuple[PlannedWrite, ...] = ()
    refused: tuple[RefusedEdit, ...] = ()
    source: str = WRITER_SOURCE
    questions: tuple[PlannedWrite, ...] = ()
    """Changes of lines that are the owner's: put before them, each by itself, never carried out by a pass."""
    audience: str = ""
    """Those the turns were said to, as `audience` writes it; empty in plans made before turns had one, and where no
    turns were read."""


class Proposals(Protocol):
    """Where plans wait for the owner. Proposing the same run again changes nothing."""

    def propose(self, plan: Plan) -> str: ...


def takes_lines_of(taker: PlannedWrite, write: PlannedWrite) -> bool:
    """Whether lines that *write* takes out of its file stand in that of *taker*: an archive, or the part of a split."""
    if taker.rel_path == write.rel_path:
        return False
    if is_archive(taker.rel_path) and original_path(taker.rel_path) == write.rel_path:
        return True
    moved = {removal.text.strip() for removal in write.removed if removal.reason == "moved"}
    return bool(moved) and not moved.isdisjoint(line.strip() for line in taker.content.splitlines())


def question_plan(plan: Plan, write: PlannedWrite) -> Plan:
    """One of *plan*'s questions as a proposal; its id tells what it says, so that one that was rejected is known."""
    says = "\0".join((write.rel_path, *(removal.text for removal in write.removed)))
    return replace(plan, run_id=f"outdated-{zlib.crc32(says.encode()):08x}", writes=(write,), refused=(), questions=())


@dataclass
class MemoryWriterResult:
    """What one pass did; all defaults when there was nothing to do."""

    session_file: str | None = None
    people_files: list[str] = field(default_factory=list)
    topic_files: list[str] = field(default_factory=list)
    turns_summarized: int = 0
    watermark_id: int = 0
    run_id: str | None = None
    refused: list[RefusedEdit] = field(default_factory=list)
    state: str = "nothing"
    """`nothing`, `written`, `proposed`, `skipped` (nobody wished to be heard), `unparsed`, `quarantined` or `outdated`
    (something of it was taken back meanwhile)."""
    questions: list[str] = field(default_factory=list)
    """Proposals about lines of the owner's, which a pass never changes by itself."""
    retry_after_s: float = 0.0
    """After an answer that could not be understood: how long to wait before the next attempt."""
