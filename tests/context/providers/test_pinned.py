"""Pinned files in every prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.audience import EVERYONE
from familiar_connect.bootstrap.import_silly_tavern import import_silly_tavern_lorebook
from familiar_connect.context.providers.owner_notes import PinnedProvider
from familiar_connect.context.types import Contribution, ItemTag, Layer
from familiar_connect.memory import pins
from familiar_connect.memory.index import folder_listing
from familiar_connect.memory.index.folder_listing import FileStamp
from familiar_connect.memory.pins import PinnedFiles, has_pin
from familiar_connect.memory.store import MemoryStore, MemoryStoreLimits
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


def test_a_pin_is_found_however_many_files_there_are(tmp_path: Path) -> None:
    """A search hands out so many files at most; the pins are not among those alone."""
    store = MemoryStore(tmp_path, limits=MemoryStoreLimits(max_results_per_op=3))
    for name in "abcdef":
        (tmp_path / f"{name}.md").write_text("Nothing special.\n", encoding="utf-8")
    (tmp_path / "z.md").write_text("\ufeff---\npin: yes\n---\nNever lie.\n", encoding="utf-8")
    assert [file.path for file in PinnedFiles(store).read()] == ["z.md"]


def test_the_memory_folder_is_looked_through_once_while_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The indexer's look counts too; a write of the program makes the next turn look."""
    looks: list[Path] = []
    real = folder_listing.file_stamps

    def look(root: Path) -> Iterator[tuple[str, FileStamp]]:
        looks.append(root)
        return real(root)

    monkeypatch.setattr(folder_listing, "file_stamps", look)
    store = MemoryStore(tmp_path)
    store.write_file("a.md", "---\npin: true\n---\nOne.\n", source="t")
    store.listing.look()
    files = PinnedFiles(store)
    assert [file.path for _ in range(3) for file in files.read()] == ["a.md"] * 3
    assert len(looks) == 1
    store.write_file("b.md", "---\npin: true\n---\nTwo.\n", source="t")
    assert [file.path for file in files.read()] == ["a.md", "b.md"]
    assert len(looks) == 2


def test_what_the_owner_makes_of_a_pinned_file_counts_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words, and that it is pinned no more or gone; a new pin counts with the next look."""
    store = MemoryStore(tmp_path)
    for name in "abc":
        (tmp_path / f"{name}.md").write_text("---\npin: true\n---\nOld.\n", encoding="utf-8")
    files = PinnedFiles(store)
    assert len(files.read()) == 3
    (tmp_path / "a.md").write_text("---\npin: true\n---\nNewer.\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("---\npin: false\n---\nOld.\n", encoding="utf-8")
    (tmp_path / "c.md").unlink()
    (tmp_path / "d.md").write_text("---\npin: true\n---\nNew.\n", encoding="utf-8")
    assert [(file.path, file.text[-7:]) for file in files.read()] == [("a.md", "Newer.\n")]
    monkeypatch.setattr(pins, "FRESH_S", 0.0)
    assert [file.path for file in files.read()] == ["a.md", "d.md"]
