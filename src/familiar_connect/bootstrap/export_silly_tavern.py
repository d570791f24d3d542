"""The lorebook exporter: a folder of lore as one SillyTavern world-info object, the way back of the importer.

What came from a lorebook gets every field back that it had, changed only where the owner edited its file; entries
without a file, such as disabled ones, come along, and those whose file was deleted do not. Files that never were
in a lorebook become entries of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.lorebooks.book_shelf import entry_from_markdown, with_edits
from familiar_connect.memory.lorebooks.entry_markdown import render_entry
from familiar_connect.memory.lorebooks.import_record import ImportRecord, RecordedEntry, records_in
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.paths import split_path
from familiar_connect.memory.store import MemoryStore

DEFAULT_FOLDER = "lore"
_OURS = "familiar_connect"
"""Our key in a file's `extensions`."""


@dataclass
class ExportResult:
    """The world-info object, and a sentence for every file that could not be read."""

    book: dict[str, Any]
    errors: list[str] = field(default_factory=list)


def export_silly_tavern_lorebook(store: MemoryStore, *, folder: str = DEFAULT_FOLDER) -> ExportResult:
    """All lore in *folder* and the folders below it."""
    place = "/".join(split_path(folder))
    errors: list[str] = []
    texts = _texts(store, place, errors)
    records = [(home, record) for home in _folders(store, place) for record in records_in(store, home)]
    entries = _Entries()
    claimed = _claims(records, texts)
    for home, record in records:
        for kept in record.entries:
            if kept.file is None:
                entries.add(kept.key, kept.entry)
            elif claimed.get(path := _at(home, kept.file)) is kept:
                entries.add(kept.key, with_edits(kept.entry, texts[path]))
    for path, text in texts.items():
        if path not in claimed:
            entries.add_plain(text, path.rpartition("/")[2].removesuffix(".md"))
    return ExportResult({**_beside([record for _, record in records]), "entries": entries.by_key}, errors)


class _Entries:
    """Entries under keys and numbers of their own; one that is taken gives way to the next free one."""

    def __init__(self) -> None:
        self.by_key: dict[str, dict[str, object]] = {}
        self._numbers: set[str] = set()
        self._free = 0

    def add(self, key: str, entry: dict[str, object]) -> None:
        number = str(entry.get("uid", key))
        if key in self.by_key or number in self._numbers:
            uid = self._next()
            entry = {**entry, "uid": uid}
            key = number = str(uid)
        self.by_key[key] = entry
        self._numbers.add(number)

    def add_plain(self, text: str, stem: str) -> None:
        uid = self._next()
        self.by_key[str(uid)] = entry_from_markdown(text, stem=stem, uid=uid)
        self._numbers.add(str(uid))

    def _next(self) -> int:
        while str(self._free) in self.by_key or str(self._free) in self._numbers:
            self._free += 1
        return self._free


def _texts(store: MemoryStore, place: str, errors: list[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in markdown_files(store):
        if place and not path.startswith(f"{place}/"):
            continue
        try:
            texts[path] = store.read_file(path)
        except MemoryStoreError as error:
            errors.append(str(error))
    return texts


def _folders(store: MemoryStore, place: str) -> list[str]:
    """*place* and every folder below it but dot folders, in path order."""
    found, waiting = [], [place]
    while waiting:
        here = waiting.pop()
        found.append(here)
        waiting += [_at(here, item.name) for item in store.list_dir(here) if item.is_dir and item.name[:1] != "."]
    return sorted(found)


def _claims(records: list[tuple[str, ImportRecord]], texts: dict[str, str]) -> dict[str, RecordedEntry]:
    """The entry each file belongs to: of several books, the one whose words it still has, else the first."""
    claimed: dict[str, RecordedEntry] = {}
    for home, record in records:
        for kept in record.entries:
            path = _at(home, kept.file or "")
            if (
                kept.file is not None
                and path in texts
                and (path not in claimed or render_entry(kept.entry) == texts[path])
            ):
                claimed[path] = kept
    return claimed


def _beside(records: list[ImportRecord]) -> dict[str, object]:
    """What stands beside the entries: one book's own, or, of several, each in our corner."""
    if len(records) == 1:
        return dict(records[0].top)
    tops = [{"name": record.name, **record.top} for record in records if record.top]
    return {"extensions": {_OURS: {"books": tops}}} if tops else {}


def _at(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
