"""Taking out of memory what came from turns that were edited, undone or deleted since.

A part goes when one of the turns it came from was taken back, or when all of them read otherwise now: found by the
sources each part has on record. Each change stands in the audit. What is written up later is made of what turns read
then, so only changes since the last look count.
"""

from __future__ import annotations

import logging

from familiar_connect.errors import MemoryStoreError
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.memory.maintenance.mentions import without_parts
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import Provenance, parts_of

SOURCE = "edit"

logger = logging.getLogger(__name__)


def erase_changed_parts(store: MemoryStore, provenance: Provenance, edits: MessageEdits) -> list[str]:
    """Take them out of every file; the files that changed."""
    newest, turns = edits.changes_to_correct()
    if not turns:
        return []
    taken_back = {turn_id for turn_id, was_taken_back in turns.items() if was_taken_back}
    changed = []
    for path, sources in provenance.all_sources().items():
        gone = {
            part
            for part, came_from in sources.items()
            if came_from and (not taken_back.isdisjoint(came_from) or turns.keys() >= set(came_from))
        }
        if gone and _erase(store, path, gone):
            changed.append(path)
    edits.mark_corrected(newest)
    if changed:
        logger.info("parts made from changed words were taken out of memory", extra={"files": len(changed)})
    return changed


def _erase(store: MemoryStore, path: str, gone: set[str]) -> bool:
    try:
        if not store.exists(path):
            return False
        text = store.read_file(path)
        parts = [part for part in parts_of(text) if part.hash in gone]
        if not parts:
            return False
        store.write_file(path, without_parts(text, parts), source=SOURCE)
    except MemoryStoreError as error:
        logger.warning("parts made from changed words stay in memory", extra={"error": type(error).__name__})
        return False
    return True
