"""Reshaping files: two topics that are one become one file, and a file that is nearly full is split at a heading.

Every part takes its sources along, so that what is taken back later goes from the new place too. A file is reshaped
only where it says itself who may hear it, and the new one says the same, or where it is all the owner's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from familiar_connect.memory.file_audience import (
    MARK,
    front_matter,
    open_path,
    read_audience,
    with_audience,
    without_front_matter,
)
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import Provenance, parts_of
from familiar_connect.memory.writing.apply import text_hash, with_added_parts
from familiar_connect.memory.writing.plan import LineRemoval, PartSource, PlannedWrite
from familiar_connect.support.markdown import document_title, read_headings

MAX_SECTIONS = 200

_NOT_SLUG = re.compile(r"[^a-z0-9]+")


class FileReshaper:
    """Merges and splits as edits that wait for the owner."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._audiences = PartAudiences(store)
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
            PlannedWrite(rel_path=other, content=pointer, before=text_hash(two), removed=_lost(two, pointer)),
        )

    def split(self, path: str, text: str, *, room: int) -> tuple[PlannedWrite, ...]:
        """The largest section of *path* in a file of its own, with a link to it in its place; nothing if none helps."""
        if not self._may_reshape(path, text) or path.startswith("people/"):
            return ()
        lines = text.splitlines(keepends=True)
        headings = [each for each in read_headings(text.splitlines()) if each.level <= 2][:MAX_SECTIONS]
        ends = [each.line for each in headings[1:]] + [len(lines)]
        sections = [(each, end) for each, end in zip(headings, ends, strict=True) if each.level == 2 and each.text]
        if len(sections) < 2:
            return ()
        heading, end = max(sections, key=lambda pair: len("".join(lines[pair[0].line : pair[1]])))
        body = "".join(lines[heading.line + 1 : end]).strip()
        target = _path_for(path, heading.text)
        said_to = read_audience(text)
        content = f"# {heading.text}\n\n{body}\n"
        content = with_audience(content, said_to) if said_to is not None else content
        if target is None or self._store.exists(target) or not body or len(content.encode()) > room:
            return ()
        link = f"See [{re.sub(r'[][]', '', heading.text)}]({PurePosixPath(target).name}).\n\n"
        left = "".join([*lines[: heading.line + 1], "\n", link, *lines[end:]])
        return (
            PlannedWrite(rel_path=target, content=content, before=None, parts=self._sources(path, [body], into=target)),
            PlannedWrite(rel_path=path, content=left, before=text_hash(text), removed=_lost(text, left)),
        )

    def _may_reshape(self, path: str, text: str) -> bool:
        """Whether the lines of a file keep their audience wherever they go."""
        if path.startswith(("self/", "lore/")):
            return False
        return read_audience(text) is not None or not self._audiences.is_program_written(path)

    def _sources(self, path: str, texts: Iterable[str], *, into: str) -> tuple[PartSource, ...]:
        known = self._provenance.sources_of(path) if self._provenance is not None else {}
        parts = {part.hash: part for text in texts for part in parts_of(without_front_matter(text))}
        return tuple(PartSource(part=each, turns=known.get(each, ())) for each in parts)


def _lost(before: str, after: str) -> tuple[LineRemoval, ...]:
    left = set(after.splitlines())
    gone = (line for line in before.splitlines() if line.strip() and line not in left)
    return tuple(LineRemoval(text=line, reason="moved") for line in gone)


def _path_for(path: str, heading: str) -> str | None:
    slug = _NOT_SLUG.sub("-", heading.casefold()).strip("-")[:60]
    base = PurePosixPath(open_path(path))
    mark = PurePosixPath(path).stem.partition(MARK)[2]
    name = f"{base.stem}-{slug}{f'{MARK}{mark}' if mark else ''}.md"
    return str(base.with_name(name)) if slug else None
