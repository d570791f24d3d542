"""The lorebook importer: one Markdown file for each entry, and a hidden record of all the rest.

Reads every format `lorebook_files` knows. The files are what the owner reads and edits and what search finds;
the trigger keywords in them are for people. Importing again is safe: files that exist are left alone unless
*force* says otherwise. Nothing is written before the whole book has been read and found to fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from familiar_connect.bootstrap.lorebook_files.books import Book, read_book
from familiar_connect.bootstrap.lorebook_files.formats import to_world_info
from familiar_connect.bootstrap.lorebook_files.json_source import LorebookSource
from familiar_connect.errors import LorebookImportError, MemoryStoreError, MemoryStoreSizeLimitError
from familiar_connect.memory.lorebooks.book_shelf import is_record_redundant, next_book_number
from familiar_connect.memory.lorebooks.entry_markdown import (
    FileNames,
    entry_keys,
    entry_title,
    file_stem,
    latin_stem,
    render_entry,
)
from familiar_connect.memory.lorebooks.import_record import (
    ImportRecord,
    RecordedEntry,
    encode_record,
    read_record,
    records_in,
    write_record,
)
from familiar_connect.memory.paths import quote_for_error, split_path
from familiar_connect.memory.store import MemoryStore

__all__ = [
    "BookCounts",
    "ImportResult",
    "LorebookImportError",
    "count_entries",
    "import_book",
    "import_silly_tavern_lorebook",
]

DEFAULT_TARGET = "lore/imported"
SOURCE = "silly_tavern_lorebook_importer"
AT_ONCE = 100
"""Files written in one batch."""

Progress = Callable[[int, int], None]


@dataclass
class ImportResult:
    """Paths written, paths that stood there already, and a sentence for every entry that could not be taken."""

    written: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class BookCounts:
    """What a book's entries are, in numbers."""

    entries: int = 0
    constant: int = 0
    """Always in the prompt: pinned."""
    keyed: int = 0
    """Called up by keys, under `sillytavern`; found by search otherwise."""
    by_search: int = 0
    """Without keys: found by search alone."""
    off: int = 0


def count_entries(book: Book) -> BookCounts:
    """How many entries of *book* are what."""
    read = [
        to_world_info(book.format_of(raw), raw, index)
        for index, (_, raw) in enumerate(book.entries)
        if isinstance(raw, dict)
    ]
    on = [entry for entry in read if not entry.get("disable")]
    constant = sum(bool(entry.get("constant")) for entry in on)
    keyed = sum(bool(entry_keys(entry)) and not entry.get("constant") for entry in on)
    return BookCounts(
        entries=len(read),
        constant=constant,
        keyed=keyed,
        by_search=len(on) - constant - keyed,
        off=len(read) - len(on),
    )


def import_silly_tavern_lorebook(
    store: MemoryStore, source: LorebookSource, *, target_dir: str = DEFAULT_TARGET, force: bool = False
) -> ImportResult:
    """Take the lorebook in *source* into *target_dir*; a text that begins `{` or `[` is JSON, any other a path."""
    return import_book(store, read_book(source), target_dir=target_dir, force=force)


def import_book(
    store: MemoryStore,
    book: Book,
    *,
    target_dir: str = DEFAULT_TARGET,
    force: bool = False,
    progress: Progress | None = None,
) -> ImportResult:
    """Take *book*, telling *progress* how many entries of how many are done."""
    folder = "/".join(split_path(target_dir))
    limit = store.limits.max_files_per_dir
    if len(book.entries) > limit:
        raise LorebookImportError(
            f"{book.shown} holds {len(book.entries):,} entries, more than the {limit:,} a memory folder takes; "
            "split it in SillyTavern and import the parts into folders of their own"
        )
    result = ImportResult()
    standing = _existing_names(store, folder)
    place, earlier = _earlier(store, folder, ImportRecord(book.name, book.top, ()))
    planned = _plan(store, folder, book, result, earlier, standing, force=force)
    _check_room(book, folder, planned, standing, limit)
    number = earlier.number if earlier is not None else next_book_number(store)
    record = ImportRecord(book.name, book.top, tuple(planned), number)
    encode_record(record)  # too large for a record is too large to begin with
    owners = {each.file: each for each in earlier.entries if each.file is not None} if earlier is not None else {}
    kept: list[RecordedEntry] = []
    for start in range(0, len(planned), AT_ONCE):
        some = planned[start : start + AT_ONCE]
        there = {each.file for each in some if each.file in standing} if not force else set()
        written = _write_entries(store, folder, [each for each in some if each.file not in there], result)
        for each in some:
            if each.file is not None and each.file in there:
                result.skipped.append(_at(folder, each.file))
                kept.append(owners.get(each.file) or _match_existing(store, folder, each))
            else:
                kept.append(each if each.file in written else replace(each, file=None))
        if progress is not None:
            progress(start + len(some), len(planned))
    _update_record(store, folder, place, replace(record, entries=tuple(kept)), earlier, result, standing)
    return result


def _earlier(store: MemoryStore, folder: str, record: ImportRecord) -> tuple[str, ImportRecord | None]:
    """Where the book's record is kept, and what it says of an earlier import."""
    for name in (record.file_name, record.older_file_name):
        found = read_record(store, _at(folder, name))
        if found is not None and (name == record.file_name or found.name == record.name):
            return _at(folder, name), found
    return _at(folder, record.file_name), None


