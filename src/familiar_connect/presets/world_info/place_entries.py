"""Where activated entries go: `place_entries(activated)`, and `pool_of(books)`, the order they are asked in.

Entries with a higher order end up later, closer to the chat; those behind an outlet stand the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from familiar_connect.llm.types import Role
from familiar_connect.presets.world_info.types import (
    Activation,
    BookKind,
    BookOrder,
    EntriesAtDepth,
    EntryPosition,
    WorldBook,
    WorldEntry,
    WorldInfo,
)


def pool_of(books: Iterable[WorldBook], order: BookOrder = BookOrder.character_first) -> tuple[WorldEntry, ...]:
    """All entries in the order of the scan: the chat's, the persona's, then the character's and the global ones."""
    by_kind: dict[BookKind, list[WorldEntry]] = {kind: [] for kind in BookKind}
    taken: set[str] = set()
    for kind in (BookKind.everyone, BookKind.chat, BookKind.persona, BookKind.character):
        for book in books:  # a book stands once, under the first of its kinds
            if book.kind is kind and book.name not in taken:
                by_kind[kind] += book.entries
        taken |= {book.name for book in books if book.kind is kind}
    own, shared = by_kind[BookKind.character], by_kind[BookKind.everyone]
    rest = {
        BookOrder.evenly: (_sort([*shared, *own]),),
        BookOrder.character_first: (_sort(own), _sort(shared)),
        BookOrder.global_first: (_sort(shared), _sort(own)),
    }[order]
    lists = (_sort(by_kind[BookKind.chat]), _sort(by_kind[BookKind.persona]), *rest)
    return tuple(entry for entries in lists for entry in entries)


def place_entries(activated: Sequence[Activation]) -> WorldInfo:
    """The texts of *activated*, each with its like."""
    texts: dict[EntryPosition, list[str]] = {position: [] for position in EntryPosition}
    depth: dict[tuple[int, Role], list[str]] = {}
    outlets: dict[str, list[str]] = {}
    for each in sorted(activated, key=lambda each: -each.entry.order):
        entry = each.entry
        if not each.text:
            continue
        if entry.position is EntryPosition.at_depth:
            depth.setdefault((entry.depth, entry.role), []).insert(0, each.text)
        elif entry.position is EntryPosition.outlet:
            if entry.outlet:
                outlets.setdefault(entry.outlet, []).append(each.text)
        else:
            texts[entry.position].insert(0, each.text)
    return WorldInfo(
        activated=tuple(activated),
        before="\n".join(texts[EntryPosition.before_card]),
        after="\n".join(texts[EntryPosition.after_card]),
        note_top=tuple(texts[EntryPosition.note_top]),
        note_bottom=tuple(texts[EntryPosition.note_bottom]),
        examples_top=tuple(texts[EntryPosition.examples_top]),
        examples_bottom=tuple(texts[EntryPosition.examples_bottom]),
        depth=tuple(EntriesAtDepth(depth=at, role=role, texts=tuple(here)) for (at, role), here in depth.items()),
        outlets={name: "\n".join(here) for name, here in outlets.items()},
    )


def _sort(entries: Sequence[WorldEntry]) -> list[WorldEntry]:
    return sorted(entries, key=lambda entry: -entry.order)
