"""BookShelf: the lorebooks of a familiar as World Info scans them, from the files that its owner edits.

What a book held beside the Markdown comes from the record of its import; title, keywords and text from the file, as it
is now. A file that was deleted is no entry any more; lore with a list of keywords that never was in a book is a book of
its own. Calls block: async code runs them in a thread.

World-info entries made of Markdown alone: for lore that never was in a lorebook, and for what its owner changed.

World-info entries as SillyTavern keeps them: every field and what it is where a file leaves it out.
"""

from __future__ import annotations

import contextlib
import copy
import json
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from familiar_connect.errors import FamiliarError, MemoryStoreError
from familiar_connect.memory.card_fields import CARD_FILE
from familiar_connect.memory.lorebooks.entry_markdown import EntryParts, parse_entry, render_entry
from familiar_connect.memory.lorebooks.import_record import PREFIX, ImportRecord, read_record
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.world_info.read_entries import read_entry
from familiar_connect.presets.world_info.types import BookKind, WorldBook, WorldEntry

MATCH_FIELDS = (
    "matchPersonaDescription",
    "matchCharacterDescription",
    "matchCharacterPersonality",
    "matchCharacterDepthPrompt",
    "matchScenario",
    "matchCreatorNotes",
)
DEFAULTS: dict[str, object] = {
    "key": [],
    "keysecondary": [],
    "comment": "",
    "content": "",
    "constant": False,
    "vectorized": False,
    "selective": True,
    "selectiveLogic": 0,
    "addMemo": False,
    "order": 100,
    "position": 0,
    "disable": False,
    "ignoreBudget": False,
    "excludeRecursion": False,
    "preventRecursion": False,
    **dict.fromkeys(MATCH_FIELDS, False),
    "delayUntilRecursion": 0,
    "probability": 100,
    "useProbability": True,
    "depth": 4,
    "outletName": "",
    "group": "",
    "groupOverride": False,
    "groupWeight": 100,
    "scanDepth": None,
    "caseSensitive": None,
    "matchWholeWords": None,
    "useGroupScoring": None,
    "automationId": "",
    "role": 0,
    "sticky": None,
    "cooldown": None,
    "delay": None,
    "triggers": [],
    "characterFilter": {"isExclude": False, "names": [], "tags": []},
}


def with_entry_defaults(entry: dict[str, object]) -> dict[str, object]:
    """*entry* with the fields it leaves out, as SillyTavern fills them in on loading."""
    whole = dict(entry)
    if whole.get("displayIndex") is None and "uid" in entry:
        whole["displayIndex"] = entry["uid"]
    if "depth" in entry and "role" not in entry:
        whole["role"] = None  # a depth from before roles: none was chosen
    for name, default in DEFAULTS.items():
        if name not in whole:
            whole[name] = copy.deepcopy(default)
    return whole


_SAYS_LITTLE = ("addMemo", "selective")
"""Whether a comment is shown, and whether secondary keys count: nothing, where there are none."""


def entry_from_markdown(text: str, *, stem: str, uid: int) -> dict[str, object]:
    """An entry for a file of lore; without a list of keywords it answers to its title."""
    parts = parse_entry(text)
    title = parts.title or stem
    return with_entry_defaults(
        {
            "uid": uid,
            "key": [title] if parts.keys is None else list(parts.keys),
            "comment": title,
            "content": parts.content,
            "addMemo": True,
            **({"constant": True} if parts.is_pinned else {}),
        }
    )


def with_edits(entry: dict[str, object], text: str) -> dict[str, object]:
    """*entry* with whatever its file, which now says *text*, says otherwise."""
    before = render_entry(entry)
    if text == before:
        return entry
    was, now = parse_entry(before), parse_entry(text)
    return {**entry, **_changes(was, now)}


def is_record_redundant(record: ImportRecord) -> bool:
    """Whether the files alone would give every entry back, number and all."""
    by_file = sorted(record.entries, key=lambda kept: kept.file or "")
    return not record.top and all(
        kept.file is not None
        and kept.key == str(uid)
        and _essence(with_entry_defaults(kept.entry))
        == _essence(entry_from_markdown(render_entry(kept.entry), stem=kept.file.removesuffix(".md"), uid=uid))
        for uid, kept in enumerate(by_file)
    )


