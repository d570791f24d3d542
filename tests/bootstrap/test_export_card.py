"""The way back: what is exported reads back as it was, with the owner's changes."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.bootstrap.card_files.png import text_chunks
from familiar_connect.bootstrap.card_files.sillytavern_import import card_version
from familiar_connect.bootstrap.cards import CharacterCard, load_card
from familiar_connect.bootstrap.export_card import CardFormat, export_card
from familiar_connect.bootstrap.import_silly_tavern import import_silly_tavern_lorebook
from familiar_connect.bootstrap.unpack_character import EXTRAS_PATH, unpack_character
from familiar_connect.errors import CharacterCardError
from familiar_connect.memory.lorebooks.entry_edits import add_entry, list_books, save_entry
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.greetings import join_greetings
from familiar_connect.support.pictures import chunks
from tests.fakes.cards import V1, V2, V3, b64, charx, picture, text_chunk

FORMATS: tuple[CardFormat, ...] = ("png", "json", "charx")


def unpacked(tmp_path: Path, payload: dict[str, Any], **original: Any) -> tuple[MemoryStore, CharacterCard]:
    store = MemoryStore(tmp_path / "memory")
    card = load_card(json.dumps(payload))
    unpack_character(store, card, **original)
    return store, card


def without_assets(card: CharacterCard) -> CharacterCard:
    return replace(card, extras={key: value for key, value in card.extras.items() if key != "assets"})


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "payload",
    [V1, V2, V3, {**V3, **V1, "talkativeness": 0.7, "alternative": {"a": 1}}, {**V1, "public_id": 7, "fav": True}],
    ids=["v1", "v2", "v3", "mirrored", "foreign"],
)
def test_what_is_exported_reads_back_the_same(tmp_path: Path, payload: dict[str, Any], form: CardFormat) -> None:
    """Nine fields and all the rest; only the archive's own list of files is new."""
    store, card = unpacked(tmp_path, payload)

    again = load_card(export_card(store, "mira", form))
    assert without_assets(again) == without_assets(card)
    assert form == "charx" or again == card


def test_a_picture_holds_the_card_twice_right_before_its_end(tmp_path: Path) -> None:
    """In place of the old ones, over the picture it came with."""
    original = picture(text_chunk(b64({"name": "old"})), text_chunk(b"a workflow", "prompt"), width=7)
    store, _ = unpacked(tmp_path, V2, original=original)
    made = export_card(store, "mira", "png")

    kinds = [kind for kind, _, _ in chunks(made)]
    assert kinds == [b"IHDR", b"IDAT", b"tEXt", b"tEXt", b"tEXt", b"IEND"]
    assert made[16:20] == original[16:20]
    found = text_chunks(made, ("prompt", "chara", "ccv3"))
    v2, v3 = (json.loads(base64.b64decode(found[keyword][0])) for keyword in ("chara", "ccv3"))
    assert [len(each) for each in found.values()] == [1, 1, 1]
    assert (v2["spec"], v3["spec"], v3["spec_version"]) == ("chara_card_v2", "chara_card_v3", "3.0")
    assert v2["data"] == v3["data"]
    assert {field: v3[field] for field in V1} == V1
    assert card_version(v3) == 1


def test_a_character_without_a_picture_gets_a_plain_one(tmp_path: Path) -> None:
    """Small, and the same each time."""
    store, _ = unpacked(tmp_path, V1, original=b"\x89PNG\r\n\x1a\n cut")

    assert export_card(store, "mira") == export_card(store, "mira")
    assert len(export_card(store, "mira")) < 20_000


def test_an_archive_gives_its_icon_to_the_picture(tmp_path: Path) -> None:
    """And an exported archive holds one again."""
    icon = picture(width=5)
    assets = [{"type": "icon", "uri": "embeded://assets/main.png", "name": "main", "ext": "png"}]
    payload = {**V3, "data": {**V3["data"], "assets": assets}}
    data = charx(payload, **{"assets/main.png": icon})
    store, _ = unpacked(tmp_path, payload, original=data, original_suffix=".charx")

    assert export_card(store, "mira", "png")[16:20] == icon[16:20]
    with zipfile.ZipFile(io.BytesIO(export_card(store, "mira", "charx"))) as made:
        assert made.namelist() == ["card.json", "assets/icon/image/main.png"]
        assert made.read("assets/icon/image/main.png") == icon


