"""What a writer keeps beside the memory while it works: the plan under way, failed attempts, past runs.

`writer-journal.json` holds a plan from just before its first file changes until after the watermark has
moved, so that a process killed anywhere in between is finished by the next. `writer-attempts.json` counts
what a batch has been through. `runs.jsonl` tells of every pass, with whatever was refused and why.
"""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.note_paths import original_path
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import WRITER_SOURCE
from familiar_connect.memory.writing.batch import Batch
from familiar_connect.memory.writing.plan import Plan, PlannedWrite, RefusedEdit
from familiar_connect.support.clock import Clock
from familiar_connect.support.files import atomic_write, hold_alone, sync_folder
from familiar_connect.support.no_follow import LinkRefused, load_bytes, make_folder, open_to_append, remove_file
from familiar_connect.support.serialize import PlainDataError, from_plain, to_plain

MAX_KEPT_REPLY_CHARS = 20_000
MAX_RUNS_BYTES = 2 * 1024 * 1024
QUARANTINE_NAME = "quarantine.json"
PENDING = "sessions/.pending"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A plan under way, and where it goes: into the files, or before the owner."""

    plan: Plan
    proposed: bool = False
    quarantine: bool = False
    again: bool = False
    """A batch that was put aside, tried once more: the watermark has passed it already."""


class Journal:
    """The plan under way, in *folder*; with *transient*, the folder itself goes when nothing is under way."""

    def __init__(self, folder: Path, *, transient: bool = False) -> None:
        self.path = folder / "writer-journal.json"
        self._transient = transient

    def write(self, entry: Entry) -> None:
        """On disk when this returns."""
        _store(self.path, to_plain(entry))

    def read(self) -> Entry | None:
        """The plan that was under way when its process ended; None when there was none."""
        try:
            return from_plain(Entry, json.loads(load_bytes(self.path)))
        except FileNotFoundError:
            return None
        except (ValueError, PlainDataError):
            aside = self.path.with_suffix(".damaged")
            self.path.replace(aside)
            _log.error("the writer's journal is damaged; it was put aside", extra={"file": str(aside)})
            return None

    def clear(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            remove_file(self.path, missing_ok=False)
            sync_folder(self.path.parent)
        if self._transient:
            with contextlib.suppress(OSError):
                self.path.parent.rmdir()


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One answer that could not be used."""

    at: str
    reason: str
    reply: str


@dataclass(frozen=True, kw_only=True)
class FailedBatch:
    """What the batch that begins with turn *first* has been through."""

    first: int
    failures: tuple[Failure, ...] = ()


