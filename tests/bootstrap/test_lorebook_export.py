"""The way back: what was imported comes out again, with the owner's edits and nothing lost."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from familiar_connect.bootstrap.export_silly_tavern import export_silly_tavern_lorebook
from familiar_connect.bootstrap.import_silly_tavern import import_silly_tavern_lorebook
from familiar_connect.bootstrap.lorebook_files.books import sillytavern_entries
from familiar_connect.errors import LorebookImportError
from familiar_connect.memory.store import MemoryStore

CASTLE = "lore/imported/castle.md"
BOOK: dict[str, Any] = {
    "name": "Eldoria",
    "description": "A forest",
    "extensions": {"x": 1},
    "entries": {
        "0": {
            "uid": 0,
            "key": ["wood", "glade"],
            "keysecondary": ["elf"],
            "comment": "",
            "content": "Trees.\n",
            "order": 5,
        },
        "3": {
            "uid": 7,
            "key": ["castle"],
            "comment": "Castle",
            "content": "Cold.",
            "constant": True,
            "odd": {"a": [1]},
        },
        "4": {"uid": 4, "key": [], "comment": "Off", "content": "Hidden.", "disable": True},
    },
}


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")


def exported(store: MemoryStore, folder: str = "lore") -> dict[str, Any]:
    return export_silly_tavern_lorebook(store, folder=folder).book


def test_a_native_book_comes_back_as_it_was(store: MemoryStore) -> None:
    """Every field, disabled entries and what stands beside the entries."""
    import_silly_tavern_lorebook(store, copy.deepcopy(BOOK))

    assert exported(store) == BOOK


def test_importing_twice_doubles_nothing(store: MemoryStore) -> None:
    """With or without force, and whatever was edited between."""
    import_silly_tavern_lorebook(store, BOOK)
    store.write_file(CASTLE, store.read_file(CASTLE).replace("Cold.", "Warm."), source="owner")
    import_silly_tavern_lorebook(store, BOOK)

    assert exported(store)["entries"]["3"] == {**BOOK["entries"]["3"], "content": "Warm."}
    assert len(exported(store)["entries"]) == 3

    import_silly_tavern_lorebook(store, BOOK, force=True)

    assert exported(store) == BOOK


def test_what_the_owner_edits_wins(store: MemoryStore) -> None:
    """Title, keywords and text come from the file, all else from the book."""
    import_silly_tavern_lorebook(store, BOOK)
    store.write_file(CASTLE, "# Keep\n\n> Trigger keywords:\n> - keep\n> - tower\n\nWarm.\n\nDry.\n", source="owner")

    assert exported(store)["entries"]["3"] == {
        **BOOK["entries"]["3"],
        "comment": "Keep",
        "key": ["keep", "tower"],
        "content": "Warm.\n\nDry.",
    }


def test_what_the_owner_deletes_is_gone(store: MemoryStore) -> None:
    """A deleted file takes its entry along."""
    import_silly_tavern_lorebook(store, BOOK)
    store.delete_file(CASTLE, source="owner")

    assert list(exported(store)["entries"]) == ["0", "4"]


def test_lore_that_never_was_in_a_book_becomes_entries(store: MemoryStore) -> None:
    """Title from the heading or the name, keywords from the quote or the title, under numbers that are free."""
    import_silly_tavern_lorebook(store, BOOK)
    store.write_file("lore/rivers.md", "# The rivers\n\nThey run north.\n", source="owner")
    store.write_file("lore/towns/oak.md", "> Trigger keywords\n> - oak\n\nA town.\n", source="owner")
    entries = exported(store)["entries"]

    assert {key: (e["uid"], e["comment"], e["key"], e["content"]) for key, e in entries.items() if key in "12"} == {
        "1": (1, "The rivers", ["The rivers"], "They run north."),
        "2": (2, "oak", ["oak"], "A town."),
    }
    assert sillytavern_entries({"entries": entries})[1]["selectiveLogic"] == 0


def test_two_books_in_one_folder_both_come_back(store: MemoryStore) -> None:
    """Numbers that clash give way; an entry that found its name taken is still there."""
    other: dict[str, Any] = {
        "name": "Other",
        "entries": {"0": {"uid": 0, "key": ["castle"], "comment": "Castle", "content": "Another."}},
    }
    import_silly_tavern_lorebook(store, BOOK)
    import_silly_tavern_lorebook(store, {**other, "entries": {**other["entries"], "1": {"uid": 1, "content": "New."}}})
    book = exported(store)

    assert sorted(entry["content"] for entry in book["entries"].values()) == sorted(
        ["Trees.\n", "Cold.", "Hidden.", "Another.", "New."]
    )
    assert len({entry["uid"] for entry in book["entries"].values()}) == 5
    assert [top["name"] for top in book["extensions"]["familiar_connect"]["books"]] == ["Eldoria", "Other"]


def test_a_file_another_book_took_over_is_exported_once(store: MemoryStore) -> None:
    """Force hands the file to the book that wrote it last."""
    import_silly_tavern_lorebook(store, BOOK)
    entry = {"uid": 30, "key": ["castle"], "comment": "Castle", "content": "Another.", "order": 9}
    import_silly_tavern_lorebook(store, {"name": "Other", "entries": {"30": entry}}, force=True)

    assert [e for e in exported(store)["entries"].values() if e["comment"] == "Castle"] == [entry]


FOREIGN: dict[str, dict[str, Any]] = {
    "character_book": {
        "name": "B",
        "scan_depth": 3,
        "entries": [
            {
                "id": 5,
                "keys": ["a"],
                "content": "A",
                "enabled": True,
                "insertion_order": 1,
                "priority": 9,
                "extensions": {"depth": 2, "mine": [1]},
            }
        ],
    },
    "novelai": {
        "lorebookVersion": 4,
        "settings": {"o": 1},
        "entries": [
            {"keys": ["a"], "text": "A", "displayName": "D", "enabled": True, "contextConfig": {"budgetPriority": 3}}
        ],
    },
    "agnai": {
        "kind": "memory",
        "name": "B",
        "entries": [{"keywords": ["a"], "entry": "A", "name": "D", "enabled": True, "weight": 2, "priority": 4}],
    },
    "risu": {
        "type": "risu",
        "ver": 1,
        "data": [{"key": "a, b", "secondkey": "", "content": "A", "comment": "D", "insertorder": 1, "mode": "normal"}],
    },
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_books_come_back_as_world_info_with_the_rest_beside(store: MemoryStore, kind: str) -> None:
    """The entries are those SillyTavern makes of the book; what has no field there is under `extensions`."""
    book = FOREIGN[kind]
    import_silly_tavern_lorebook(store, book)
    result = exported(store)
    (entry,) = result["entries"].values()

    assert {name: value for name, value in entry.items() if name != "extensions"} == sillytavern_entries(book)[0]
    assert kind in entry["extensions"]
    assert kind in result["extensions"]
    assert not {"lorebookVersion", "kind", "type"} & result.keys()


def test_a_damaged_record_is_named(store: MemoryStore) -> None:
    """With what to do about it."""
    import_silly_tavern_lorebook(store, BOOK)
    store.write_bytes("lore/imported/.lorebook-eldoria.json", b"{", source="test")

    with pytest.raises(LorebookImportError, match=r"\.lorebook-eldoria\.json.*damaged"):
        exported(store)


def test_files_that_cannot_be_read_are_told(store: MemoryStore) -> None:
    """The others are exported all the same."""
    store.write_file("lore/a.md", "# A\n\nText\n", source="owner")
    store.write_bytes("lore/b.md", b"\xff\xfe\x00", source="owner")
    result = export_silly_tavern_lorebook(store)

    assert len(result.book["entries"]) == 1
    assert len(result.errors) == 1
    assert "lore/b.md" in result.errors[0]


texts = st.text(st.characters(exclude_categories=()), max_size=20)
entries = st.fixed_dictionaries(
    {"uid": st.integers(0, 50), "content": texts},
    optional={
        "comment": texts,
        "key": st.lists(texts, max_size=3),
        "keysecondary": st.lists(texts, max_size=1),
        "disable": st.booleans(),
        "order": st.integers(0, 500),
        "more": st.none() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(entries, min_size=1, max_size=6, unique_by=lambda entry: entry["uid"]))
def test_any_book_survives_the_round_trip(tmp_path_factory: pytest.TempPathFactory, made: list[dict[str, Any]]) -> None:
    """Import, then export: the same entries, half characters and all."""
    store = MemoryStore(tmp_path_factory.mktemp("memory"))
    book = {"name": "Any", "entries": {str(entry["uid"]): entry for entry in made}}
    result = import_silly_tavern_lorebook(store, json.dumps(book))

    if result.written:
        assert exported(store) == book
