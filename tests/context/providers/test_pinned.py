"""Pinned files in every prompt."""

from __future__ import annotations

import asyncio
from pathlib import Path

from familiar_connect.audience import EVERYONE
from familiar_connect.bootstrap.import_silly_tavern import import_silly_tavern_lorebook
from familiar_connect.context.providers.pinned import PinnedProvider
from familiar_connect.context.types import Contribution, ItemTag, Layer
from familiar_connect.memory.pins import PinnedFiles, has_pin
from familiar_connect.memory.store import MemoryStore
from tests.fakes.context import a_request


def contributions(store: MemoryStore) -> list[Contribution]:
    return asyncio.run(PinnedProvider(PinnedFiles(store)).contribute(a_request()))


def test_a_constant_entry_is_pinned_when_it_is_imported(tmp_path: Path) -> None:
    """Its text alone is shown, to everyone, and paid by a layer of its own."""
    store = MemoryStore(tmp_path)
    entry = {"uid": 0, "key": ["sea"], "comment": "Sea", "content": "The sea is near.", "constant": True}
    import_silly_tavern_lorebook(store, {"entries": {"0": entry, "1": {**entry, "uid": 1, "constant": False}}})
    (found,) = contributions(store)
    assert (found.layer, found.tag, found.text) == (Layer.pinned, ItemTag.PINNED, "The sea is near.")
    assert found.audiences == frozenset({EVERYONE})


def test_any_file_can_be_pinned_and_unpinned(tmp_path: Path) -> None:
    """One that does not say whom it is for is the owner's alone; the character's own are there anyway."""
    store = MemoryStore(tmp_path)
    store.write_file("notes/rule.md", "---\npin: true\n---\nNever lie.\n", source="t")
    store.write_file("self/description.md", "---\npin: true\n---\nA crow.\n", source="t")
    files = PinnedFiles(store)
    assert [file.path for file in files.read()] == ["notes/rule.md", "self/description.md"]
    (found,) = contributions(store)
    assert (found.text, found.audiences) == ("Never lie.", None)
    store.write_file("notes/rule.md", "Never lie.\n", source="t")
    assert [file.path for file in files.read()] == ["self/description.md"]


def test_only_front_matter_pins() -> None:
    """Not a line of the text."""
    assert has_pin("---\ntitle: x\nPin: yes\n---\ntext")
    assert not has_pin("pin: true\n")
    assert not has_pin("---\npin: false\n---\n")