def test_the_owners_files_win(tmp_path: Path) -> None:
    """In every field that has one."""
    store, card = unpacked(tmp_path, V3)
    store.write_file("self/description.md", "Older now.\n")
    store.write_file("self/alternate_greetings.md", join_greetings(["One.", "Two\n\nlines."]) + "\n")
    store.write_file("self/tags.md", "a\n\nb\n")
    store.write_file("self/depth_prompt.md", "Darker.")
    store.delete_file("self/nickname.md")

    again = load_card(export_card(store, "mira", "json"))
    assert again.description == "Older now.\n"
    assert again.alternate_greetings == ["One.", "Two\n\nlines.\n"]
    assert again.tags == ["a", "b"]
    assert again.depth_prompt is not None
    assert again.depth_prompt == replace(card.depth_prompt, prompt="Darker.") if card.depth_prompt else False
    assert again.nickname == ""


def test_a_familiar_that_never_was_a_card_can_become_one(tmp_path: Path) -> None:
    """Its folder names it where nothing else does."""
    store = MemoryStore(tmp_path)
    store.write_file("self/description.md", "A flame.")

    card = load_card(export_card(store, "ember"))
    assert (card.name, card.description, card.extras) == ("ember", "A flame.", {})


def test_edited_lore_goes_back_into_the_cards_book(tmp_path: Path) -> None:
    """Changed entries changed, deleted ones gone, the rest to the letter."""
    store, card = unpacked(tmp_path, V2)
    assert card.character_book is not None
    written = import_silly_tavern_lorebook(store, card.character_book).written
    assert len(written) == 2
    unedited = load_card(export_card(store, "mira", "json")).character_book
    reef = next(path for path in written if "reef" in path)
    store.write_file(reef, store.read_file(reef).replace("sharp", "blunt"))
    store.delete_file(next(path for path in written if "fog" in path))

    edited = load_card(export_card(store, "mira", "json")).character_book
    first = card.character_book["entries"][0]
    assert unedited == card.character_book
    assert edited == {**card.character_book, "entries": [{**first, "content": "The reef is blunt."}]}


def test_a_damaged_rest_is_told_by_name(tmp_path: Path) -> None:
    """And not thrown away silently."""
    store, _ = unpacked(tmp_path, V2)
    store.write_bytes(EXTRAS_PATH, b"{")

    with pytest.raises(CharacterCardError, match=r"\.card\.json"):
        export_card(store, "mira")


def test_lore_changed_in_a_form_goes_back_into_the_cards_book(tmp_path: Path) -> None:
    """Fields that Markdown does not show, an entry that was switched off, and a new one."""
    payload = {
        "spec": "chara_card_v2",
        "data": {
            "name": "Mira",
            "description": "A diver.",
            "character_book": {
                "name": "Reefs",
                "entries": [
                    {"id": 0, "keys": ["reef"], "content": "Sharp.", "insertion_order": 5, "enabled": True},
                    {"id": 1, "keys": ["wreck"], "content": "Old.", "insertion_order": 6, "enabled": True},
                ],
            },
        },
    }
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")
    card = load_card(json.dumps(payload).encode())
    unpack_character(store, card)
    assert card.character_book is not None
    import_silly_tavern_lorebook(store, card.character_book)
    book = next(each for each in list_books(store) if each.name == "Reefs")
    first, second = book.entries
    save_entry(store, first.place, first.fields, first.fields | {"order": "9", "position": "4", "depth": "2"})
    save_entry(store, second.place, second.fields, second.fields | {"on": ""})
    add_entry(store, book.record, {"comment": "Buoy", "key": "buoy", "content": "Red."})
    exported = load_card(export_card(store, "mira", "json")).character_book

    assert exported is not None
    reef, wreck, buoy = exported["entries"]
    assert (reef["insertion_order"], reef["extensions"]["position"], reef["extensions"]["depth"]) == (9, 4, 2)
    assert reef["keys"] == ["reef"]
    assert (wreck["enabled"], wreck["content"]) == (False, "Old.")
    assert (buoy["keys"], buoy["content"], buoy["enabled"]) == (["buoy"], "Red.", True)
