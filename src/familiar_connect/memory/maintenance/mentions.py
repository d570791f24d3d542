"""Mentions: where memory speaks of a person outside their own file, part by part.

A part speaks of someone when it names them, by any name or id, or when it came from what they said.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from familiar_connect.identity import Author
from familiar_connect.memory.maintenance.links import link_graph
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import MarkdownPart, Provenance, parts_of
from familiar_connect.observe.person_match import mentions_person


@dataclass(frozen=True, kw_only=True)
class Mention:
    """One part of a file that speaks of a person."""

    rel_path: str
    part: MarkdownPart
    by_name: bool
    """Whether it names them; else it came from their turns only."""


def mentions_of(
    author: Author, *, store: MemoryStore, provenance: Provenance | None, turns: Set[int], but: Set[str] = frozenset()
) -> Iterator[Mention]:
    """Every part that speaks of *author*, whose turns are *turns*, in path order; files in *but* are left out."""
    for path, text in link_graph(store).texts.items():
        if path in but or path.startswith("self/"):
            continue
        sources = provenance.sources_of(path) if provenance is not None else {}
        for part in parts_of(text):
            named = mentions_person(part.text, author)
            said = sources.get(part.hash, ())
            if named or (said and set(said) <= turns):
                yield Mention(rel_path=path, part=part, by_name=named)


def without_parts(text: str, parts: list[MarkdownPart]) -> str:
    """*text* without *parts* and the bullets before them."""
    for part in sorted(parts, key=lambda part: -part.start):
        start = text.rfind("\n", 0, part.start) + 1
        end = text.find("\n", part.end)
        text = text[:start] + (text[end + 1 :] if end >= 0 else "")
    return text
