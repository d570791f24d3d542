"""Which books can be read, and what SillyTavern's entries are made of each."""

from __future__ import annotations

import base64
import contextlib
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from familiar_connect.bootstrap.import_silly_tavern import (
    ImportResult,
    LorebookImportError,
    import_silly_tavern_lorebook,
)
from familiar_connect.bootstrap.lorebook_files.books import read_book, sillytavern_entries
from familiar_connect.bootstrap.lorebook_files.json_source import MAX_SOURCE_BYTES
from familiar_connect.memory.store import MemoryStore
from tests.fakes.properties import at_least

NOVELAI: dict[str, Any] = {
    "lorebookVersion": 5,
    "entries": [{"keys": ["/dra.on/i"], "text": "Scales.", "displayName": "Dragon", "enabled": True}],
}


def only(source: Any) -> dict[str, Any]:
    (entry,) = sillytavern_entries(source)
    return entry


def a_picture(*chunks: tuple[bytes, bytes]) -> bytes:
    made = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + made


def test_a_native_entry_gets_the_fields_it_leaves_out() -> None:
    """What it has stays as it is, fields nobody knows too."""
    entry = only({"entries": {"9": {"uid": "1", "key": ["dragon"], "content": "Scales.", "mine": 1}}})

    assert (entry["uid"], entry["displayIndex"], entry["mine"]) == ("1", "1", 1)
    assert (entry["selective"], entry["order"], entry["role"], entry["delayUntilRecursion"]) == (True, 100, 0, 0)
    assert entry["characterFilter"] == {"isExclude": False, "names": [], "tags": []}


def test_native_entries_come_in_the_order_of_their_numbers() -> None:
    """As a browser orders the keys of an object."""
    book = {"entries": {"b": {"uid": 9}, "10": {"uid": 10}, "2": {"uid": 2}, "a": {"uid": 8}}}

    assert [entry["uid"] for entry in sillytavern_entries(book)] == [2, 10, 9, 8]


def test_a_character_book_is_mapped_field_by_field() -> None:
    """Position, order and switches; extensions in their own spelling."""
    raw = {
        "keys": ["k"],
        "secondary_keys": ["s"],
        "content": "c",
        "comment": "n",
        "enabled": True,
        "insertion_order": 7,
        "position": "before_char",
        "case_sensitive": True,
        "extensions": {"group_weight": 5, "match_scenario": True, "display_index": 3, "useProbability": False},
    }
    entry = only({"spec": "lorebook_v3", "data": {"entries": [raw]}})
    elsewhere = only({"entries": [{**raw, "id": "x", "position": "at_depth", "extensions": {"position": 4}}]})
    after = only({"entries": [{**raw, "position": None, "enabled": False}]})

    assert (entry["uid"], entry["key"], entry["keysecondary"], entry["order"]) == (0, ["k"], ["s"], 7)
    assert (entry["position"], elsewhere["position"], after["position"]) == (0, 4, 1)
    assert (entry["disable"], after["disable"], elsewhere["uid"]) == (False, True, "x")
    assert (entry["groupWeight"], entry["matchScenario"], entry["displayIndex"]) == (5, True, 3)
    assert (entry["useProbability"], entry["caseSensitive"], entry["addMemo"]) == (False, None, True)


def test_novelai_entries_are_mapped() -> None:
    """Text, keys, name and budget priority."""
    raw = {**NOVELAI["entries"][0], "contextConfig": {"budgetPriority": 400}}
    entry = only({**NOVELAI, "entries": [raw]})

    assert (entry["key"], entry["content"], entry["comment"]) == (["/dra.on/i"], "Scales.", "Dragon")
    assert (entry["order"], entry["position"], entry["selective"]) == (400, 0, False)
    assert only(NOVELAI)["order"] == 0


def test_agnai_entries_are_mapped() -> None:
    """Keywords, entry, weight."""
    raw = {"keywords": ["k"], "entry": "c", "name": "n", "weight": 3, "priority": 1, "enabled": False}
    entry = only({"kind": "memory", "entries": [raw]})

    assert (entry["key"], entry["content"], entry["comment"], entry["order"]) == (["k"], "c", "n", 3)
    assert entry["disable"] is True


def test_risu_entries_are_mapped() -> None:
    """Keys are lists with commas there, and the entries stand under `data`."""
    raw = {"key": "a, b", "secondkey": "c,d", "content": "t", "comment": "n", "insertorder": 4, "alwaysActive": True}
    entry = only({"type": "risu", "ver": 1, "data": [{**raw, "selective": True, "activationPercent": 40}]})

    assert (entry["key"], entry["keysecondary"], entry["constant"]) == (["a", "b"], ["c", "d"], True)
    assert (entry["order"], entry["probability"], entry["selective"]) == (4, 40, True)


