"""The lorebooks of a familiar as World Info reads them from its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from familiar_connect.bootstrap.import_silly_tavern import import_silly_tavern_lorebook
from familiar_connect.memory.lorebooks.book_shelf import BookShelf
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import MemoryStoreLimits
from familiar_connect.presets.world_info.types import BookKind


def book(name: str, *entries: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "entries": {str(uid): {"uid": uid, **entry} for uid, entry in enumerate(entries)}}


BELL = {"key": ["bell"], "comment": "Bell", "content": "It rings.", "sticky": 2, "order": 7}


def test_a_book_has_every_field_back_and_what_its_owner_edited(tmp_path: Path) -> None:
    """Keywords and text come from the file, the rest from the import; a deleted file is no entry."""
    store = MemoryStore(tmp_path)
    off = {"key": ["x"], "content": "off", "disable": True}
    import_silly_tavern_lorebook(store, book("Harbour", BELL, {"key": ["odile"], "content": "Mistress."}, off))
    shelf = BookShelf(store)
    first = shelf.read()
    assert shelf.read() is first
    (entries,) = [each.entries for each in first.books]
    assert [(each.keys, each.sticky, each.order, each.is_disabled) for each in entries] == [
        (("bell",), 2, 7, False),
        (("odile",), 0, 100, False),
        (("x",), 0, 100, True),
    ]
    text = store.read_file("lore/imported/bell.md")
    store.write_file("lore/imported/bell.md", text.replace("- bell", "- chime").replace("rings", "tolls"), source="t")
    store.delete_file("lore/imported/odile.md", source="t")
    (entries,) = [each.entries for each in shelf.read().books]
    assert [(each.keys, each.content) for each in entries] == [(("chime",), "It tolls."), (("x",), "off")]


def test_a_book_of_any_size_is_read_whole(tmp_path: Path) -> None:
    """Though a search in memory lists only so many files."""
    store = MemoryStore(tmp_path, limits=MemoryStoreLimits(max_results_per_op=3))
    import_silly_tavern_lorebook(store, book("Harbour", *({"key": [f"k{at}"], "content": "x"} for at in range(8))))
    (entries,) = [each.entries for each in BookShelf(store).read().books]
    assert {key for each in entries for key in each.keys} == {f"k{at}" for at in range(8)}


def test_a_file_with_keywords_is_an_entry_and_one_without_is_not(tmp_path: Path) -> None:
    """Lore that never was in a book can be called up too; a pinned file always is."""
    store = MemoryStore(tmp_path)
    store.write_file("lore/keyed.md", "# Keyed\n\n> Trigger keywords:\n> - key\n\nBy key.\n", source="t")
    store.write_file("lore/plain.md", "# Plain\n\nBy search.\n", source="t")
    store.write_file("lore/pinned.md", "---\npin: true\n---\n# Pinned\n\nAlways.\n", source="t")
    (found,) = BookShelf(store).read().books
    assert [(each.title, each.is_constant) for each in found.entries] == [("Keyed", False), ("Pinned", True)]


def test_the_cards_own_book_is_the_characters_and_others_are_everyones(tmp_path: Path) -> None:
    """Books can be switched off, and belong to a chat or a persona."""
    store = MemoryStore(tmp_path)
    for name in ("Own", "Other", "Mine"):
        import_silly_tavern_lorebook(store, book(name, {**BELL, "comment": name}))
    store.write_bytes("self/.card.json", json.dumps({"character_book": {"name": "Own"}}).encode(), source="t")
    shelf = BookShelf(store)
    kinds = {each.name: each.kind for each in shelf.in_force(chat="Other", persona="Mine")}
    assert kinds == {"Own": BookKind.character, "Other": BookKind.chat, "Mine": BookKind.persona}
    assert [each.name for each in shelf.in_force(off=["Other"], card_book=False)] == ["Mine"]
    assert shelf.in_force() is shelf.in_force()


def test_two_books_of_one_title_and_names_in_any_script_stay_apart(tmp_path: Path) -> None:
    """Nothing is lost on a second import."""
    store = MemoryStore(tmp_path)
    one, two = book("世界", BELL), book("星辰", {**BELL, "content": "Another bell."})
    for each in (one, two, one, two):
        result = import_silly_tavern_lorebook(store, each)
    assert result.skipped == ["lore/imported/bell-2.md"]
    found = {each.name: each.entries[0].content for each in BookShelf(store).read().books}
    assert found == {"世界": "It rings.", "星辰": "Another bell."}


def test_a_damaged_record_is_told_and_costs_its_book_alone(tmp_path: Path) -> None:
    """The others are read."""
    store = MemoryStore(tmp_path)
    import_silly_tavern_lorebook(store, book("Good", BELL))
    store.write_bytes("lore/imported/.lorebook-bad.json", b"{", source="t")
    shelf = BookShelf(store).read()
    assert [each.name for each in shelf.books] == ["Good"]
    assert "damaged" in shelf.problems[0]
