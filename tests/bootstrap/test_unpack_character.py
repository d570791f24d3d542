"""A card's texts as files of `self/`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from familiar_connect.bootstrap.cards import CARD_FIELDS, CharacterCard, load_card
from familiar_connect.bootstrap.unpack_character import EXTRAS_PATH, CharacterUnpackError, unpack_character
from familiar_connect.memory.store import MemoryStore, MemoryStoreLimits
from familiar_connect.presets.greetings import split_greetings
from tests.fakes.cards import V3

FULL = load_card(json.dumps({field: f"the {field}\r\n of it \n" for field in CARD_FIELDS}))
PATHS = [f"self/{field}.md" for field in CARD_FIELDS]


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory")


def standing(store: MemoryStore) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (store.root / "self").iterdir()}


def test_nine_fields_make_nine_files_verbatim_in_card_order(store: MemoryStore) -> None:
    """Nine entries in the audit, and nothing else."""
    assert unpack_character(store, FULL) == PATHS

    assert standing(store) == {f"{field}.md": getattr(FULL, field).encode() for field in CARD_FIELDS}
    assert [entry.rel_path for entry in store.audit_entries] == PATHS
    assert all(entry.source.startswith("character_card_unpacker") for entry in store.audit_entries)


def test_empty_fields_make_no_file(store: MemoryStore) -> None:
    """A name alone is a character."""
    assert unpack_character(store, CharacterCard("Mira", scenario="A storm.")) == ["self/name.md", "self/scenario.md"]
    assert set(standing(store)) == {"name.md", "scenario.md"}


def test_the_same_card_again_changes_nothing(store: MemoryStore) -> None:
    """Not even the audit; with its extras and its file."""
    card = load_card(json.dumps(V3))
    unpack_character(store, card, original=b"bytes")
    before, entries = standing(store), store.audit_entries

    assert unpack_character(store, card, original=b"bytes") == []
    assert unpack_character(store, card, original=b"bytes", overwrite=True) == []
    assert unpack_character(store, card) == []
    assert (standing(store), store.audit_entries) == (before, entries)


@pytest.mark.parametrize("other", [replace(FULL, scenario="else"), replace(FULL, scenario=""), CharacterCard("Bo")])
def test_a_different_card_is_refused_and_nothing_changed(store: MemoryStore, other: CharacterCard) -> None:
    """Also one that only leaves something out."""
    unpack_character(store, FULL)
    before, entries = standing(store), store.audit_entries

    with pytest.raises(CharacterUnpackError, match="--overwrite"):
        unpack_character(store, other)
    assert (standing(store), store.audit_entries) == (before, entries)


def test_overwriting_writes_only_what_changed_and_removes_what_is_empty_now(tmp_path: Path) -> None:
    """The old texts stay recoverable."""
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")
    unpack_character(store, FULL)

    assert unpack_character(store, replace(FULL, scenario="else", mes_example=""), overwrite=True) == [
        "self/scenario.md"
    ]

    assert "mes_example.md" not in standing(store)
    last = store.audit_entries[-2:]
    assert {(entry.rel_path, entry.operation) for entry in last} == {
        ("self/scenario.md", "write"),
        ("self/mes_example.md", "delete"),
    }
    assert store.audit is not None
    assert all(entry.hash_before is not None for entry in last)
    store.audit.close()


def test_the_original_is_kept_outside_the_list(store: MemoryStore) -> None:
    """As the picture it most often is, or under its own ending."""
    assert unpack_character(store, CharacterCard("Mira"), original=b"\x89PNG") == ["self/name.md"]
    assert standing(store)[".original.png"] == b"\x89PNG"

    with pytest.raises(CharacterUnpackError):
        unpack_character(store, CharacterCard("Mira"), original=b"{}", original_suffix=".json")
    unpack_character(store, CharacterCard("Mira"), original=b"{}", original_suffix=".json", overwrite=True)
    assert set(standing(store)) == {"name.md", ".original.json"}


def test_all_else_is_kept_for_export_and_shown_where_an_owner_wants_it(store: MemoryStore) -> None:
    """Outside the list too."""
    card = load_card(json.dumps(V3))
    assert unpack_character(store, card) == PATHS

    assert json.loads(store.read_bytes(EXTRAS_PATH)) == card.extras
    assert split_greetings(store.read_file("self/alternate_greetings.md")) == tuple(card.alternate_greetings)
    assert store.read_file("self/depth_prompt.md") == "The light must burn."
    assert store.read_file("self/tags.md") == "sea\ncalm"
    assert store.read_file("self/nickname.md") == "Mi"


def test_other_files_of_self_are_let_be(store: MemoryStore) -> None:
    """They are the owner's."""
    store.write_file("self/voice.md", "low")
    store.write_file("self/tags.md", "mine")
    unpack_character(store, FULL)

    assert store.read_file("self/voice.md") == "low"
    assert store.read_file("self/tags.md") == "mine"


@pytest.mark.parametrize("card", [replace(FULL, creator_notes="x" * 200), replace(FULL, creator_notes="\ud800")])
def test_what_cannot_be_written_is_refused_before_anything_is(tmp_path: Path, card: CharacterCard) -> None:
    """Though it comes last."""
    store = MemoryStore(tmp_path, limits=MemoryStoreLimits(100, 10, 10))

    with pytest.raises(CharacterUnpackError, match="creator_notes"):
        unpack_character(store, card)
    assert list(tmp_path.iterdir()) == []
