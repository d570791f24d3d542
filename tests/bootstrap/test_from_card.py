"""A familiar made of a card: whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path

import pytest

from familiar_connect.bootstrap import from_card
from familiar_connect.bootstrap.cards import CharacterCard
from familiar_connect.bootstrap.from_card import CardFile, familiar_id_for, make_from_card, read_card_file
from familiar_connect.config.reference import starter_toml
from familiar_connect.errors import CharacterCardError, CharacterUnpackError, HomeError
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.files import temporary_name
from tests.fakes.cards import V2, card_picture

pytestmark = pytest.mark.process


def a_card(tmp_path: Path, **changes: str) -> CardFile:
    path = tmp_path / "Mira.png"
    path.write_bytes(card_picture({**V2, "data": {**V2["data"], **changes}}))
    return read_card_file(path)


def test_it_has_settings_a_character_and_lore(tmp_path: Path) -> None:
    """All that a chat needs."""
    made = make_from_card(tmp_path, "mira", a_card(tmp_path))

    store = MemoryStore(made.root / "memory")
    tomllib.loads((made.root / "character.toml").read_text(encoding="utf-8"))
    assert made.is_new
    assert len(made.written) == 9
    assert len(store.glob("lore/imported/*.md")) == made.lore == 2
    assert store.read_bytes("self/.original.png") == (tmp_path / "Mira.png").read_bytes()
    assert [path.name for path in (tmp_path / "familiars").iterdir()] == ["mira"]


def test_the_same_card_again_changes_nothing(tmp_path: Path) -> None:
    """As often as one likes."""
    card = a_card(tmp_path)
    make_from_card(tmp_path, "mira", card)

    again = make_from_card(tmp_path, "mira", card)
    assert (again.is_new, again.written, again.lore, again.lore_there) == (False, [], 0, 2)


def test_another_card_needs_a_word_and_keeps_the_old_version(tmp_path: Path) -> None:
    """Recoverable from the audit."""
    root = make_from_card(tmp_path, "mira", a_card(tmp_path)).root
    other = a_card(tmp_path, description="Someone else.")

    with pytest.raises(CharacterUnpackError, match="--overwrite"):
        make_from_card(tmp_path, "mira", other)
    assert make_from_card(tmp_path, "mira", other, overwrite=True).written == ["self/description.md"]
    store = MemoryStore(root / "memory", audit_dir=root / "audit")
    assert store.read_file("self/description.md") == "Someone else."
    assert store.audit is not None
    kept = [entry for entry in store.audit.entries() if entry.rel_path == "self/description.md"]
    assert len(kept) == 2
    store.audit.close()


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, no file."""
    card = a_card(tmp_path)

    def full(*words: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(MemoryStore, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        make_from_card(tmp_path, "mira", card)
    with pytest.raises(HomeError, match="a-z, A-Z, 0-9"):
        make_from_card(tmp_path, "../mira", card)
    assert list((tmp_path / "familiars").iterdir()) == []


def test_two_at_once_make_one_familiar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes second finds the card there already, or is told that another is."""
    card, other = a_card(tmp_path), a_card(tmp_path, description="Someone else.")

    def while_another_works(*, user_name: str | None = None) -> str:
        monkeypatch.setattr(from_card, "starter_toml", starter_toml)
        make_from_card(tmp_path, "mira", card)
        return starter_toml(user_name=user_name)

    monkeypatch.setattr(from_card, "starter_toml", while_another_works)
    second = make_from_card(tmp_path, "mira", card)
    shutil.rmtree(second.root)
    monkeypatch.setattr(from_card, "starter_toml", while_another_works)
    with pytest.raises(CharacterUnpackError, match="init ID"):
        make_from_card(tmp_path, "mira", other)

    assert (second.is_new, second.written, second.lore_there) == (False, [], 2)
    assert [path.name for path in (tmp_path / "familiars").iterdir()] == ["mira"]


def test_what_a_killed_one_left_goes_away_with_time(tmp_path: Path) -> None:
    """A young one may still be at work."""
    old, young = (tmp_path / "familiars" / f".{temporary_name()}" for _ in range(2))
    for each in (old, young):
        (each / "memory").mkdir(parents=True)
    os.utime(old, (1, 1))

    make_from_card(tmp_path, "mira", a_card(tmp_path))
    assert {path.name for path in (tmp_path / "familiars").iterdir()} == {"mira", young.name}


def test_no_card_is_told_with_the_files_name(tmp_path: Path) -> None:
    """Before anything is made."""
    words, empty = tmp_path / "words.txt", tmp_path / "empty.json"
    words.write_text("only words", encoding="utf-8")
    empty.write_text(json.dumps({"name": "", "description": " "}), encoding="utf-8")

    with pytest.raises(CharacterCardError, match=r"words\.txt"):
        read_card_file(words)
    with pytest.raises(CharacterCardError, match="empty"):
        read_card_file(empty)


@pytest.mark.parametrize(
    ("name", "file", "expected"),
    [
        ("Coding Sensei", "x.png", "coding-sensei"),
        ("Éloïse / O'Neil", "x.png", "eloise-o-neil"),
        ('Zoë & "Öl" 🦊', "x.png", "zoe-oel"),
        ("Weiße Łódź", "x.png", "weisse-lodz"),
        ("艾莉娅", "Aria card.png", "aria-card"),
        ("艾莉娅", "示例.png", "familiar"),
        ("con", "x.png", "x"),
        ("", "..png", "familiar"),
        ("a" * 100, "x.png", "a" * 40),
    ],
)
def test_a_folder_is_named_after_the_character(name: str, file: str, expected: str) -> None:
    """In letters every system takes."""
    assert familiar_id_for(CharacterCard(name), Path(file)) == expected
