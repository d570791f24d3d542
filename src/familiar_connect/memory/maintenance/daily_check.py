"""DailyCheck: what is not in order in a memory, put before the owner by the program itself, once a day at most.

By rules alone, and as proposals: nothing is changed. Each suggestion is one of its own, so that one that was rejected
never comes back with others; of a file that a suggestion waits for, no second one is made. Line by line only the files
about people are read that changed since the last time. A memory of very many files is left to `familiar memory check`,
which somebody waits for.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.file_audience import open_path
from familiar_connect.memory.maintenance.housekeeping import SOURCE, examine_memory, proposal
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.note_paths import PEOPLE
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes, make_folder

MARK_NAME = "checked"
"""Beside the audit: the day of the last check."""
MAX_FILES = 2_000
MAX_PEOPLE = 50
"""Whose lines are compared with each other on one day, those written last."""
SAME_MOMENT_S = 2.0
"""A file system may count its time in steps as coarse as this."""
MAX_WAITING = 20
"""Suggestions that may wait at once: an owner who decides none is not given more."""

logger = logging.getLogger(__name__)


class DailyCheck:
    """Looks over the memory of one familiar."""

    def __init__(self, store: MemoryStore, *, familiar_id: str, audiences: PartAudiences | None = None) -> None:
        self._store = store
        self._familiar_id = familiar_id
        self._audiences = audiences
        self._mark = store.audit.folder / MARK_NAME if store.audit is not None else None

    def carry_out(self, now: datetime) -> list[str]:
        """Put before the owner what is not in order, unless that was done today; the proposals that are new."""
        day = now.date().isoformat()
        if self._mark is None or self._read_checked_on() == day:
            return []
        people = self._find_changed_people(self._mark)
        make_folder(self._mark.parent)
        atomic_write(self._mark, f"{day}\n")  # first, so that a memory it fails on is not read again and again
        if len(self._store.list_files()) > MAX_FILES:
            logger.info("memory has too many files to be looked over by itself", extra={"most": MAX_FILES})
            return []
        return self._propose(now, people)

    def _propose(self, now: datetime, people: Collection[str]) -> list[str]:
        review = Review(self._store)
        waiting = [item for item in review.list() if item.source == SOURCE]
        known = {item.id for item in waiting} | review.decisions.run_ids()
        taken = {path for item in waiting for path in item.files}
        made: list[str] = []
        for finding in examine_memory(self._store, now=now, audiences=self._audiences, people=people):
            plan = proposal([finding], familiar_id=self._familiar_id, now=now)
            paths = {edit.rel_path for edit in finding.edits}
            if plan is None or plan.run_id in known or not taken.isdisjoint(paths):
                continue
            if len(waiting) + len(made) >= MAX_WAITING:
                break
            try:
                made.append(review.propose(plan))
            except MemoryStoreError as error:
                logger.warning("a suggestion could not be put before the owner", extra={"error": str(error)})
                break
            taken |= paths
        return made

    def _find_changed_people(self, mark: Path) -> frozenset[str]:
        """The open files of those of whom something was written since *mark* was, the newest."""
        try:
            entries = self._store.list_dir(PEOPLE)
        except MemoryStoreError:  # none yet, or more than are listed
            return frozenset()
        since = mark.stat().st_mtime - SAME_MOMENT_S if mark.exists() else 0.0
        new = [entry for entry in entries if not entry.is_dir and entry.modified.timestamp() >= since]
        newest = sorted(new, key=lambda entry: entry.modified, reverse=True)[:MAX_PEOPLE]
        return frozenset(open_path(f"{PEOPLE}/{entry.name}") for entry in newest)

    def _read_checked_on(self) -> str:
        try:
            return load_bytes(self._mark).decode("utf-8", "replace").strip() if self._mark is not None else ""
        except OSError:
            return ""
