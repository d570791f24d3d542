"""Review: plans that wait for the owner's approval, in `sessions/.pending/<run>/`.

A proposal is a folder: `plan.json`, one readable `.diff` per file, and a page that says what to do. Memory
is untouched until the owner approves, and approval checks again against the files as they then are. A batch
the writer gave up on waits in the same place. A folder that cannot be read is told, and stops nothing. What
was decided stays on record.

Review decisions: what the owner decided about each proposal, in `reviews.jsonl` beside the audit.

Only ever added to, but for the oldest half when it grows large and the lines of a person who is forgotten.
"""

from __future__ import annotations

import difflib
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from familiar_connect.errors import MemoryStoreError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.note_paths import PEOPLE, original_path
from familiar_connect.memory.paths import quote_for_error
from familiar_connect.memory.people import may_name_publicly, rebuild_aliases
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import MemoryStoreLimits
from familiar_connect.memory.versioning.provenance import Provenance, parts_of
from familiar_connect.memory.writing.apply import ApplyResult, apply_plan, text_after, text_hash
from familiar_connect.memory.writing.journal import PENDING, QUARANTINE_NAME, writer_lock
from familiar_connect.memory.writing.plan import PartSource, Plan, PlannedWrite, RefusedEdit, takes_lines_of
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.files import atomic_write, sync_folder, write_all
from familiar_connect.support.no_follow import LinkRefused, load_bytes, make_folder, open_file
from familiar_connect.support.serialize import PlainDataError, from_plain, to_plain

FILE_NAME = "reviews.jsonl"
MAX_BYTES = 1024 * 1024
MAX_REASON_CHARS = 1000