def _plan(
    store: MemoryStore,
    folder: str,
    book: Book,
    result: ImportResult,
    earlier: ImportRecord | None,
    standing: set[str],
    *,
    force: bool,
) -> list[RecordedEntry]:
    """Every entry that can be taken, with the file it is to have; disabled ones have none.

    One that has a file that was named by Latin letters alone keeps it. A file that another book has and that says
    something else is left to that book, unless *force* takes it over.
    """
    planned: list[RecordedEntry] = []
    names = FileNames()
    records = [] if force else [record for record in _records(store, folder) if record.name != book.name]
    others = {kept.file for record in records for kept in record.entries if kept.file is not None}

    former = _formerly_named(earlier, standing)

    def file_for(key: str, entry: dict[str, object]) -> str:
        if (kept := former.get((key, entry_title(entry)))) is not None:
            return kept
        while True:
            name = names.take(entry_title(entry))
            if name not in others or _says(store, _at(folder, name), render_entry(entry)):
                return name

    for index, (key, raw) in enumerate(book.entries):
        if not isinstance(raw, dict):
            result.errors.append(f"entry {quote_for_error(key)} is not an object, so it was left out")
            continue
        format = book.format_of(raw)
        entry = to_world_info(format, raw, index)
        if not isinstance(raw.get(format.content), str):
            shown = f"{quote_for_error(entry_title(entry))} ({quote_for_error(key)})"
            result.errors.append(f"entry {shown} has no text in `{format.content}`, so it was left out")
        else:
            planned.append(RecordedEntry(key, None if entry.get("disable") else file_for(key, entry), entry))
    return planned


def _formerly_named(earlier: ImportRecord | None, standing: set[str]) -> dict[tuple[str, str], str]:
    """Files of an earlier import that are still there, by key and title, that were named by Latin letters alone."""
    found: dict[tuple[str, str], str] = {}
    for kept in earlier.entries if earlier is not None else ():
        title = entry_title(kept.entry)
        stem = latin_stem(title)
        is_former = stem != file_stem(title) and kept.file is not None and kept.file.startswith(stem)
        if is_former and kept.file in standing:
            found[kept.key, title] = kept.file
    return found


def _records(store: MemoryStore, folder: str) -> list[ImportRecord]:
    try:
        return records_in(store, folder)
    except MemoryStoreError:  # the folder is still to be made
        return []


def _existing_names(store: MemoryStore, folder: str) -> set[str]:
    """Names in the target folder; none where it is still to be made."""
    store.exists(_at(folder, "entry.md"))  # a folder that leads outside is told here, before anything is written
    try:
        return {entry.name for entry in store.list_dir(folder)}
    except MemoryStoreSizeLimitError:
        raise
    except MemoryStoreError:
        return set()


def _check_room(book: Book, folder: str, planned: list[RecordedEntry], standing: set[str], limit: int) -> None:
    new = {each.file for each in planned if each.file is not None} - standing
    if len(standing) + len(new) >= limit:  # one more for the record
        raise LorebookImportError(
            f"{folder or 'the memory folder'} holds {len(standing):,} files and {book.shown} would add {len(new):,}, "
            f"more than the {limit:,} a memory folder takes; import it into another folder"
        )


def _write_entries(store: MemoryStore, folder: str, entries: list[RecordedEntry], result: ImportResult) -> set[str]:
    """Write the files of *entries* that are to have one; the names written."""
    texts: dict[str, str] = {}
    for each in entries:
        if each.file is None:
            continue
        text = render_entry(each.entry)
        size, cap = len(text.encode("utf-8")), store.limits.max_file_bytes
        if size <= cap:
            texts[each.file] = text
        else:
            shown = quote_for_error(entry_title(each.entry))
            result.errors.append(
                f"entry {shown} would be {size:,} bytes, more than the {cap:,} allowed; it was left out"
            )
    if texts:
        store.write_many(folder, texts, source=SOURCE)
    result.written += [_at(folder, name) for name in texts]
    return set(texts)


def _match_existing(store: MemoryStore, folder: str, each: RecordedEntry) -> RecordedEntry:
    """An entry whose file stands there already: it is the entry's own if it has its words."""
    path = _at(folder, each.file or "")
    return each if _says(store, path, render_entry(each.entry)) else replace(each, file=None)


def _says(store: MemoryStore, path: str, text: str) -> bool:
    try:
        return store.read_if_present(path) == text
    except MemoryStoreError:
        return False


def _update_record(
    store: MemoryStore,
    folder: str,
    place: str,
    record: ImportRecord,
    earlier: ImportRecord | None,
    result: ImportResult,
    standing: set[str],
) -> None:
    """Keep what the files do not show; a record that would say nothing new is not written."""
    if earlier is None:
        if not (result.written or result.skipped) or is_record_redundant(record):
            return
    else:
        written = {path.rpartition("/")[2] for path in result.written}
        record = record.with_earlier(earlier, standing=standing | written)
        if record == earlier:
            return
    write_record(store, place, encode_record(record), source=SOURCE)


def _at(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
