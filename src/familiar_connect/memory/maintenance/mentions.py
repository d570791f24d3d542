"""Mentions: where memory speaks of a person outside their own file, part by part.

A part speaks of someone when it names them, by any name or id, or when it came from what they said. It quotes them
when it came from their turns alone, or from others' too and it names them or has words that only they said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass

from familiar_connect.identity import Author
from familiar_connect.memory.maintenance.links import link_graph, links_of, resolve_link
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import MarkdownPart, Provenance, parts_of
from familiar_connect.memory.writing.extractive import telling_words
from familiar_connect.observe.person_match import mentions_person


@dataclass(frozen=True, kw_only=True)
class Mention:
    """One part of a file that speaks of a person."""

    rel_path: str
    part: MarkdownPart
    is_quote: bool = False
    """Whether it tells what they said, or is nothing but a link to their file."""


TurnText = Callable[[int], str]
"""What was said in a turn; "" for one that is gone."""


def mentions_of(
    author: Author,
    *,
    store: MemoryStore,
    provenance: Provenance | None,
    turns: Set[int],
    but: Set[str] = frozenset(),
    text_of: TurnText = lambda _: "",
) -> Iterator[Mention]:
    """Every part that speaks of *author*, whose turns are *turns*, in path order; files in *but* are left out."""
    for path, text in link_graph(store).texts.items():
        if path in but or path.startswith("self/"):
            continue
        sources = provenance.sources_of(path) if provenance is not None else {}
        for part in parts_of(text):
            named = mentions_person(part.text, author)
            behind = set(sources.get(part.hash, ()))
            is_quote = is_link_to(part, path, but) or _is_quote(part, behind & turns, behind - turns, named, text_of)
            if named or is_quote:
                yield Mention(rel_path=path, part=part, is_quote=is_quote)


def _is_quote(part: MarkdownPart, theirs: Set[int], others: Set[int], named: bool, text_of: TurnText) -> bool:
    """Whether what a part tells came from them."""
    return bool(theirs) if named else has_words_of(part, theirs, others, text_of)


def has_words_of(part: MarkdownPart, theirs: Set[int], others: Set[int], text_of: TurnText) -> bool:
    """Whether a part came from the turns *theirs* alone, or has words of theirs that *others* behind it do not say."""
    if not theirs or not others:
        return bool(theirs)
    words = set(telling_words(part.text))
    said, by_others = ({word for turn in some for word in telling_words(text_of(turn))} for some in (theirs, others))
    return bool(words & said - by_others)


def is_link_to(part: MarkdownPart, path: str, files: Set[str]) -> bool:
    """Whether a part is a link to one of *files* and nothing else."""
    links = links_of(part.text) if part.text.startswith("[") and part.text.endswith(")") else []
    return len(links) == 1 and resolve_link(path, links[0].target)[1] in files


def without_parts(text: str, parts: list[MarkdownPart]) -> str:
    """*text* without *parts* and the bullets before them."""
    for part in sorted(parts, key=lambda part: -part.start):
        start = text.rfind("\n", 0, part.start) + 1
        end = text.find("\n", part.end)
        text = text[:start] + (text[end + 1 :] if end >= 0 else "")
    return text
