"""Provenance: which turns each part of a memory file came from, kept beside the memory so that it stays clean to read.

A part is a bullet or a paragraph. It is known by the hash of its words, so it keeps its sources when it
is moved, and a part that was reworded counts as new. The record is `provenance.jsonl` in the audit
folder, one line per file and pass, only ever added to, except when a person is erased.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from familiar_connect.memory.file_audience import audience_lines
from familiar_connect.memory.note_paths import original_path
from familiar_connect.memory.writing.markdown_sections import bullet_of
from familiar_connect.memory.writing.plan import PartSource
from familiar_connect.support.files import atomic_write, write_all
from familiar_connect.support.markdown import read_headings
from familiar_connect.support.no_follow import make_folder, open_file, open_to_read
from familiar_connect.support.text import one_line

FILE_NAME = "provenance.jsonl"
MAX_PARTS_PER_LINE = 100
MAX_TURNS_PER_PART = 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class MarkdownPart:
    """One bullet or paragraph, and the heading it stands under ("" before the first)."""

    heading: str
    text: str
    hash: str
    start: int = field(default=0, compare=False)
    """Where its words begin in the file, in characters."""
    end: int = field(default=0, compare=False)


def part_hash(text: str) -> str:
    """The name of a part: its words, whatever the spacing and the bullet before them."""
    line = one_line(text)
    words = bullet_of(line) or line
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:20]


def parts_of(markdown: str) -> list[MarkdownPart]:
    """Every bullet and paragraph of *markdown*, in order; what says the file's audience is none of them."""
    lines = markdown.splitlines(keepends=True)
    front_matter = frozenset(audience_lines(markdown))
    marks = {each.line: each.text for each in read_headings([line.rstrip("\r\n") for line in lines])}
    parts: list[MarkdownPart] = []
    heading, offset = "", 0
    begun: list[int] = []  # where the open part begins and ends

    def close() -> None:
        if begun:
            text = markdown[begun[0] : begun[1]]
            parts.append(MarkdownPart(heading=heading, text=text, hash=part_hash(text), start=begun[0], end=begun[1]))
            begun.clear()

    for number, line in enumerate(lines):
        words = line.rstrip()
        start = offset + len(line) - len(line.lstrip())
        end = offset + len(words)
        offset += len(line)
        if number in marks or number in front_matter or not words.strip():
            close()
            heading = marks.get(number, heading)
        elif bullet_of(words) is not None:
            close()
            begun[:] = [start + _bullet_width(words.strip()), end]
        elif begun:
            begun[1] = end
        else:
            begun[:] = [start, end]
    close()
    return parts


def _bullet_width(line: str) -> int:
    return len(line) - len(line[1:].lstrip())


class Provenance:
    """The record in *folder*; safe to share between threads. The folder is made by the first record."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._lock = threading.Lock()

    def record(self, rel_path: str, parts: Iterable[PartSource], run_id: str) -> None:
        """Add where *parts* of a file came from; recording the same twice changes no answer."""
        known = [[source.part, list(source.turns[:MAX_TURNS_PER_PART])] for source in parts if source.turns]
        lines = [
            {"file": rel_path, "run": run_id, "parts": known[at : at + MAX_PARTS_PER_LINE]}
            for at in range(0, len(known), MAX_PARTS_PER_LINE)
        ]
        if not lines:
            return
        data = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
        with self._lock:
            make_folder(self.path.parent)
            fd = open_file(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                size = os.fstat(fd).st_size
                if size and os.lseek(fd, size - 1, os.SEEK_SET) >= 0 and os.read(fd, 1) != b"\n":
                    data = b"\n" + data  # a crash cut the last line short
                write_all(fd, data)
                os.fsync(fd)
            finally:
                os.close(fd)

    def sources_of(self, rel_path: str) -> dict[str, tuple[int, ...]]:
        """Part hash → the turns it came from, ascending."""
        found: dict[str, set[int]] = {}
        for line in self._lines():
            if line.get("file") == rel_path:
                for part, turns in _parts(line):
                    found.setdefault(part, set()).update(turns)
        return {part: tuple(sorted(turns)) for part, turns in found.items()}

    def all_sources(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """`sources_of` for every file, read in one go."""
        found: dict[str, dict[str, set[int]]] = {}
        for line in self._lines():
            parts = found.setdefault(str(line.get("file") or ""), {})
            for part, turns in _parts(line):
                parts.setdefault(part, set()).update(turns)
        return {path: {part: tuple(sorted(ids)) for part, ids in parts.items()} for path, parts in found.items()}

    def erase(self, *, turn_ids: Iterable[int] = (), rel_path: str | None = None) -> int:
        """Drop these turns from every record, and every record of *rel_path* or its archives; how many changed."""
        gone = set(turn_ids)
        kept: list[dict[str, object]] = []
        changed = 0
        with self._lock:
            for line in self._lines():
                parts = [[part, [turn for turn in turns if turn not in gone]] for part, turns in _parts(line)]
                parts = [entry for entry in parts if entry[1]]
                is_gone = original_path(str(line.get("file"))) == rel_path
                if is_gone or parts != line.get("parts"):
                    changed += 1
                if not is_gone and parts:
                    kept.append({**line, "parts": parts})
            if changed:
                atomic_write(self.path, "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in kept))
        return changed

    def _lines(self) -> Iterator[dict[str, object]]:
        try:
            with open_to_read(self.path) as file:
                for raw in file:
                    try:
                        line = json.loads(raw)
                    except ValueError:
                        _log.warning("damaged line in the provenance record passed over")
                        continue
                    if isinstance(line, dict):
                        yield line
        except FileNotFoundError:
            return


def _parts(line: dict[str, object]) -> Iterator[tuple[str, list[int]]]:
    entries = line.get("parts")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], list):
            yield entry[0], [turn for turn in entry[1] if isinstance(turn, int)]
