"""Reshaping files: two topics that are one become one file, and one that is nearly full, or over its cap, is split.

Every part takes its sources along, so that what is taken back later goes from the new place too. A file is reshaped
only where it says itself who may hear it, and the new one says the same, where all of it was said to the same people,
which the new one then says, or where it is all the owner's own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from familiar_connect.audience import Audience
from familiar_connect.memory.file_audience import (
    MARK,
    front_matter,
    open_path,
    read_audience,
    with_audience,
    without_front_matter,
)
from familiar_connect.memory.note_paths import PEOPLE, is_archive
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import Provenance, parts_of
from familiar_connect.memory.writing.apply import text_hash, with_added_parts
from familiar_connect.memory.writing.markdown_sections import bullet_of
from familiar_connect.memory.writing.plan import LineRemoval, PartSource, PlannedWrite
from familiar_connect.support.markdown import document_title, read_headings
from familiar_connect.support.text import to_file_slug

MAX_SECTIONS = 200
FULL_ENOUGH = 0.8
"""Part of the cap that a file may fill: from there on it is nearly full."""
PIECE = 0.75
"""Part of the cap that a new file may fill, beside its title: it shall not be nearly full at once."""
MAX_MOVED = 12
MAX_NEW_FILES = 24
MOST_CAPS = 8
"""A file larger than so many caps is no note any more: its owner knows better what it is."""


@dataclass(frozen=True)
class _Section:
    """Lines of a file that may move; a heading above them stays."""

    name: str
    start: int
    end: int


class FileReshaper:
    """Merges and splits as edits that wait for the owner."""

    def __init__(self, store: MemoryStore, audiences: PartAudiences | None = None) -> None:
        """*audiences* that know the turns: else a file that the program wrote is split only if it says whose it is."""
        self._store = store
        self._audiences = audiences or PartAudiences(store)
        self._provenance = Provenance(store.audit.folder) if store.audit is not None else None

    def merge(self, kept: str, other: str, texts: dict[str, str]) -> tuple[PlannedWrite, ...]:
        """The lines of *other* in *kept*, and *other* as a pointer to it; nothing where they are told to others."""
        one, two = texts[kept], texts[other]
        if not (self._may_reshape(kept, one) and self._may_reshape(other, two)):
            return ()
        if read_audience(one) != read_audience(two) or set(front_matter(two)) - set(front_matter(one)):
            return ()
        merged = with_added_parts(one, parts_of(without_front_matter(two)), document_title(two) or "Merged")
        name = re.sub(r"[\[\]]", "", document_title(one) or "") or PurePosixPath(kept).stem
        link = f"[{name}]({PurePosixPath(kept).name})"
        pointer = f"# {document_title(two) or PurePosixPath(other).stem}\n\nSee {link}: both are one file now.\n"
        said_to = read_audience(two)
        pointer = with_audience(pointer, said_to) if said_to is not None else pointer
        return (
            PlannedWrite(
                rel_path=kept, content=merged, before=text_hash(one), parts=self._sources(other, [two], into=kept)
            ),
            PlannedWrite(rel_path=other, content=pointer, before=text_hash(two), removed=_list_lost(two, pointer)),
        )

    def split(self, path: str, text: str, *, room: int) -> tuple[PlannedWrite, ...]:
        """Its largest sections in files of their own, with links in their place, until the rest is not nearly full.

        A file over its cap is given whole. A section that is too large itself becomes several files. Nothing if the
        rest stays too large, or if who may hear the lines would not be clear any more.
        """
        is_known, said_to = self._hearers(path, text)
        if not is_known or len(text.encode()) > room * MOST_CAPS:
            return ()
        lines = text.splitlines(keepends=True)
        sections = _sections(text, path, is_over=len(text.encode()) > room)
        size = len(text.encode())
        chosen: list[_Section] = []
        for section in sorted(sections, key=lambda each: -len("".join(lines[each.start : each.end]))):
            if size <= room * FULL_ENOUGH or len(chosen) >= MAX_MOVED:
                break
            chosen.append(section)
            size -= len("".join(lines[section.start : section.end]).encode())
        moved = sorted(chosen, key=lambda each: each.start)
        return self._move_sections(path, text, moved, said_to, room) if size <= room * FULL_ENOUGH else ()

    def _move_sections(
        self, path: str, text: str, sections: Sequence[_Section], said_to: Audience | None, room: int
    ) -> tuple[PlannedWrite, ...]:
        """*text* with *sections* in other files, and those."""
        lines = text.splitlines(keepends=True)
        left: list[str] = []
        writes: list[PlannedWrite] = []
        at = 0
        for section in sections:
            body = "".join(lines[section.start : section.end])
            pieces = [piece for piece in _pieces(body, int(room * PIECE)) if piece.strip()]
            links = []
            for number, piece in enumerate(pieces, 1):
                name = section.name if number == 1 else f"{section.name} {number}"
                target = self._free_path(path, name, {write.rel_path for write in writes})
                content = f"# {name}\n\n{piece.strip()}\n"
                content = with_audience(content, said_to) if said_to is not None else content
                if target is None or len(content.encode()) > room:
                    return ()
                sources = self._sources(path, [piece], into=target)
                writes.append(PlannedWrite(rel_path=target, content=content, before=None, parts=sources))
                links.append(f"[{re.sub(r'[][]', '', name)}]({PurePosixPath(target).name})")
            left += [*lines[at : section.start], "\n", f"See {', '.join(links)}.\n\n"]
            at = section.end
        rest = "".join([*left, *lines[at:]])
        rest = with_audience(rest, said_to) if said_to is not None and read_audience(text) is None else rest
        if not writes or len(writes) > MAX_NEW_FILES:
            return ()
        return (
            *writes,
            PlannedWrite(rel_path=path, content=rest, before=text_hash(text), removed=_list_lost(text, rest)),
        )

    def _hearers(self, path: str, text: str) -> tuple[bool, Audience | None]:
        """Whether the lines of a file keep their audience wherever they go, and which one has to be said there."""
        if path.startswith(("self/", "lore/", "servers/", f"{PEOPLE}/")) or is_archive(path):
            return False, None  # canon is the owner's; what is of a person or place is looked for under its name
        if self._may_reshape(path, text):
            return True, read_audience(text)
        said_to = self._audiences.audience_of_text(path, text)
        return said_to is not None, said_to

    def _free_path(self, path: str, name: str, taken: Collection[str]) -> str | None:
        target = _path_for(path, name)
        return None if target is None or target in taken or self._store.exists(target) else target

    def _may_reshape(self, path: str, text: str) -> bool:
        """Whether the lines of a file keep their audience wherever they go."""
        if path.startswith(("self/", "lore/")):
            return False
        return read_audience(text) is not None or not self._audiences.is_program_written(path)

    def _sources(self, path: str, texts: Iterable[str], *, into: str) -> tuple[PartSource, ...]:
        known = self._provenance.sources_of(path) if self._provenance is not None else {}
        parts = {part.hash: part for text in texts for part in parts_of(without_front_matter(text))}
        return tuple(PartSource(part=each, turns=known.get(each, ())) for each in parts)


def _list_lost(before: str, after: str) -> tuple[LineRemoval, ...]:
    left = set(after.splitlines())
    gone = (line for line in before.splitlines() if line.strip() and line not in left)
    return tuple(LineRemoval(text=line, reason="moved") for line in gone)


def _path_for(path: str, heading: str) -> str | None:
    base = PurePosixPath(open_path(path))
    part = to_file_slug(heading, 60).removeprefix(f"{base.stem}-")
    mark = PurePosixPath(path).stem.partition(MARK)[2]
    name = f"{base.stem}-{part}{f'{MARK}{mark}' if mark else ''}.md"
    return str(base.with_name(name)) if part else None


def _sections(text: str, path: str, *, is_over: bool) -> list[_Section]:
    """What of a file may move: what stands below its second headings, and above them too if it *is_over* its cap."""
    lines = text.splitlines()
    headings = [each for each in read_headings(lines) if each.level <= 2]
    ends = [each.line for each in headings[1:]] + [len(lines)]
    found = [
        _Section(each.text, each.line + 1, end)
        for each, end in zip(headings, ends, strict=True)
        if each.level == 2 and each.text and end > each.line + 1
    ][:MAX_SECTIONS]
    if not is_over:
        return found if len(found) > 1 else []
    title = next((each for each in headings if each.level == 1), None)
    start = title.line + 1 if title else len(lines) - len(without_front_matter(text).splitlines())
    end = next((each.line for each in headings if each.line >= start), len(lines))
    name = f"{title.text if title else PurePosixPath(open_path(path)).stem} part"
    return [_Section(name, start, end), *found] if end > start else found


def _pieces(body: str, most: int) -> Iterator[str]:
    """*body* in pieces of about the same size, none above *most* bytes, cut where a paragraph or a bullet begins.

    A line that is longer stays whole: the piece is then too large, and nobody writes it.
    """
    size = len(body.encode())
    even = size / math.ceil(size / most)
    piece: list[str] = []
    filled = 0
    for line in body.splitlines(keepends=True):
        length = len(line.encode())
        may_cut = not line.strip() or bullet_of(line) is not None
        if piece and (filled + length > most or (filled >= even and may_cut)):
            yield "".join(piece)
            piece, filled = [], 0
        piece.append(line)
        filled += length
    yield "".join(piece)
