"""The card of a familiar, read from its files."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.card_fields import CardReader
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.types import CardFields


def a_store(root: Path, card: Any = None, **texts: str) -> MemoryStore:
    store = MemoryStore(root / "memory")
    for stem, text in texts.items():
        store.write_file(f"self/{stem}.md", text)
    if card is not None:
        raw = card if isinstance(card, bytes) else json.dumps(card).encode()
        (root / "memory" / "self").mkdir(parents=True, exist_ok=True)
        (root / "memory" / "self" / ".card.json").write_bytes(raw)
    return store


def test_each_file_is_a_field(tmp_path: Path) -> None:
    """The name without white space around it, the rest as it stands."""
    store = a_store(tmp_path, name="Wren\n", description="A bird.\n", first_mes="Hello")

    assert CardReader(store, "wren").read() == CardFields(name="Wren", description="A bird.\n", first_mes="Hello")


def test_an_empty_folder_is_a_card_of_the_familiars_name(tmp_path: Path) -> None:
    """Macros never come out as nothing for want of a file."""
    assert CardReader(MemoryStore(tmp_path / "memory"), "wren").read() == CardFields(name="wren")


def test_what_has_no_file_comes_from_beside(tmp_path: Path) -> None:
    """Greetings, version and where the depth prompt stands; a file goes before it."""
    card = {
        "character_version": "1.2",
        "alternate_greetings": ["Hi", 7, "", "Hey"],
        "nickname": "W",
        "extensions": {"depth_prompt": {"prompt": "old", "depth": "2", "role": "assistant"}},
    }
    store = a_store(tmp_path, card, depth_prompt="Stay dry.")

    found = CardReader(store, "wren").read()

    assert (found.character_version, found.alternate_greetings, found.nickname) == ("1.2", ("Hi", "Hey"), "W")
    assert (found.depth_prompt, found.depth_prompt_depth, found.depth_prompt_role) == ("Stay dry.", 2, "assistant")


@pytest.mark.parametrize("wrap", ["data", "extras"])
def test_a_wrapped_card_is_read_too(tmp_path: Path, wrap: str) -> None:
    """Fields may lie one level down."""
    store = a_store(tmp_path, {wrap: {"character_version": "3"}})

    assert CardReader(store, "w").read().character_version == "3"


@pytest.mark.parametrize("raw", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, b'"text"', b"null"])
def test_a_broken_card_costs_only_what_it_alone_knows(
    tmp_path: Path, raw: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """The files still speak."""
    with caplog.at_level(logging.WARNING):
        found = CardReader(a_store(tmp_path, raw, description="A bird."), "wren").read()

    assert found == CardFields(name="wren", description="A bird.")


@given(
    depth=st.one_of(st.none(), st.integers(), st.text(max_size=5), st.floats(), st.lists(st.integers(), max_size=2)),
    role=st.one_of(st.none(), st.integers(), st.text(max_size=9), st.sampled_from(["USER", "assistant"])),
)
def test_odd_depths_and_roles_become_the_usual_ones(
    tmp_path_factory: pytest.TempPathFactory, depth: Any, role: Any
) -> None:
    """Whatever a card says, the depth is a sane number and the role one of three."""
    card = {"extensions": {"depth_prompt": {"prompt": "x", "depth": depth, "role": role}}}

    found = CardReader(a_store(tmp_path_factory.mktemp("card"), card), "w").read()

    assert 0 <= found.depth_prompt_depth <= 10_000
    assert found.depth_prompt_role in ("system", "user", "assistant")


def test_a_changed_card_is_read_anew(tmp_path: Path) -> None:
    """An edit shows at the next turn."""
    reader = CardReader(a_store(tmp_path, {"nickname": "A"}), "w")
    before = reader.read().nickname
    a_store(tmp_path, {"nickname": "B"})

    assert (before, reader.read().nickname) == ("A", "B")
