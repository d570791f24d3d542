"""A familiar to begin with."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from familiar_connect.bootstrap.starter import STARTER, character_texts, make_starter
from familiar_connect.errors import HomeError
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.tokens import estimate_tokens


def test_it_has_settings_a_character_and_first_words(tmp_path: Path) -> None:
    """All plain files, all readable, the settings valid."""
    root = make_starter(tmp_path, "ember")

    store = MemoryStore(root / "memory")
    assert {path: store.read_file(path) for path in store.glob("self/*.md")} == {
        f"self/{stem}.md": text for stem, text in STARTER.items()
    }
    tomllib.loads((root / "character.toml").read_text(encoding="utf-8"))
    assert [path.name for path in (tmp_path / "familiars").iterdir()] == ["ember"]


def test_the_character_is_short_enough_for_the_smallest_model() -> None:
    """Its whole text costs little of a small window."""
    assert sum(estimate_tokens(text) for text in STARTER.values()) < 250


def test_another_name_gets_a_blank_sheet_of_its_own() -> None:
    """No trace of Ember."""
    texts = character_texts("Mira")

    assert texts["name"] == "Mira\n"
    assert "Ember" not in str(texts)
    assert "You are Mira." in texts["description"]


@pytest.mark.parametrize("name", ["", "..", "a/b", "_default", ".hidden", "x" * 65, "con", "naïve"])
def test_a_name_that_cannot_be_a_folder_everywhere_is_refused(tmp_path: Path, name: str) -> None:
    """Before anything is made."""
    with pytest.raises(HomeError, match="a-z, A-Z, 0-9"):
        make_starter(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_familiar_is_never_touched(tmp_path: Path) -> None:
    """Whatever is in its folder."""
    root = tmp_path / "familiars" / "ember"
    root.mkdir(parents=True)
    (root / "mine.txt").write_text("precious", encoding="utf-8")

    with pytest.raises(HomeError, match="exists already"):
        make_starter(tmp_path, "ember")
    assert [path.name for path in root.iterdir()] == ["mine.txt"]


def test_it_is_made_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a failure half-way would leave is taken away."""

    def full(*words: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(MemoryStore, "write_file", full)

    with pytest.raises(OSError, match="No space"):
        make_starter(tmp_path, "ember")
    assert list((tmp_path / "familiars").iterdir()) == []


def test_the_refusal_says_how_a_name_begins(tmp_path: Path) -> None:
    """Made of the right letters, it may still begin with the wrong one."""
    with pytest.raises(HomeError, match="start with a letter or digit"):
        make_starter(tmp_path, "_default")