def test_a_novelai_book_is_found_in_a_picture(tmp_path: Path) -> None:
    """In a text chunk, with or without the padding base64 asks for."""
    hidden = base64.b64encode(json.dumps(NOVELAI).encode()).rstrip(b"=")
    path = tmp_path / "book.png"
    path.write_bytes(a_picture((b"IHDR", b"\0" * 13), (b"tEXt", b"naidata\0" + hidden), (b"IEND", b"")))

    assert only(path)["comment"] == "Dragon"


def test_the_book_inside_a_card_is_found() -> None:
    """Whoever exports the card instead of the book is understood."""
    card = {
        "spec": "chara_card_v2",
        "data": {"name": "N", "character_book": {"entries": [{"keys": ["k"], "content": "c"}]}},
    }

    assert only(card)["content"] == "c"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_any_encoding_of_json_is_read(encoding: str) -> None:
    """Editors add marks and change encodings."""
    assert only('{"entries": [{"uid": 0, "content": "Ärger 😀"}]}'.encode(encoding))["content"] == "Ärger 😀"


def test_text_is_json_or_a_path(tmp_path: Path) -> None:
    """A brace or bracket in front tells."""
    path = tmp_path / "The Book.json"
    path.write_text('{"entries": []}')

    assert read_book(str(path)).name == "The Book"
    assert read_book(' \n{"entries": {}}').entries == ()


DEEP = '{"entries":' + "[" * 10_000 + "]" * 10_000 + "}"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nowhere.json", "no such file"),
        ("a\0b", "no such file"),
        ("{", "valid JSON"),
        (b"", "valid JSON"),
        (b"\xff\xff\xff", "JSON"),
        (b"PK\x03\x04zip", "JSON"),
        ("[]", "a list, not a JSON object"),
        (b"3", "not a JSON object"),
        ({}, "`entries`"),
        ({"data": []}, "`entries`"),
        ({"entries": None}, "`entries`"),
        ({"entries": "x"}, "`entries`"),
        ({"type": "risu", "data": 3}, "`data`"),
        (DEEP, "nested deeper"),
        ('{"entries":' + "[" * 200 + "]" * 200 + "}", "nested deeper"),
        (b"{" + b" " * MAX_SOURCE_BYTES, "larger than"),
        ("{" + " " * MAX_SOURCE_BYTES, "longer than"),
        (a_picture((b"IEND", b"")), "naidata"),
        (a_picture((b"tEXt", b"naidata\0A")), "base64"),
        (a_picture((b"tEXt", b"naidata\0e30="))[:-20], "naidata"),
        ('{"entries": [' + "1" * 5000 + "]}", "valid JSON"),
    ],
)
def test_what_is_no_lorebook_gets_one_clear_sentence(source: Any, words: str) -> None:
    """Never a traceback from a parser."""
    with pytest.raises(LorebookImportError, match=words):
        read_book(source)


def test_a_folder_is_no_lorebook(tmp_path: Path) -> None:
    """Neither is anything else that is not a file."""
    with pytest.raises(LorebookImportError, match="not a file"):
        read_book(tmp_path)


def test_a_dict_that_holds_itself_is_refused() -> None:
    """Nothing that JSON cannot hold gets further."""
    book: dict[str, Any] = {"entries": {}}
    book["entries"]["0"] = book

    with pytest.raises(LorebookImportError, match="JSON"):
        read_book(book)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from(
    (
        "uid",
        "id",
        "key",
        "keys",
        "comment",
        "content",
        "text",
        "entry",
        "displayName",
        "enabled",
        "disable",
        "extensions",
    )
)
odd_entries = st.dictionaries(names, json_values, max_size=8) | json_values
odd_books = st.fixed_dictionaries(
    {"entries": st.lists(odd_entries, max_size=5) | st.dictionaries(st.text(max_size=5), odd_entries, max_size=5)},
    optional={
        "lorebookVersion": json_values,
        "kind": st.just("memory"),
        "type": st.just("risu"),
        "data": json_values,
        "name": json_values,
    },
)


@pytest.mark.slow
@settings(max_examples=at_least(100), deadline=None)
@given(odd_books | st.dictionaries(st.text(max_size=8), json_values, max_size=4) | st.binary(max_size=200))
def test_whatever_comes_in_is_taken_or_refused(tmp_path_factory: pytest.TempPathFactory, source: Any) -> None:
    """A result or one kind of error, and no file outside the target."""
    home = tmp_path_factory.mktemp("home")
    store = MemoryStore(home / "memory")
    target = home / "memory" / "lore" / "imported"
    first = second = ImportResult()
    with contextlib.suppress(LorebookImportError):
        first = import_silly_tavern_lorebook(store, source)
        second = import_silly_tavern_lorebook(store, source)

    assert (second.written, second.skipped) == ([], first.written)
    assert all(path.is_relative_to(target) for path in home.rglob("*") if path.is_file())
