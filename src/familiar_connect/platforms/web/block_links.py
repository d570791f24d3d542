"""Where a block of a prompt came from, as links: a person's or the character's file, entries of lore, notes, lines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from familiar_connect.reply.inspection.lore_calls import LoreCall
from familiar_connect.reply.inspection.turn_view import ViewedBlock

MOST_LINKS = 12
CHARACTER = "character:"
_PATH = re.compile(r"[\w./-]{1,200}\.md\b")


@dataclass(frozen=True)
class SourceLink:
    """A place a block came from."""

    label: str
    href: str


def address_of_file(path: str) -> str:
    """Where a memory file is shown."""
    return f"/memory/file?path={quote(path, safe='')}"


def link_sources(block: ViewedBlock, files: Collection[str], chat_id: int | None) -> list[SourceLink]:
    """The places *block* came from: memory files among *files*, lines of the chat *chat_id* where it is one."""
    found = [SourceLink(path, address_of_file(path)) for path in _paths(block) if path in files]
    if block.lines and chat_id is not None:
        first, last = min(block.lines), max(block.lines)
        label = f"line {first}" if first == last else f"lines {first} to {last}"
        found.append(SourceLink(label, f"/chats/{chat_id}#line-{last}"))
    return found[:MOST_LINKS]


def link_entry(call: LoreCall, files: Mapping[tuple[str, str], str]) -> str | None:
    """The address of an entry's file, which *files* tells by book and entry; None where it has none."""
    path = files.get((call.book, call.entry))
    return address_of_file(path) if path is not None else None


def _paths(block: ViewedBlock) -> Iterator[str]:
    seen: set[str] = set()
    for path in _candidates(block):
        if path not in seen:
            seen.add(path)
            yield path


def _candidates(block: ViewedBlock) -> Iterator[str]:
    for source in block.source.split(", "):
        if source.startswith(CHARACTER):
            yield f"self/{source.removeprefix(CHARACTER)}.md"
    yield from _PATH.findall(block.source[:1_000])
    for key in block.keys:
        yield f"people/{key}.md"
    yield from _PATH.findall((block.text or "")[:200_000])
