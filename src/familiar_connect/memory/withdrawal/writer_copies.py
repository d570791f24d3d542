"""What the memory writer keeps beside the files, without words that were taken back: proposals, raw answers, runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from familiar_connect.memory.maintenance.review import PendingItem, Review
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.withdrawal.clean_lines import LineCleaner, WithdrawnWords
from familiar_connect.memory.writing.journal import RunLog
from familiar_connect.memory.writing.plan import Plan, PlannedWrite
from familiar_connect.support.no_follow import load_bytes, remove_file

ANSWER_FILES = ("writer-journal.damaged", "writer-attempts.json")
"""Answers of models that led to nothing; without them a batch is only tried once more."""


def clean_writer_copies(
    store: MemoryStore, cleaner: LineCleaner, words: WithdrawnWords, turn_ids: Iterable[int]
) -> int:
    """Clean all of it; how many proposals and answers changed or went."""
    ids = set(turn_ids)
    review = Review(store)
    changed = sum(_clean_pending(review, pending, cleaner, words, ids) for pending in review.list())
    if store.audit is not None:
        changed += sum(_remove_answers(store.audit.folder / name, words) for name in ANSWER_FILES)
        RunLog(store.audit.folder).erase(ids)
    return changed


def _clean_pending(
    review: Review, pending: PendingItem, cleaner: LineCleaner, words: WithdrawnWords, ids: set[int]
) -> bool:
    plan = pending.plan
    writes = (*plan.writes, *plan.questions) if plan is not None else ()
    is_made_of = any(not ids.isdisjoint(part.turns) for write in writes for part in write.parts)
    if not is_made_of and not words.is_in(review.pending_text(pending.id)):
        return False
    if plan is None:
        review.remove_answers(pending.id)
        return True
    left = clean_plan(plan, cleaner, words)
    if left.writes:
        review.replace(left)
    else:
        review.remove([pending.id])
    return True


def clean_plan(plan: Plan, cleaner: LineCleaner, words: WithdrawnWords) -> Plan:
    """*plan* without what was taken back; a file for which nothing is left to write is left out."""
    writes = (_clean_write(write, cleaner, words) for write in plan.writes)
    questions = (_clean_write(write, cleaner, words) for write in plan.questions)
    return replace(
        plan,
        writes=tuple(write for write in writes if write is not None),
        questions=tuple(write for write in questions if write is not None),
        refused=tuple(edit for edit in plan.refused if not words.is_in(edit.text)),
    )


def _clean_write(write: PlannedWrite, cleaner: LineCleaner, words: WithdrawnWords) -> PlannedWrite | None:
    known = cleaner.with_sources({source.part: frozenset(source.turns) for source in write.parts})
    cleaned = known.clean(write.rel_path, write.content)
    removed = tuple(each for each in write.removed if not words.is_in(each.text))
    there = {part.part for part in cleaned.parts}
    parts = (*(source for source in write.parts if source.part not in there), *cleaned.parts)
    if words.is_in(cleaned.text):
        return None
    if cleaned.text != write.content and not known.has_parts(cleaned.text):
        return None
    return replace(write, content=cleaned.text, removed=removed, parts=parts)


def _remove_answers(path: Path, words: WithdrawnWords) -> bool:
    try:
        text = load_bytes(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return False
    try:
        is_meant = words.is_in_any(json.loads(text))
    except (ValueError, RecursionError):
        is_meant = words.is_in(text)
    if is_meant:
        remove_file(path)
    return is_meant
