"""The record beside imported lore: what a lorebook held that its Markdown files do not show.

One hidden JSON file a book, in the folder of the files. For each entry it keeps every field, the file the entry went
to, if any, and the key it had; disabled entries are in it too. `with_earlier` takes in the same book imported again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from familiar_connect.errors import LorebookImportError
from familiar_connect.memory.lorebooks.entry_markdown import latin_stem
from familiar_connect.memory.store import MAX_BINARY_BYTES, MemoryStore

PREFIX = ".lorebook-"
_VERSION = 1


@dataclass(frozen=True)
class RecordedEntry:
    """One entry, as a world-info file holds it."""

    key: str
    file: str | None
    """Its name in the folder; None for an entry that has no file."""
    entry: dict[str, object]


@dataclass(frozen=True)
class ImportRecord:
    """One imported book."""

    name: str
    top: dict[str, object]
    entries: tuple[RecordedEntry, ...]
    number: int = 0
    """Which of the books it is, by when it first came: where entries have one order, the earlier book's come first."""

    @property
    def file_name(self) -> str:
        """A name of its own for every book: one in another script has a mark made of its letters."""
        mark = (
            ""
            if self.name.isascii()
            else f"-{hashlib.blake2b(self.name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"
        )
        return f"{PREFIX}{latin_stem(self.name or 'lorebook')}{mark}.json"

    @property
    def older_file_name(self) -> str:
        """What earlier versions called it."""
        return f"{PREFIX}{latin_stem(self.name or 'lorebook')}.json"

    def with_earlier(self, earlier: ImportRecord, *, standing: set[str]) -> ImportRecord:
        """This book, and of what is known of it from before the entries it no longer has.

        Those with a file stay while the file is *standing*.
        """
        files = {kept.file for kept in self.entries}
        numbers = {_number(kept) for kept in self.entries}
        rest = [
            kept
            for kept in earlier.entries
            if (kept.file not in files and kept.file in standing if kept.file else _number(kept) not in numbers)
        ]
        return replace(self, entries=(*self.entries, *rest))


def encode_record(record: ImportRecord) -> bytes:
    """The bytes of a record, or an error that says the book is too large for one."""
    plain = {
        "version": _VERSION,
        "name": record.name,
        "number": record.number,
        "top": record.top,
        "entries": [{"key": kept.key, "file": kept.file, "entry": kept.entry} for kept in record.entries],
    }
    text = json.dumps(plain, ensure_ascii=False)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:  # half a character, which only an escape can hold
        data = json.dumps(plain).encode("ascii")
    if len(data) > MAX_BINARY_BYTES:
        raise LorebookImportError(
            f"the lorebook {record.name!r} is too large to keep whole ({len(data):,} bytes); split it in SillyTavern"
        )
    return data


def read_record(store: MemoryStore, path: str) -> ImportRecord | None:
    """The record at *path*; None where there is none."""
    data = store.bytes_if_present(path)
    if data is None:
        return None
    try:
        plain = json.loads(data)
        kept = tuple(_parse_entry(each) for each in plain["entries"])
        number = plain.get("number", 0)
        if not (isinstance(plain["top"], dict) and isinstance(plain["name"], str) and isinstance(number, int)):
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise LorebookImportError(
            f"the memory file {path}, which holds what the lorebook's Markdown does not show, is damaged; "
            "put an earlier version back with `familiar memory restore`, or delete it and import the lorebook again"
        ) from None
    return ImportRecord(plain["name"], plain["top"], kept, number)


def records_in(store: MemoryStore, folder: str) -> list[ImportRecord]:
    """The records of one folder, by file name."""
    names = [entry.name for entry in store.list_dir(folder) if not entry.is_dir]
    paths = [f"{folder}/{name}".lstrip("/") for name in names if name.startswith(PREFIX) and name.endswith(".json")]
    return [record for path in paths if (record := read_record(store, path)) is not None]


def write_record(store: MemoryStore, path: str, data: bytes, *, source: str) -> None:
    """Write a record through a store of its own: what *store* says it changed are the files people asked for."""
    audit_dir = store.audit.folder if store.audit is not None else None
    keeper = MemoryStore(store.root, limits=store.limits, audit_dir=audit_dir)
    try:
        keeper.write_bytes(path, data, source=source)
    finally:
        if keeper.audit is not None:
            keeper.audit.close()


def _parse_entry(plain: Any) -> RecordedEntry:
    key, file, entry = plain["key"], plain["file"], plain["entry"]
    if not isinstance(key, str) or not isinstance(file, str | None) or not isinstance(entry, dict):
        raise TypeError
    return RecordedEntry(key, file, entry)


def _number(kept: RecordedEntry) -> str:
    return str(kept.entry.get("uid", f"key {kept.key}"))
