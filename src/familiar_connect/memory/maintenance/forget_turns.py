"""Forgetting turns: takes out of memory what was written from talk that was taken back.

A part of a file goes when the turns it came from are gone, or when it has words that only they said. Earlier versions
of the files stay in the audit. A file of which nothing is left goes too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Set

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.maintenance.mentions import has_words_of, is_link_to, without_parts
from familiar_connect.memory.maintenance.review import Review
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
    """Take out of every file what came from *turns*, and proposals made of them; the files that changed.

    *text_of* tells what was said in a turn, so it is called before the turns go.
    """
    audit = store.audit
    if audit is None or not turns:
        return []
    with writer_lock(audit.folder):
        sources = _sources_by_part(Provenance(audit.folder))

        def came_from_turns(_path: str, part: MarkdownPart) -> bool:
            behind = sources.get(part.hash, set())
            return has_words_of(part, behind & turns, behind - turns, text_of)

        changed = _take_out(store, came_from_turns, source, progress)
        gone = frozenset(path for path in changed if not store.exists(path))

        def links_to_gone(path: str, part: MarkdownPart) -> bool:
            return is_link_to(part, path, gone)

        if gone:
            changed += [path for path in _take_out(store, links_to_gone, source) if path not in changed]
        review = Review(store)
        review.remove([each.id for each in review.list() if _is_within(each.turn_range, turns)])
    return changed


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