class Attempts:
    """Failed attempts at the batch in turn; in *folder*, or for as long as this object lives."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / "writer-attempts.json" if folder is not None else None
        self._kept: FailedBatch | None = None

    def add(self, first: int, now: datetime, reason: str, reply: str) -> FailedBatch:
        """Count one more; all attempts at the batch so far."""
        known = self._read()
        earlier = known.failures if known is not None and known.first == first else ()
        failure = Failure(at=now.isoformat(), reason=reason, reply=reply[:MAX_KEPT_REPLY_CHARS])
        self._kept = FailedBatch(first=first, failures=(*earlier, failure))
        if self._path is not None:
            _store(self._path, to_plain(self._kept))
        return self._kept

    def clear(self) -> None:
        self._kept = None
        if self._path is not None:
            remove_file(self._path)

    def _read(self) -> FailedBatch | None:
        if self._path is None:
            return self._kept
        try:
            return from_plain(FailedBatch, json.loads(load_bytes(self._path)))
        except (FileNotFoundError, ValueError):
            return None


class RunLog:
    """Every pass that ended, newest last, in `runs.jsonl`; the oldest go when the file grows too large."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / "runs.jsonl" if folder is not None else None

    def add(
        self,
        plan: Plan,
        *,
        state: str,
        written: tuple[str, ...] = (),
        refused: tuple[RefusedEdit, ...] = (),
    ) -> None:
        if self._path is None:
            return
        line = {
            "run": plan.run_id,
            "time": plan.created_at,
            "turns": list(plan.turn_range),
            "state": state,
            "written": list(written),
            "refused": [{"name": edit.name, "reason": edit.reason, "text": edit.text} for edit in refused],
        }
        make_folder(self._path.parent)
        with contextlib.suppress(FileNotFoundError):
            if self._path.stat().st_size > MAX_RUNS_BYTES:
                newer = load_bytes(self._path)[-MAX_RUNS_BYTES // 2 :].partition(b"\n")[2]
                atomic_write(self._path, newer)
        with open_to_append(self._path) as file:
            # Begun on a line of its own, whatever a crash left of the one before.
            file.write(b"\n" + json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def all(self) -> list[dict[str, Any]]:
        """Every pass kept, oldest first."""
        return list(self._lines())

    def erase(self, turn_ids: set[int], rel_path: str | None = None) -> None:
        """Drop refused words of passes that read one of these turns, and every mention of a file or its archives."""
        if self._path is None or not (turn_ids or rel_path):
            return
        kept = []
        for line in self._lines():
            first, last = (line.get("turns") or [0, -1])[:2]
            touched = any(first <= turn <= last for turn in turn_ids)
            written = [name for name in line.get("written") or () if original_path(name) != rel_path]
            kept.append({**line, "written": written, "refused": [] if touched else line.get("refused") or []})
        if kept:
            atomic_write(self._path, "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in kept))

    def _lines(self) -> Iterator[dict[str, Any]]:
        with contextlib.suppress(FileNotFoundError):
            for raw in load_bytes(self._path).splitlines() if self._path is not None else ():
                with contextlib.suppress(ValueError):
                    line = json.loads(raw)
                    if isinstance(line, dict):
                        yield line


@contextlib.contextmanager
def writer_lock(folder: Path | None) -> Iterator[None]:
    """Held by one process at a time; another that comes meanwhile gets a `MemoryStoreError`."""
    if folder is None:
        yield
        return
    path = folder / "writer.lock"
    with hold_alone(path) as is_ours:
        if not is_ours:
            raise MemoryStoreError(f"another process is writing to this memory and holds {path}; try again later")
        yield


def quarantine_plan(batch: Batch, failed: FailedBatch, *, run_id: str, familiar_id: str, now: datetime) -> Plan:
    """The batch put aside for the owner: its turns, what was tried, and the raw replies."""
    first, last = batch.turn_range
    reason = failed.failures[-1].reason
    record = {
        "run_id": run_id,
        "turns": [first, last],
        "session": batch.slot.rel_path,
        "audience": str(batch.audience),
        "reason": reason,
        "created_at": now.isoformat(),
        "attempts": [{"at": f.at, "reason": f.reason, "reply": f.reply} for f in failed.failures],
    }
    page = (
        f"# Turns {first} to {last} are not written up\n\n"
        f"The memory writer tried {len(failed.failures)} times and gave up: {reason}.\n"
        f"They belong to {batch.slot.rel_path}. What people told about themselves is quoted in their files.\n"
        f"The turns themselves are in the history, the raw replies in "
        f"{QUARANTINE_NAME} beside this page.\n"
    )
    texts = {QUARANTINE_NAME: json.dumps(record, indent=1) + "\n", "quarantine.md": page}
    writes = (
        PlannedWrite(rel_path=f"{PENDING}/{run_id}/{name}", content=text, before=None) for name, text in texts.items()
    )
    return Plan(
        run_id=run_id,
        familiar_id=familiar_id,
        turn_range=batch.turn_range,
        created_at=now.isoformat(),
        writes=tuple(writes),
        audience=str(batch.audience),
    )


def read_quarantined(store: MemoryStore, run_id: str) -> tuple[int, int, str]:
    """The first and the last turn of a batch that was put aside, and the audience they were said to."""
    try:
        if not run_id or "/" in run_id or run_id.startswith("."):
            raise ValueError("no name of a batch")
        record = json.loads(store.read_file(f"{PENDING}/{run_id}/{QUARANTINE_NAME}"))
        first, last = record["turns"]
        return int(first), int(last), str(record.get("audience") or "")
    except (MemoryStoreError, ValueError, KeyError, TypeError):
        raise MemoryStoreError(f"there is no batch {run_id!r} under {PENDING}") from None


def remove_quarantined(store: MemoryStore, run_id: str) -> None:
    """Take away the pages of a batch that was put aside."""
    for name in (QUARANTINE_NAME, "quarantine.md"):
        path = f"{PENDING}/{run_id}/{name}"
        if store.exists(path):
            store.delete_file(path, source=WRITER_SOURCE)


def list_quarantined(store: MemoryStore) -> list[str]:
    """Runs whose batch was put aside, oldest first."""
    try:
        names = [entry.name for entry in store.list_dir(PENDING) if entry.is_dir]
    except MemoryStoreError:
        return []
    return [name for name in names if store.exists(f"{PENDING}/{name}/{QUARANTINE_NAME}")]


def _store(path: Path, plain: object) -> None:
    try:
        atomic_write(path, json.dumps(plain))
    except LinkRefused as error:
        raise MemoryStoreError(str(error)) from error
    except OSError as error:
        raise MemoryStoreError(f"cannot write {path}: {(error.strerror or type(error).__name__).lower()}") from error


def new_run_id(clock: Clock) -> str:
    """A name for a pass: when it began, and something to tell two of one second apart."""
    return f"{clock.now().astimezone(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
