"""Taking out of memory what came from turns that were edited, undone or deleted since.

A part goes when one of the turns it came from was taken back, or when all of them read otherwise now. Proposals that
would write down what was taken back go too. What is written up later is made of what turns read then, so only changes
since the last look count.
"""

from __future__ import annotations

import logging
from collections.abc import Set

from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.memory.maintenance.forget_turns import erase_parts, remove_proposals
from familiar_connect.memory.maintenance.review import PendingItem
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import MarkdownPart, Provenance

SOURCE = "edit"

logger = logging.getLogger(__name__)


def erase_changed_parts(store: MemoryStore, provenance: Provenance, edits: MessageEdits) -> list[str]:
    """Take them out of every file; the files that changed. The caller holds the writer's lock."""
    newest, turns = edits.changes_to_correct()
    if not turns:
        return []
    taken_back = {turn_id for turn_id, was_taken_back in turns.items() if was_taken_back}

    def reads_otherwise(_part: MarkdownPart, behind: Set[int]) -> bool:
        return not taken_back.isdisjoint(behind) or turns.keys() >= behind

    changed = erase_parts(store, provenance, turns.keys(), reads_otherwise, source=SOURCE)
    if taken_back:
        remove_proposals(store, lambda pending: _has_parts_of(pending, taken_back))
    edits.mark_corrected(newest)
    if changed:
        logger.info("parts made from changed words were taken out of memory", extra={"files": len(changed)})
    return changed


def _has_parts_of(pending: PendingItem, turns: Set[int]) -> bool:
    """Whether approving *pending* would write down what came from *turns*."""
    plan = pending.plan
    writes = (*plan.writes, *plan.questions) if plan is not None else ()
    return any(not turns.isdisjoint(part.turns) for write in writes for part in write.parts)
