"""Lorebooks as a form changes them: what there is, one entry saved, a new one, and one taken away.

What is written are the same files that a person edits by hand: the entry's Markdown, and its book's record for all that
Markdown does not show. An entry that is off has no file, so that nothing finds it; its text stands in the record. What
any of it replaces stays in the versions. Calls block: async code runs them in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.file_audience import front_matter
from familiar_connect.memory.lorebooks.book_shelf import (
    LORE,
    OWN_BOOK,
    card_book_names,
    entry_from_markdown,
    is_record_redundant,
    list_records,
    next_book_number,
    with_edits,
    with_entry_defaults,
)
from familiar_connect.memory.lorebooks.entry_fields import ON, TEXTS, entry_with, fields_of
from familiar_connect.memory.lorebooks.entry_markdown import FileNames, entry_title, parse_entry, render_entry
from familiar_connect.memory.lorebooks.import_record import ImportRecord, RecordedEntry, encode_record, read_record
from familiar_connect.memory.maintenance.field_merge import merge_fields
from familiar_connect.memory.pins import read_pin
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import OWNER

PIN = "pin: true"
MAX_ENTRIES = 10_000
NEW_ENTRY = {"comment": "", "key": [], "content": ""}


@dataclass(frozen=True, kw_only=True)
class EntryPlace:
    """Where an entry is kept: under *key* in the record of its book, or in the file at *path* alone."""

    record: str = ""
    key: str = ""
    path: str = ""


@dataclass(frozen=True, kw_only=True)
class ShelvedEntry:
    """One entry as its files have it now."""

    place: EntryPlace
    path: str
    """Its file; empty for one that is off."""
    entry: dict[str, Any]
    """Every field, as SillyTavern names them."""

    @property
    def title(self) -> str:
        return entry_title(self.entry)

    @property
    def fields(self) -> dict[str, str]:
        return fields_of(self.entry)


@dataclass(frozen=True, kw_only=True)
class ShelvedBook:
    """One book with its entries."""

    name: str
    record: str
    """The path of its record; empty for the book of loose files."""
    entries: tuple[ShelvedEntry, ...]


@dataclass(frozen=True, kw_only=True)
class EntryOutcome:
    """What became of an edit."""

    place: EntryPlace
    fields: dict[str, str]
    """What the form shows next."""
    theirs: dict[str, str]
    """What the files say now."""
    conflicts: tuple[str, ...] = ()
    is_merged: bool = False


def list_books(store: MemoryStore) -> list[ShelvedBook]:
    """Every book that can be read; the one of loose files comes last."""
    files = store.list_files(LORE)
    books, claimed = [], set()
    for path in list_records(store, LORE):
        record = _read(store, path)
        entries = [_shelved(store, path, kept) for kept in record.entries]
        claimed |= {f"{_folder(path)}/{kept.file}" for kept in record.entries if kept.file}
        there = tuple(each for each in entries if each is not None)
        books.append(ShelvedBook(name=record.name or OWN_BOOK, record=path, entries=there))
    loose = [_loose(store, path) for path in files if path not in claimed]
    keyed = tuple(each for each in loose if each is not None)
    return [*books, ShelvedBook(name=OWN_BOOK, record="", entries=keyed)] if keyed else books


def find_entry(store: MemoryStore, place: EntryPlace) -> ShelvedEntry:
    """The entry that is kept at *place*."""
    found = None
    if place.record:
        kept = _kept(_read(store, place.record), place.key)
        found = _shelved(store, place.record, kept) if kept is not None else None
    elif place.path in store.list_files(LORE):
        found = _loose(store, place.path, is_asked=True)
    if found is None:
        raise MemoryStoreError("this entry is gone; World Info lists the others")
    return found


def save_entry(store: MemoryStore, place: EntryPlace, was: Mapping[str, str], mine: Mapping[str, str]) -> EntryOutcome:
    """Let the entry say *mine*, which began as *was*; where both sides changed a field nothing is written."""
    with store.lock():
        there = find_entry(store, place)
        merged = merge_fields(was, mine, there.fields, texts=TEXTS)
        if merged.conflicts:
            return EntryOutcome(place=place, fields=merged.fields, theirs=there.fields, conflicts=merged.conflicts)
        entry = entry_with(there.entry, merged.fields)
        _check(entry)
        place = _write(store, there, entry) if merged.fields != there.fields else place
    return EntryOutcome(place=place, fields=merged.fields, theirs=merged.fields, is_merged=merged.is_merged)


def add_entry(store: MemoryStore, record: str, fields: Mapping[str, str]) -> EntryPlace:
    """A new entry in the book of *record*, or in a file alone."""
    with store.lock():
        entry = entry_with(with_entry_defaults({**NEW_ENTRY, "addMemo": True}), {**fields, "on": ON})
        _check(entry)
        folder = _folder(record) if record else LORE
        path = f"{folder}/{_new_name(store, folder, entry)}"
        there = ShelvedEntry(place=EntryPlace(path=path), path=path, entry=with_entry_defaults(dict(NEW_ENTRY)))
        if not record:
            return _write(store, there, entry)
        book = _read(store, record)
        if len(book.entries) >= MAX_ENTRIES:
            raise MemoryStoreError(f"a book holds at most {MAX_ENTRIES:,} entries; begin another one")
        return _write_kept(store, record, book, there, with_number(entry, book))


def delete_entry(store: MemoryStore, place: EntryPlace, was: Mapping[str, str]) -> bool:
    """Take the entry away, unless it says something else than *was* by now; whether it is gone."""
    with store.lock():
        there = find_entry(store, place)
        if there.fields != was:
            return False
        if place.record:
            book = _read(store, place.record)
            rest = tuple(kept for kept in book.entries if kept.key != place.key)
            store.write_bytes(place.record, encode_record(replace(book, entries=rest)), source=OWNER)
        if there.path:
            store.delete_file(there.path, source=OWNER)
    return True


def add_book(store: MemoryStore, name: str) -> str:
    """A new book without entries; the path of its record."""
    record = ImportRecord(name, {}, (), next_book_number(store))
    path = f"{LORE}/{record.file_name.removeprefix('.lorebook-').removesuffix('.json')}/{record.file_name}"
    with store.lock():
        if not name or any(book.name.casefold() == name.casefold() for book in list_books(store)):
            raise MemoryStoreError("there is a book of that name already" if name else "a book needs a name")
        store.write_bytes(path, encode_record(record), source=OWNER)
    return path


def with_number(entry: dict[str, Any], book: ImportRecord) -> dict[str, Any]:
    """*entry* with a number that no other entry of *book* has."""
    taken = [number for kept in book.entries if isinstance(number := kept.entry.get("uid"), int)]
    taken += [
        int(kept.key) for kept in book.entries if kept.key.isascii() and kept.key.isdigit() and len(kept.key) < 10
    ]
    number = max(taken, default=-1) + 1
    return {**entry, "uid": number, "displayIndex": number}


def _write(store: MemoryStore, there: ShelvedEntry, entry: dict[str, Any]) -> EntryPlace:
    """The entry into its book, or into its file alone where that can say all of it."""
    if there.place.record:
        return _write_kept(store, there.place.record, _read(store, there.place.record), there, entry)
    name = there.path.rpartition("/")[2]
    alone = ImportRecord("", {}, (RecordedEntry("0", name, {**entry, "uid": 0, "displayIndex": 0}),))
    if is_record_redundant(alone):
        store.write_file(there.path, _file_text(store.read_if_present(there.path), entry), source=OWNER)
        return there.place
    path, book = _record_for(store, _folder(there.path))
    kept = next((each for each in book.entries if each.file == name), None)
    place = EntryPlace(record=path, key=kept.key) if kept is not None else EntryPlace()
    there = replace(there, place=place)
    numbered = with_number(entry, book) if kept is None else {**entry, "uid": kept.entry["uid"]}
    return _write_kept(store, path, book, there, numbered)


def _record_for(store: MemoryStore, folder: str) -> tuple[str, ImportRecord]:
    """Where the record of the loose files of *folder* is to be kept, with all of them that are entries.

    They go on being the book they were: the card's own where no other one is.
    """
    records = [_read(store, path) for path in list_records(store, LORE)]
    own, linked = card_book_names(store)
    is_own = own is not None and all(each.name not in (own, linked or own) for each in records)
    record = ImportRecord(own if is_own and own is not None else OWN_BOOK, {}, ())
    path = f"{folder}/{record.file_name}"
    book = read_record(store, path) or record
    claimed = {f"{_folder(at)}/{kept.file}" for at in list_records(store, LORE) for kept in _read(store, at).entries}
    for file in store.list_files(folder):
        loose = _loose(store, file) if _folder(file) == folder and file not in claimed else None
        if loose is not None:
            entry = with_number(loose.entry, book)
            made = RecordedEntry(str(entry["uid"]), file.rpartition("/")[2], entry)
            book = replace(book, entries=(*book.entries, made))
    return path, book


def _write_kept(
    store: MemoryStore, path: str, book: ImportRecord, there: ShelvedEntry, entry: dict[str, Any]
) -> EntryPlace:
    """The entry into the record at *path*, and into its file where it is on."""
    folder, name = _folder(path), there.path.rpartition("/")[2] or None
    file = None if entry["disable"] else name or _new_name(store, folder, entry)
    key = there.place.key or str(entry["uid"])
    made = RecordedEntry(key, file, entry)
    kept = [made if each.key == key else each for each in book.entries]
    book = replace(book, entries=tuple(kept if made in kept else [*kept, made]))
    data = encode_record(book)
    if file is not None:
        current = store.read_if_present(f"{folder}/{file}")
        store.write_file(f"{folder}/{file}", _file_text(current, entry), source=OWNER)
    store.write_bytes(path, data, source=OWNER)
    if file is None and name is not None and store.exists(there.path):
        store.delete_file(there.path, source=OWNER)
    return EntryPlace(record=path, key=key)


def _file_text(current: str | None, entry: dict[str, Any]) -> str:
    """The entry's file; what else stands at the head of the one there is stays."""
    head = [line for line in front_matter(current or "") if read_pin(f"---\n{line}\n---\n") is None]
    if not head:
        return render_entry(entry)
    lines = ["---", *head, *([PIN] if entry.get("constant") else []), "---"]
    return "\n".join(lines) + "\n" + render_entry({**entry, "constant": False})