class Decisions:
    """The record in *folder*; without a folder nothing is kept."""

    def __init__(self, folder: Path | None, clock: Clock) -> None:
        self._path = folder / FILE_NAME if folder is not None else None
        self._clock = clock

    def note(self, run_id: str, decision: str, files: Iterable[str], reason: str) -> None:
        """Add one; on disk when this returns."""
        if self._path is None:
            return
        facts = {
            "time": self._clock.now().isoformat(),
            "run": run_id,
            "decision": decision,
            "files": list(files),
            "reason": reason[:MAX_REASON_CHARS],
        }
        make_folder(self._path.parent)
        if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
            atomic_write(self._path, load_bytes(self._path)[-MAX_BYTES // 2 :].partition(b"\n")[2])
        fd = open_file(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            write_all(fd, json.dumps(facts, ensure_ascii=False).encode() + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)

    def all(self) -> list[dict[str, Any]]:
        """Every decision on record, oldest first; damaged lines are passed over."""
        return list(self._lines())

    def run_ids(self) -> set[str]:
        """Runs something was decided about."""
        return {str(line.get("run")) for line in self._lines()}

    def erase(self, speaks_of: Callable[[dict[str, Any]], bool]) -> int:
        """Drop the lines *speaks_of* holds for; how many there were."""
        lines = self.all()
        left = [line for line in lines if not speaks_of(line)]
        if self._path is not None and len(left) < len(lines):
            atomic_write(self._path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in left))
        return len(lines) - len(left)

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            text = load_bytes(self._path).decode("utf-8", "replace") if self._path is not None else ""
        except LinkRefused:
            raise
        except OSError:
            return
        for raw in text.splitlines():
            try:
                line = json.loads(raw)
            except ValueError:
                continue
            if isinstance(line, dict):
                yield line


PLAN_NAME = "plan.json"
PAGE_NAME = "README.md"
MAX_PENDING = 500
"""Proposals that may wait at once; past that the writer is told to wait for the owner."""
MAX_TURNS_READ = 1_000
"""Of the turns a proposal was made of, when those who took part are looked for."""
MAX_PLAN_BYTES = 16 * 1024 * 1024

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_log = logging.getLogger(__name__)

PendingKind = Literal["proposal", "quarantine", "broken"]


@dataclass(frozen=True, kw_only=True)
class PendingItem:
    """One thing that waits."""

    id: str
    kind: PendingKind
    created_at: str = ""
    source: str = ""
    turn_range: tuple[int, int] = (0, 0)
    files: tuple[str, ...] = ()
    reason: str = ""
    """Why a batch was put aside, or what is wrong with a folder."""
    plan: Plan | None = field(default=None, repr=False)


class Review:
    """The proposals of one memory; every change an approval makes goes through *store* and its audit."""

    def __init__(self, store: MemoryStore, *, provenance: Provenance | None = None, clock: Clock | None = None) -> None:
        self._store = store
        self._audit_folder = store.audit.folder if store.audit is not None else None
        self._provenance = provenance or (Provenance(self._audit_folder) if self._audit_folder else None)
        self.decisions = Decisions(self._audit_folder, clock or SystemClock())
        # Proposals are no memory yet: contained like it, but neither versioned nor logged.
        self._proposal_store = MemoryStore(store.root, limits=MemoryStoreLimits(max_file_bytes=MAX_PLAN_BYTES))

    def propose(self, plan: Plan) -> str:
        """Let *plan* wait for the owner; its id. Proposing one that waits or was decided changes nothing."""
        run_id = _safe(plan.run_id)
        if self._proposal_store.exists(_path(run_id, PLAN_NAME)) or run_id in self.decisions.run_ids():
            return run_id
        waiting = len(self._ids())
        if waiting >= MAX_PENDING:
            raise MemoryStoreError(
                f"{waiting} proposals are waiting in {PENDING} already: go through them with `familiar memory review`"
            )
        self._put(plan)
        return run_id

    def list(self) -> list[PendingItem]:
        """Everything that waits, oldest first."""
        found = [self.show(run_id) for run_id in self._ids()[:MAX_PENDING]]
        return sorted(found, key=lambda pending: (pending.created_at, pending.id))

    def count(self) -> int:
        """How many things wait; none is read."""
        return len(self._ids())

    def show(self, run_id: str) -> PendingItem:
        """One of them; an unknown one is an error, a damaged one is not."""
        run_id = _safe(run_id)
        for name, read in ((PLAN_NAME, self._proposal), (QUARANTINE_NAME, self._quarantine)):
            if self._proposal_store.exists(_path(run_id, name)):
                try:
                    return read(run_id, json.loads(self._proposal_store.read_file(_path(run_id, name))))
                except (ValueError, KeyError, TypeError, PlainDataError, MemoryStoreError) as error:
                    reason = f"{_path(run_id, name)} cannot be read ({error}); reject it, or delete the folder"
                    return PendingItem(id=run_id, kind="broken", reason=reason)
        if run_id not in self._ids():
            raise MemoryStoreError(
                f"nothing is waiting under {quote_for_error(run_id)}; `familiar memory review --list` shows all"
            )
        return PendingItem(id=run_id, kind="broken", reason=f"{PENDING}/{run_id} holds neither a plan nor a batch")

    def diff(self, run_id: str, rel_path: str) -> str:
        """What approving would change in a file as it stands now, as a unified diff."""
        plan = self._plan(run_id)
        return self._diff(plan, _write_of(plan, rel_path))

    def approve(
        self, run_id: str, files: Collection[str] | None = None, *, roster: Sequence[Author] = ()
    ) -> ApplyResult:
        """Carry a proposal out, or only those of its *files*; the others go on waiting.

        A file that changed since is not overwritten: what is new is added to it. What cannot be added stays
        waiting and is told among the conflicts. *roster*, those who took part, keep their names as aliases.
        """
        plan = self._plan(run_id)
        for rel_path in files or ():
            _write_of(plan, rel_path)
        chosen = _chosen(plan, files)
        with writer_lock(self._audit_folder):
            chosen_plan = replace(plan, writes=tuple(chosen))
            applied = apply_plan(self._store, chosen_plan, provenance=self._provenance, approved=True)
            stuck = [*applied.conflicts, *self._not_added(chosen, applied)]
            if any(path.startswith(f"{PEOPLE}/") for path in applied.written):
                named = roster if may_name_publicly(plan.audience) else ()
                rebuild_aliases(self._store, named, run_id=plan.run_id, turn_range=plan.turn_range)
        held = {edit.name for edit in stuck}
        done = [write.rel_path for write in chosen if write.rel_path not in held]
        self._decide(plan, done, "approved", "")
        unchanged = tuple(path for path in applied.unchanged if path not in held)
        return ApplyResult(written=applied.written, unchanged=unchanged, conflicts=tuple(stuck))

    def reject(self, run_id: str, reason: str = "", *, files: Collection[str] | None = None) -> None:
        """Let go of what waits, or only of some of its files; the decision and its reason stay on record."""
        pending = self.show(run_id)
        if pending.plan is None:
            self.decisions.note(run_id, "dismissed", (), reason)
            self._remove(run_id)
            return
        gone = [write.rel_path for write in _chosen(pending.plan, files)]
        self._decide(pending.plan, gone, "rejected", reason)

    def edit(self, run_id: str, rel_path: str, new_text: str) -> None:
        """Change what is proposed for a file. What the owner wrote needs no turn to come from."""
        plan = self._plan(run_id)
        old = _write_of(plan, rel_path)
        sources = {source.part: source for source in old.parts}
        parts = [sources.get(part.hash, PartSource(part=part.hash, turns=())) for part in parts_of(new_text)]
        new = replace(old, content=new_text, parts=tuple(parts), edited=True)
        self._put(replace(plan, writes=tuple(new if write is old else write for write in plan.writes)))

    def remove(self, run_ids: Iterable[str]) -> None:
        """Take folders away without a word, as when a person is forgotten."""
        for run_id in run_ids:
            self._remove(_safe(run_id))

    def replace(self, plan: Plan) -> None:
        """Let *plan* wait in the place of the proposal of the same run."""
        for path in self._proposal_store.glob(f"{PENDING}/{_safe(plan.run_id)}/*.diff"):
            self._proposal_store.delete_file(path)
        self._put(plan)

    def remove_answers(self, run_id: str) -> None:
        """Empty the raw answers that a batch was put aside with; the batch itself waits on."""
        path = _path(_safe(run_id), QUARANTINE_NAME)
        try:
            record = json.loads(self._proposal_store.read_file(path))
            record["attempts"] = [{**each, "reply": ""} for each in record.get("attempts") or ()]
        except (MemoryStoreError, ValueError, TypeError, AttributeError):  # damaged: nothing of it is worth keeping
            self._remove(run_id)
            return
        self._proposal_store.write_file(path, json.dumps(record, indent=1) + "\n")

    def pending_text(self, run_id: str) -> str:
        """Everything that waits under *run_id*, as one text."""
        found = []
        for path in self._proposal_store.glob(f"{PENDING}/{_safe(run_id)}/*"):
            try:
                found.append(unescape_json(self._proposal_store.read_bytes(path).decode("utf-8", "replace")))
            except MemoryStoreError:
                _log.warning("a pending file was passed over", extra={"run": run_id})
        return "\n".join(found)

    def _ids(self) -> tuple[str, ...]:
        try:
            entries = self._proposal_store.list_dir(PENDING)
        except MemoryStoreError:
            return ()
        return tuple(entry.name for entry in entries if entry.is_dir and _SAFE_ID.fullmatch(entry.name))

    def _proposal(self, run_id: str, plain: object) -> PendingItem:
        plan = from_plain(Plan, plain)
        if plan.run_id != run_id:
            raise ValueError("it belongs to another run")
        return PendingItem(
            id=run_id,
            kind="proposal",
            created_at=plan.created_at,
            source=plan.source,
            turn_range=plan.turn_range,
            files=tuple(write.rel_path for write in plan.writes),
            plan=plan,
        )

    def _quarantine(self, run_id: str, plain: Any) -> PendingItem:
        first, last = plain["turns"]
        return PendingItem(
            id=run_id,
            kind="quarantine",
            created_at=str(plain.get("created_at") or ""),
            source="memory_writer",
            turn_range=(int(first), int(last)),
            reason=str(plain.get("reason") or "the writer gave up on it"),
        )

    def _plan(self, run_id: str) -> Plan:
        pending = self.show(run_id)
        if pending.plan is not None:
            return pending.plan
        if pending.kind == "quarantine":
            raise MemoryStoreError(
                f"{run_id} is a batch the writer gave up on, not a proposal: "
                f"try it again with `familiar memory write-now --retry {run_id}`, or reject it"
            )
        raise MemoryStoreError(pending.reason)

    def _put(self, plan: Plan) -> None:
        """The folder of *plan*; the plan itself last, so that a folder cut short is never taken for whole."""
        for write in plan.writes:
            self._proposal_store.write_file(_path(plan.run_id, diff_name(write.rel_path)), self._diff(plan, write))
        self._proposal_store.write_file(_path(plan.run_id, PAGE_NAME), _page(plan))
        self._proposal_store.write_file(_path(plan.run_id, PLAN_NAME), json.dumps(to_plain(plan), ensure_ascii=False))

    def _diff(self, plan: Plan, write: PlannedWrite) -> str:
        present = self._store.read_if_present(write.rel_path, whole=True)
        text = text_after(present, plan, write, approved=True) if write.removed else write.content
        lines = difflib.unified_diff(
            (present or "").splitlines(), text.splitlines(), "now", f"proposed: {write.rel_path}", lineterm=""
        )
        return "\n".join(lines) + "\n"

    def _not_added(self, chosen: Iterable[PlannedWrite], applied: ApplyResult) -> tuple[RefusedEdit, ...]:
        """Files that changed since, where the plan does not say which of its parts are new."""
        return tuple(
            RefusedEdit(
                name=write.rel_path,
                reason=f"{write.rel_path} changed since this was proposed: edit the proposal, or reject it",
                text=write.content,
            )
            for write in chosen
            if write.rel_path in applied.unchanged
            and not write.parts
            and not write.removed
            and text_hash(self._store.read_if_present(write.rel_path, whole=True)) != text_hash(write.content)
        )

    def _decide(self, plan: Plan, files: Collection[str], decision: str, reason: str) -> None:
        """Note what was decided about *files* and take them out of the proposal; an empty one goes."""
        self.decisions.note(plan.run_id, decision, files, reason)
        left = tuple(write for write in plan.writes if write.rel_path not in files)
        if not left:
            self._remove(plan.run_id)
            return
        for rel_path in files:
            path = _path(plan.run_id, diff_name(rel_path))
            if self._proposal_store.exists(path):
                self._proposal_store.delete_file(path)
        self._put(replace(plan, writes=left))

    def _remove(self, run_id: str) -> None:
        """Take the folder away: the plan first, so that what a crash leaves is no proposal any more."""
        for path in sorted(
            self._proposal_store.glob(f"{PENDING}/{run_id}/*"), key=lambda path: not path.endswith(PLAN_NAME)
        ):
            audited = self._store.audit is not None and self._store.audit.last_hash(path) is not None
            (self._store if audited else self._proposal_store).delete_file(path, source="review")
        folder = self._store.root.joinpath(*PENDING.split("/"), run_id)
        if folder.is_dir() and folder.resolve() == folder:
            shutil.rmtree(folder, ignore_errors=True)
            sync_folder(folder.parent)


def proposal_roster(pending: PendingItem, history: HistoryStore, familiar_id: str) -> tuple[Author, ...]:
    """Those who took part in the turns a proposal was made of, most recently heard first."""
    first, last = pending.turn_range
    if not last:
        return ()
    turns = history.turns_after(familiar_id=familiar_id, after_id=first - 1, max_id=last, limit=MAX_TURNS_READ)
    found: dict[str, Author] = {}
    for turn in reversed(turns):
        if turn.author is not None:
            found.setdefault(turn.author.slug, turn.author)
    return tuple(found.values())


def diff_name(rel_path: str) -> str:
    """What the diff of a file is called."""
    return f"{rel_path.replace('/', '__')}.diff"


def unescape_json(text: str) -> str:
    """*text* as a person reads it: JSON may hide a name behind escapes."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _path(run_id: str, name: str) -> str:
    return f"{PENDING}/{run_id}/{name}"


def _safe(run_id: str) -> str:
    if not _SAFE_ID.fullmatch(run_id):
        raise MemoryStoreError(
            f"{quote_for_error(run_id)} is not the id of a proposal; `familiar memory review --list` shows all"
        )
    return run_id


def _chosen(plan: Plan, files: Collection[str] | None) -> list[PlannedWrite]:
    """The writes of *files*; a file and those that take lines of it, archives or parts, are decided together."""
    if files is None:
        return list(plan.writes)
    wanted = {original_path(path) for path in files}
    named = [write for write in plan.writes if original_path(write.rel_path) in wanted]
    return [
        write
        for write in plan.writes
        if write in named or any(takes_lines_of(write, each) or takes_lines_of(each, write) for each in named)
    ]


def _write_of(plan: Plan, rel_path: str) -> PlannedWrite:
    for write in plan.writes:
        if write.rel_path == rel_path:
            return write
    known = ", ".join(write.rel_path for write in plan.writes)
    raise MemoryStoreError(f"proposal {plan.run_id} has no file {quote_for_error(rel_path)}; it has: {known}")


def _page(plan: Plan) -> str:
    files = "\n".join(f"- {write.rel_path}: {diff_name(write.rel_path)}" for write in plan.writes)
    first, last = plan.turn_range
    made_of = f"made of turns {first} to {last}, " if last else ""
    return (
        f"# Proposal {plan.run_id}\n\n"
        f"By {plan.source}, {made_of}{plan.created_at}. Nothing is changed until you approve:\n"
        f"`familiar memory review` walks through all proposals,\n"
        f"`familiar memory review --approve {plan.run_id}` and `--reject {plan.run_id}` decide this one.\n\n{files}\n"
    )
