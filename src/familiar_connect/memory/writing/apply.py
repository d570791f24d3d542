"""apply_plan: a plan carried out, as often as need be with one result.

A file that already says what was planned is left alone; one that still says what the plan was decided
on is replaced. One that changed in between, by the owner's hand or by approval of another plan, is never
overwritten: the parts that are new go under their headings, else to its end under a dated one, and lines go
only if the owner approved the plan. What fits nowhere (too large, not writable as text) comes back as a
conflict, with its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from familiar_connect.errors import (
    MemoryStoreEncodingError,
    MemoryStorePathError,
    MemoryStoreSizeLimitError,
)
from familiar_connect.memory.audit import hash_of
from familiar_connect.memory.file_audience import read_audience, with_audience
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import OWNER_IN_REVIEW, RemovedLine
from familiar_connect.memory.versioning.provenance import MarkdownPart, Provenance, part_hash, parts_of
from familiar_connect.memory.writing.markdown_sections import has_section, with_bullets
from familiar_connect.memory.writing.plan import LineRemoval, Plan, PlannedWrite, RefusedEdit, takes_lines_of
from familiar_connect.memory.writing.rewrite import without_removals
from familiar_connect.support.markdown import document_title


class AudienceChanged(Exception):
    """A file is told to others than when the plan was made."""


_NEVER_FITS = (MemoryStoreSizeLimitError, MemoryStorePathError, MemoryStoreEncodingError, AudienceChanged)


@dataclass(frozen=True, kw_only=True)
class ApplyResult:
    """What became of a plan's files."""

    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    conflicts: tuple[RefusedEdit, ...] = ()


def no_step(name: str) -> None:
    """Nobody watches."""


def apply_plan(
    store: MemoryStore,
    plan: Plan,
    *,
    provenance: Provenance | None = None,
    step: Callable[[str], None] = no_step,
    approved: bool = False,
) -> ApplyResult:
    """Carry *plan* out, file by file; *step* is told before and after each. The owner may have *approved* it.

    What the disk refuses (full, no right) is raised as it is: carry the plan out again once that is mended.
    """
    written: list[str] = []
    unchanged: list[str] = []
    conflicts: list[RefusedEdit] = []
    for number, write in enumerate(plan.writes, start=1):
        step(f"file {number}: before")
        try:
            _check_moved(plan, write, conflicts)
            changed = _write(store, plan, write, approved)
        except _NEVER_FITS as error:
            conflicts.append(RefusedEdit(name=write.rel_path, reason=str(error), text=write.content))
            continue
        step(f"file {number}: written")
        if provenance is not None:
            provenance.record(write.rel_path, write.parts, plan.run_id)
        step(f"file {number}: sources kept")
        (written if changed else unchanged).append(write.rel_path)
    return ApplyResult(written=tuple(written), unchanged=tuple(unchanged), conflicts=tuple(conflicts))


def _check_moved(plan: Plan, write: PlannedWrite, conflicts: list[RefusedEdit]) -> None:
    """Lines that go to an archive or to another file leave their own only once they stand there."""
    takers = {each.rel_path for each in plan.writes if takes_lines_of(each, write)}
    stuck = [edit for edit in conflicts if edit.name in takers]
    if stuck:
        raise MemoryStoreSizeLimitError(f"its lines could not be moved: {stuck[0].reason}")


def text_hash(text: str | None) -> str | None:
    """What `PlannedWrite.before` holds for *text*."""
    return None if text is None else hash_of(text.encode("utf-8"))


def text_after(current: str | None, plan: Plan, write: PlannedWrite, *, approved: bool) -> str:
    """What carrying out one write of *plan* makes of the file that says *current*."""
    if text_hash(current) in (write.before, text_hash(write.content)):
        return write.content
    base = without_removals(current or "", write.removed) if approved and current else current
    new = {source.part for source in write.parts}
    parts = [part for part in parts_of(write.content) if part.hash in new]
    added = with_added_parts(base, parts, f"Added {plan.created_at[:10]}", title=document_title(write.content))
    said_to = read_audience(write.content)
    return added if said_to is None or (current and current.strip()) else with_audience(added, said_to)


def _write(store: MemoryStore, plan: Plan, write: PlannedWrite, approved: bool) -> bool:
    """Bring one file to what was planned; whether that took a change."""
    current = store.read_if_present(write.rel_path, whole=True)
    _check_audience(current, plan, write)
    content = text_after(current, plan, write, approved=approved)
    if content == (current or "") and (current is not None or content != write.content):
        return False
    store.write_file(
        write.rel_path,
        content,
        source=OWNER_IN_REVIEW if write.edited else plan.source,
        run_id=plan.run_id,
        turn_range=plan.turn_range,
        removed=_removed_lines(write.removed, current or "", content),
    )
    return True


def _check_audience(current: str | None, plan: Plan, write: PlannedWrite) -> None:
    """Nothing is added to a file that is told to others by now."""
    if not plan.audience or not current or not current.strip() or text_hash(current) == write.before:
        return
    if read_audience(current) != read_audience(write.content):
        raise AudienceChanged(f"{write.rel_path} is told to others by now: nothing was added to it")


def _removed_lines(removals: tuple[LineRemoval, ...], before: str, after: str) -> tuple[RemovedLine, ...]:
    """What the log is told of the lines that go."""
    lost = Counter(before.splitlines()) - Counter(after.splitlines())
    return tuple(
        RemovedLine(line=part_hash(line), reason=removal.reason, turn=removal.turn)
        for removal in removals
        for line in removal.text.splitlines()
        if line.strip() and lost[line]
    )


def with_added_parts(current: str | None, parts: list[MarkdownPart], heading: str, *, title: str | None = None) -> str:
    """*current* with those of *parts* it lacks; a missing file begins with *title*.

    Each goes under the heading it came with, where the file has that one, else under *heading* at its end.
    """
    known = {part.hash for part in parts_of(current or "")}
    lacking = [part for part in parts if part.hash not in known]
    if not lacking:
        return current or ""
    text = current if current and current.strip() else f"# {title}\n" if title else ""
    for part in lacking:
        own = part.heading if part.heading and has_section(text, part.heading) else heading
        text = with_bullets(text, own, [part.text])
    return text