def _changes(was: EntryParts, now: EntryParts) -> dict[str, object]:
    changes: dict[str, object] = {}
    if now.title != was.title and now.title is not None:
        changes["comment"] = now.title
    if now.keys != was.keys:
        changes["key"] = list(now.keys or ())
    if now.content != was.content:
        changes["content"] = now.content
    if now.pin is not None and now.pin != was.is_pinned:
        changes["constant"] = now.pin
    return changes


def _essence(entry: dict[str, object]) -> dict[str, object]:
    few = not entry["keysecondary"]
    return {name: value for name, value in entry.items() if not (few and name in _SAYS_LITTLE)}


logger = logging.getLogger(__name__)

LORE = "lore"
OWN_BOOK = "lore"
"""What the book of loose files is called."""
Stamps = tuple[tuple[str, tuple[int, int] | None], ...]


@dataclass(frozen=True)
class Shelf:
    """The books there are, and a sentence for each that cannot be read."""

    books: tuple[WorldBook, ...] = ()
    problems: tuple[str, ...] = ()
    paths: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The file of each entry, by its book's name and its own."""


class BookShelf:
    """The books in one memory, read anew only when a file of them changed."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: tuple[Stamps, Shelf] = ((), Shelf())
        self._shown: dict[tuple[object, ...], tuple[WorldBook, ...]] = {}

    def read(self) -> Shelf:
        """Every book, in force or not; the same object as long as nothing changed."""
        with self._lock:
            stamps = self._stamps()
            known, shelf = self._known
            if known != stamps:
                shelf = self._read([path for path, _ in stamps])
                self._known = (stamps, shelf)
                self._shown.clear()
            return shelf

    def in_force(
        self, *, off: Sequence[str] = (), card_book: bool = True, chat: str | None = None, persona: str = ""
    ) -> tuple[WorldBook, ...]:
        """The books that are scanned: none of those *off*, and the chat's and the persona's as such."""
        books = self.read().books
        id_ = (tuple(off), card_book, chat, persona)
        with self._lock:
            if id_ not in self._shown:
                wanted = [_as_kind(book, chat, persona) for book in books if book.name not in off]
                kept = [book for book in wanted if card_book or book.kind is not BookKind.character]
                self._shown[id_] = tuple(kept)
            return self._shown[id_]

    def entry_paths(self) -> dict[tuple[str, str], str]:
        """The file of each entry, by its book's name and its own."""
        return dict(self.read().paths)

    def _stamps(self) -> Stamps:
        paths = [*self._store.list_files(LORE), *list_records(self._store, LORE), CARD_FILE]
        return tuple((path, self._store.stamp(path)) for path in sorted(set(paths)))

    def _read(self, paths: Sequence[str]) -> Shelf:
        problems: list[str] = []
        texts = {path: text for path in paths if path.endswith(".md") if (text := self._text(path)) is not None}
        own, linked = card_book_names(self._store)
        books: list[tuple[int, WorldBook]] = []
        claimed: set[str] = set()
        files: dict[tuple[str, str], str] = {}
        for path in paths:
            if not _is_record(path.rpartition("/")[2]):
                continue
            try:
                record = read_record(self._store, path)
            except FamiliarError as error:
                problems.append(str(error))
                continue
            if record is not None:
                folder = path.rpartition("/")[0]
                claimed |= {f"{folder}/{kept.file}" for kept in record.entries if kept.file}
                is_own = record.name == own or (bool(record.name) and record.name == linked)
                kind = BookKind.character if is_own else BookKind.everyone
                books.append((record.number, _book(record, folder, texts, kind, files)))
        loose = [(path, text) for path, text in texts.items() if path not in claimed]
        kept = [book for _, book in sorted(books, key=lambda each: each[0])]
        named = own is not None and not any(book.kind is BookKind.character for book in kept)
        kept += _loose_book(loose, BookKind.character if named else BookKind.everyone, files, _first_free(kept))
        return Shelf(tuple(kept), tuple(problems), files)

    def _text(self, path: str) -> str | None:
        try:
            return self._store.read_if_present(path)
        except MemoryStoreError as error:
            logger.warning("lore file skipped", extra={"path": path, "reason": type(error).__name__})
            return None


