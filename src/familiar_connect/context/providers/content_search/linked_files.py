"""Linked files: one step along the links of what was found, where room is left.

A file that answers half a question often links to the one with the other half. What a linked file says comes in only
behind everything that was found itself, in what room that leaves, through the same gate, and as a block of its own, so
that whoever inspects the prompt sees that nothing but a link brought it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from familiar_connect.audience import all_audiences
from familiar_connect.context.providers.content_search.unfiltered import (
    LEAST_TOKENS,
    format_within,
    recall_contribution,
    with_lore_macros,
)
from familiar_connect.context.types import ContextRequest, Contribution
from familiar_connect.memory.file_audience import without_front_matter
from familiar_connect.memory.index.protocols import RetrievedChunk
from familiar_connect.memory.index.relevance import Hit
from familiar_connect.memory.maintenance.links import links_of, resolve_link
from familiar_connect.memory.versioning.provenance import MarkdownPart, parts_of
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.memory.writing.extractive import telling_words
from familiar_connect.support.markdown import document_title
from familiar_connect.support.tokens import truncate

LINKED_SOURCE = "content_search.linked"
LINKED_LABEL = "from notes that are linked to what was recalled"
MOST_FOUND_FILES = 3
"""Files that were found, best first, whose links are followed."""
MOST_LINKS = 40
"""Links of one of them that are looked at."""
MOST_LINKED = 3
"""Linked files that are told of."""
PARTS_PER_FILE = 2
MAX_PART_TOKENS = 80

_WIKI_LINK = re.compile(r"\[\[([^\]|#\n]{1,200})(?:[#|][^\]\n]{0,200})?\]\]")
_FOLDERS = ("topics", "people", "lore", "sessions")


def tell_linked_files(
    memory: VisibleMemory,
    request: ContextRequest,
    hits: Sequence[Hit],
    *,
    max_tokens: int,
    known: Collection[str],
    closed: tuple[str, ...],
) -> list[Contribution]:
    """What the files linked to *hits* say of the message, in at most *max_tokens*, or nothing.

    Files that are *known* to the prompt, and those whose paths begin with one of *closed*, are left out.
    """
    if max_tokens < LEAST_TOKENS:
        return []
    asked = set(telling_words(request.utterance))
    found: list[Hit] = []
    told = {hit.rel_path for hit in hits} | set(known)
    for path, is_meant in _find_linked_paths(memory, hits):
        if len(found) >= MOST_LINKED * PARTS_PER_FILE:
            break
        if path not in told and not path.startswith(closed):
            told.add(path)
            found += [with_lore_macros(part, request) for part in _bearing_parts(memory, path, asked, is_meant)]
    text = format_within(found, max_tokens, frozenset()) if found else ""
    if not text.strip():
        return []
    whole = recall_contribution(text, all_audiences(hit.audiences for hit in found))
    return [replace(whole, source=LINKED_SOURCE, label=LINKED_LABEL, priority=whole.priority - 1)]


def _find_linked_paths(memory: VisibleMemory, hits: Sequence[Hit]) -> Iterator[tuple[str, bool]]:
    """Memory files linked to, and whether the link stands in the very words that were found."""
    files = list(dict.fromkeys(hit.rel_path for hit in hits if hit.rel_path))[:MOST_FOUND_FILES]
    later: list[str] = []
    for rel_path in files:
        text = memory.look(rel_path).text
        near = "\n".join(hit.text for hit in hits if hit.rel_path == rel_path)
        targets = dict.fromkeys(_targets(memory, rel_path, near))
        yield from ((path, True) for path in targets)
        later += [path for path in _targets(memory, rel_path, text) if path not in targets]
    yield from ((path, False) for path in dict.fromkeys(later))


def _targets(memory: VisibleMemory, rel_path: str, text: str) -> Iterator[str]:
    for link in links_of(text)[:MOST_LINKS]:
        kind, path = resolve_link(rel_path, link.target)
        if kind == "file" and path != rel_path and memory.exists(path):
            yield path
    folder = rel_path.rpartition("/")[0]
    for name in _WIKI_LINK.findall(text)[:MOST_LINKS]:
        bare = name.strip().removesuffix(".md")
        spellings = dict.fromkeys((bare, bare.casefold().replace(" ", "-")))
        places = [f"{place}/{each}.md".lstrip("/") for each in spellings for place in (folder, "", *_FOLDERS)]
        target = next((path for path in places if path != rel_path and memory.exists(path)), None)
        if target is not None:
            yield target


def _bearing_parts(memory: VisibleMemory, path: str, asked: set[str], is_meant: bool) -> Iterator[RetrievedChunk]:
    """The parts of a linked file that share words with the message; its first where the very words found link to it."""
    text = without_front_matter(memory.look(path).text)
    parts = [part for part in parts_of(text) if not part.text.startswith("[")]  # a list of links says nothing itself
    bearing = sorted(parts, key=lambda part: -_count_shared(part, asked))[:PARTS_PER_FILE]
    bearing = [part for part in bearing if _count_shared(part, asked)] or (parts[:1] if is_meant else [])
    for part in bearing:
        audiences = memory.audiences_of_passage(path, part.text)
        if audiences is not None:
            title = document_title(text) or ""
            heading = title if part.heading in ("", title) else f"{title} > {part.heading}".removeprefix(" > ")
            yield RetrievedChunk(path, heading, truncate(part.text, MAX_PART_TOKENS), 0.0, audiences=audiences)


def _count_shared(part: MarkdownPart, asked: set[str]) -> int:
    return len(asked & set(telling_words(part.text)))