def _check(entry: Mapping[str, Any]) -> None:
    if not str(entry["comment"]).strip() and not entry["key"]:
        raise MemoryStoreError("an entry needs a title or a key")


def _new_name(store: MemoryStore, folder: str, entry: dict[str, Any]) -> str:
    names = FileNames()
    while store.exists(f"{folder}/{(name := names.take(entry_title(entry)))}"):
        continue
    return name


def _shelved(store: MemoryStore, record: str, kept: RecordedEntry) -> ShelvedEntry | None:
    """An entry of a record as its file changes it; None where its file is gone."""
    place, entry = EntryPlace(record=record, key=kept.key), kept.entry
    path = f"{_folder(record)}/{kept.file}" if kept.file else ""
    if path:
        text = store.read_if_present(path)
        if text is None:
            return None
        entry = with_edits(entry, text)
    return ShelvedEntry(place=place, path=path, entry=with_entry_defaults(entry))


def _loose(store: MemoryStore, path: str, *, is_asked: bool = False) -> ShelvedEntry | None:
    """A file of lore as an entry; one without keys is none, unless somebody asks for it."""
    text = store.read_if_present(path)
    if text is None:
        return None
    parts = parse_entry(text)
    if parts.keys is None and not parts.is_pinned and not is_asked:
        return None
    entry = entry_from_markdown(text, stem=path.rpartition("/")[2].removesuffix(".md"), uid=0)
    return ShelvedEntry(place=EntryPlace(path=path), path=path, entry=entry)


def _kept(book: ImportRecord, key: str) -> RecordedEntry | None:
    return next((kept for kept in book.entries if kept.key == key), None)


def _read(store: MemoryStore, path: str) -> ImportRecord:
    record = read_record(store, path) if path in list_records(store, LORE) else None
    if record is None:
        raise MemoryStoreError("this book is gone; World Info lists the others")
    return record


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
