"""Book: one lorebook as read, whichever of the formats it came in.

Native world-info, a card's character book (alone, in a `lorebook_v3` envelope or inside a card's JSON), NovelAI,
Agnai and RisuAI are told apart by what they hold, in the order SillyTavern looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from familiar_connect.bootstrap.child_reader import read_in_child
from familiar_connect.bootstrap.lorebook_files.formats import (
    AGNAI,
    CHARACTER_BOOK,
    NATIVE,
    NOVELAI,
    RISU,
    Entry,
    LorebookFormat,
)
from familiar_connect.bootstrap.lorebook_files.json_source import LorebookSource, lorebook_bytes, read_lorebook_json
from familiar_connect.errors import LorebookImportError

_TOP_OF_ALL = ("name", "description", "extensions")
"""What a world-info file has beside its entries."""


@dataclass(frozen=True)
class Book:
    """A lorebook: its entries as they came, under their keys, and all that stands beside them."""

    format: LorebookFormat
    name: str
    top: dict[str, object]
    """The fields of a world-info file beside `entries`."""
    entries: tuple[tuple[str, Any], ...]
    """Key, and an entry that may be anything."""
    shown: str
    """What to call it in a sentence."""

    def format_of(self, raw: Entry) -> LorebookFormat:
        """The format of one entry: books that were put together by hand mix the two that look alike."""
        if self.format in (NATIVE, CHARACTER_BOOK):
            return CHARACTER_BOOK if "keys" in raw and "key" not in raw else NATIVE
        return self.format


def read_book(source: LorebookSource) -> Book:
    """The lorebook in *source*."""
    return _book(*read_lorebook_json(source))


def read_book_file(path: Path) -> Book:
    """The lorebook in the file at *path*, read by a child process."""
    shown = f"{path.name or path}"
    answer = read_in_child("lorebook", lorebook_bytes(path), (shown,), shown=shown, error=LorebookImportError)
    if "top" not in answer:
        raise LorebookImportError(answer.get("problem", f"{shown} cannot be read"))
    return _book(answer["top"], shown)


def _book(top: dict[str, object], shown: str) -> Book:
    top = _unwrap(top)
    stem = Path(shown).stem if shown != "the lorebook" else ""
    field = "data" if top.get("type") == "risu" and "entries" not in top else "entries"
    if field not in top:
        fix = "export it again from SillyTavern"
        if "prompts" in top:
            fix = "it is a preset: `familiar preset import FILE`"
        elif {"first_mes", "char_name", "spec"} & top.keys():
            fix = "it is a card without one: `familiar init --from-card FILE`"
        raise LorebookImportError(f"{shown} has no `entries`, so it is not a lorebook; {fix}")
    found = top[field]
    if isinstance(found, dict):
        entries = tuple(found.items())
    elif isinstance(found, list):
        entries = tuple((str(index), entry) for index, entry in enumerate(found))
    else:
        raise LorebookImportError(f"`{field}` of {shown} is neither an object nor a list, so there is nothing to read")
    name = top.get("name")
    return Book(
        format=(format := _format(top, entries)),
        name=name.strip() if isinstance(name, str) and name.strip() else stem,
        top=_beside(top, field, format),
        entries=entries,
        shown=shown,
    )


def sillytavern_entries(source: LorebookSource) -> list[dict[str, object]]:
    """The entries of *source* as SillyTavern has them after importing it, in its order: number keys first."""
    book = read_book(source)
    numbered = [(index, key, raw) for index, (key, raw) in enumerate(book.entries) if isinstance(raw, dict)]
    numbered.sort(key=lambda each: (0, int(each[1])) if _is_number(each[1]) else (1, each[0]))
    return [book.format_of(raw).convert(raw, index) for index, _, raw in numbered]


def _is_number(key: str) -> bool:
    return key.isascii() and key.isdigit() and len(key) < 10 and str(int(key)) == key


def _unwrap(top: dict[str, Any]) -> dict[str, Any]:
    """The book itself, out of the envelope or the card it may be in."""
    data = top.get("data")
    if "entries" in top or not isinstance(data, dict):
        return top
    if "entries" in data:
        return data
    book = data.get("character_book")
    return book if isinstance(book, dict) and "entries" in book else top


def _format(top: dict[str, Any], entries: tuple[tuple[str, Any], ...]) -> LorebookFormat:
    if "lorebookVersion" in top:
        return NOVELAI
    if top.get("kind") == "memory":
        return AGNAI
    if top.get("type") == "risu":
        return RISU
    known = [raw for _, raw in entries if isinstance(raw, dict)]
    return CHARACTER_BOOK if known and all("keys" in raw and "key" not in raw for raw in known) else NATIVE


def _beside(top: dict[str, object], field: str, format: LorebookFormat) -> dict[str, object]:
    """What stands beside the entries, where a world-info file has it; the rest under `extensions`."""
    rest = {name: value for name, value in top.items() if name != field}
    if format is NATIVE:
        return rest
    kept = {name: rest.pop(name) for name in _TOP_OF_ALL if name in rest}
    if rest:
        extensions = kept.get("extensions")
        kept["extensions"] = {**(extensions if isinstance(extensions, dict) else {}), format.name: rest}
    return kept