def card_book_names(store: MemoryStore) -> tuple[str | None, str]:
    """The name of the book inside the card, None where there is none, and that of the file it is linked to."""
    try:
        data = store.bytes_if_present(CARD_FILE)
        rest = json.loads(data) if data is not None else {}
    except (MemoryStoreError, ValueError, RecursionError):
        return None, ""
    rest = rest if isinstance(rest, Mapping) else {}
    book, extensions = rest.get("character_book"), rest.get("extensions")
    name = book.get("name") if isinstance(book, Mapping) else None
    world = extensions.get("world") if isinstance(extensions, Mapping) else ""
    own = None if not isinstance(book, Mapping) else name.strip() if isinstance(name, str) else ""
    return own, world if isinstance(world, str) else ""


def list_records(store: MemoryStore, folder: str) -> list[str]:
    """The paths of the records in *folder* and below it."""
    try:
        listed = store.list_dir(folder)
    except MemoryStoreError:
        return []
    found = [f"{folder}/{each.name}" for each in listed if _is_record(each.name) and not each.is_dir]
    for each in listed:
        if each.is_dir and not each.name.startswith("."):
            found += list_records(store, f"{folder}/{each.name}")
    return found


def next_book_number(store: MemoryStore) -> int:
    """The number of a book that comes now; one that cannot be read has none."""
    numbers = [0]
    for path in list_records(store, "lore"):
        with contextlib.suppress(FamiliarError):
            numbers.append(record.number if (record := read_record(store, path)) is not None else 0)
    return max(numbers) + 1


def _is_record(name: str) -> bool:
    return name.startswith(PREFIX) and name.endswith(".json")


def _as_kind(book: WorldBook, chat: str | None, persona: str) -> WorldBook:
    if chat and book.name == chat:
        return replace(book, kind=BookKind.chat)
    return replace(book, kind=BookKind.persona) if persona and book.name == persona else book


def _book(
    record: ImportRecord, folder: str, texts: Mapping[str, str], kind: BookKind, files: dict[tuple[str, str], str]
) -> WorldBook:
    """The book of *record*, its entries in SillyTavern's order: those with a number for a key first.

    The file of each goes into *files*.
    """
    kept = [each for each in record.entries if each.file is None or f"{folder}/{each.file}" in texts]
    numbered = sorted(enumerate(kept), key=lambda each: _place(each[1].key, each[0]))
    entries = [
        with_edits(each.entry, texts[f"{folder}/{each.file}"]) if each.file is not None else each.entry
        for _, each in numbered
    ]
    name = record.name or OWN_BOOK
    book = WorldBook(
        name=name,
        kind=kind,
        entries=tuple(read_entry(with_entry_defaults(entry), book=name) for entry in entries),
    )
    for (_, each), made in zip(numbered, book.entries, strict=True):
        if each.file is not None:
            files.setdefault((name, made.name), f"{folder}/{each.file}")
    return book


def _place(key: str, index: int) -> tuple[int, int]:
    is_number = key.isascii() and key.isdigit() and len(key) < 10 and str(int(key)) == key
    return (0, int(key)) if is_number else (1, index)


def _first_free(books: Sequence[WorldBook]) -> int:
    """A number that no entry of a book called as the loose files' has, nor any above it."""
    taken = [each.uid for book in books if book.name == OWN_BOOK for each in book.entries]
    return max((uid for uid in taken if isinstance(uid, int)), default=-1) + 1


def _loose_book(
    loose: Sequence[tuple[str, str]], kind: BookKind, files: dict[tuple[str, str], str], first: int
) -> list[WorldBook]:
    """Files with a list of keywords, or pinned, as a book of their own, numbered from *first*."""
    entries: list[WorldEntry] = []
    for path, text in loose:
        parts = parse_entry(text)
        if parts.keys is not None or parts.is_pinned:
            stem = path.rpartition("/")[2].removesuffix(".md")
            entries.append(read_entry(entry_from_markdown(text, stem=stem, uid=first + len(entries)), book=OWN_BOOK))
            files.setdefault((OWN_BOOK, entries[-1].name), path)
    return [WorldBook(name=OWN_BOOK, kind=kind, entries=tuple(entries))] if entries else []
