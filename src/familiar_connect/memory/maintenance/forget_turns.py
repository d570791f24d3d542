"""Forgetting turns: takes out of memory what was written from talk that was taken back or reads otherwise now.

A part is known by its text, in whatever file it stands by now. Earlier versions of the files stay in the audit. A file
of which nothing is left goes too, with the links to it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Set

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.maintenance.mentions import has_words_of, is_link_to, without_parts
from familiar_connect.memory.maintenance.review import PendingItem, Review
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import MarkdownPart, Provenance, parts_of
from familiar_connect.memory.writing.archiving import MANAGED
from familiar_connect.memory.writing.extractive import PRESENT_HEADING
from familiar_connect.memory.writing.journal import writer_lock

KEPT_BY_PROGRAM = (*MANAGED, PRESENT_HEADING)
"""Sections that say nothing by themselves: a file of which only these are left goes."""

logger = logging.getLogger(__name__)


def forget_turns(
    store: MemoryStore,
    turns: Set[int],
    *,
    text_of: Callable[[int], str],
    source: str,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Take out of every file what only *turns* said, and proposals made of them; the files that changed.

    *text_of* tells what was said in a turn, so it is called before the turns go.
    """
    audit = store.audit
    if audit is None or not turns:
        return []

    def came_from_turns(part: MarkdownPart, behind: Set[int]) -> bool:
        return has_words_of(part, behind & turns, behind - turns, text_of)

    with writer_lock(audit.folder):
        changed = erase_parts(store, Provenance(audit.folder), turns, came_from_turns, source=source, progress=progress)
        remove_proposals(store, lambda pending: _is_within(pending.turn_range, turns))
    return changed


def erase_parts(
    store: MemoryStore,
    provenance: Provenance,
    turns: Set[int],
    is_doomed: Callable[[MarkdownPart, Set[int]], bool],
    *,
    source: str,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Take out every part that came from *turns*, among others, and for which *is_doomed* holds; the changed files.

    *is_doomed* is told the part and all turns it came from. The caller holds the writer's lock.
    """
    sources = _sources_by_part(provenance)
    touched = {part for part, behind in sources.items() if not behind.isdisjoint(turns)}
    if not touched:
        return []

    def goes(_path: str, part: MarkdownPart) -> bool:
        return part.hash in touched and is_doomed(part, sources[part.hash])

    changed = _take_out(store, goes, source, progress)
    gone = frozenset(path for path in changed if not store.exists(path))

    def links_to_gone(path: str, part: MarkdownPart) -> bool:
        return is_link_to(part, path, gone)

    if gone:
        changed += [path for path in _take_out(store, links_to_gone, source) if path not in changed]
    return changed


def remove_proposals(store: MemoryStore, is_doomed: Callable[[PendingItem], bool]) -> None:
    """Remove what waits for the owner's word and for which *is_doomed* holds."""
    review = Review(store)
    review.remove([each.id for each in review.list() if is_doomed(each)])


def _sources_by_part(provenance: Provenance) -> dict[str, set[int]]:
    """Part hash → every turn it came from, in whatever file it stands by now."""
    found: dict[str, set[int]] = {}
    for parts in provenance.all_sources().values():
        for part, ids in parts.items():
            found.setdefault(part, set()).update(ids)
    return found


def _take_out(
    store: MemoryStore,
    is_doomed: Callable[[str, MarkdownPart], bool],
    source: str,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Take every part for which *is_doomed* holds out of its file; the files that changed or went."""
    changed: list[str] = []
    files = [path for path in markdown_files(store) if not path.startswith("self/")]
    for count, path in enumerate(files, start=1):
        if progress is not None:
            progress(count, len(files))
        try:
            text = store.read_file(path)
            doomed = [part for part in parts_of(text) if is_doomed(path, part)]
            if not doomed:
                continue
            left = without_parts(text, doomed)
            if all(part.heading in KEPT_BY_PROGRAM for part in parts_of(left)):
                store.delete_file(path, source=source)
            else:
                store.write_file(path, left, source=source)
            changed.append(path)
        except MemoryStoreError as error:
            logger.warning("a memory file keeps parts of talk that was taken back", extra={"error": str(error)})
    return changed


def _is_within(turn_range: tuple[int, int], turns: Set[int]) -> bool:
    first, last = turn_range
    return bool(last) and any(first <= turn <= last for turn in turns)
