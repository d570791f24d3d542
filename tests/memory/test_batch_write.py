"""Many files written together keep every promise one file has."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.errors import MemoryStoreEncodingError, MemoryStoreError, MemoryStorePathError
from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.index.indexing_store import IndexingMemoryStore
from familiar_connect.memory.paths import Folder
from familiar_connect.memory.store import MemoryStore, MemoryStoreLimits, MemoryStoreSizeLimitError
from familiar_connect.memory.versioning.versions import Versions

TEXTS = {"a.md": "# A\n", "b.md": "# B\n", "c.md": "# C\n"}


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")


def versions_of(store: MemoryStore) -> Versions:
    assert store.audit is not None
    return Versions(store.audit)


def everything_in(store: MemoryStore) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(store.root.rglob("*")) if path.is_file()}


def test_files_are_written_and_logged_one_by_one(store: MemoryStore) -> None:
    """An entry for each, in the order given, and nothing else in the folder."""
    store.write_many("lore", TEXTS, source="test")

    assert everything_in(store) == TEXTS
    assert [entry.rel_path for entry in store.audit_entries] == ["lore/a.md", "lore/b.md", "lore/c.md"]
    assert store.audit is not None
    assert store.audit.entries() == store.audit_entries


def test_what_stood_there_stays_recoverable(store: MemoryStore) -> None:
    """What the owner had written by hand too."""
    store.write_file("lore/a.md", "first\n", source="test")
    (store.root / "lore" / "b.md").write_text("by hand\n")
    store.write_many("lore", TEXTS, source="test")
    versions = versions_of(store)

    assert [versions.show("lore/a.md", number) for number in (1, 2)] == ["first\n", "# A\n"]
    assert [versions.show("lore/b.md", number) for number in (1, 2)] == ["by hand\n", "# B\n"]


@pytest.mark.parametrize(
    ("folder", "name", "error"),
    [
        ("..", "a.md", MemoryStorePathError),
        ("lore", "../a.md", MemoryStorePathError),
        ("lore", "sub/../a.md", MemoryStorePathError),
        ("lore", "", MemoryStorePathError),
        ("lore", "x\0", MemoryStorePathError),
    ],
)
def test_names_stay_in_the_folder(store: MemoryStore, folder: str, name: str, error: type[Exception]) -> None:
    """One bad name, and nothing is written."""
    with pytest.raises(error):
        store.write_many(folder, {**TEXTS, name: "x"}, source="test")
    assert everything_in(store) == {}


def test_a_name_that_is_a_link_is_not_followed(store: MemoryStore, tmp_path: Path) -> None:
    """What it leads to stays as it was, and so does the rest."""
    (tmp_path / "outside.md").write_text("mine")
    (store.root / "lore").mkdir()
    (store.root / "lore" / "b.md").symlink_to(tmp_path / "outside.md")

    with pytest.raises(MemoryStorePathError):
        store.write_many("lore", TEXTS, source="test")
    assert (tmp_path / "outside.md").read_text() == "mine"
    assert not (store.root / "lore" / "a.md").exists()


@pytest.mark.parametrize(
    ("text", "error"), [("x" * 51, MemoryStoreSizeLimitError), ("\ud800", MemoryStoreEncodingError)]
)
def test_one_text_that_cannot_be_written_stops_all(tmp_path: Path, text: str, error: type[Exception]) -> None:
    """Nothing is written and nothing logged."""
    store = MemoryStore(tmp_path / "memory", limits=MemoryStoreLimits(max_file_bytes=50))

    with pytest.raises(error):
        store.write_many("lore", {**TEXTS, "d.md": text}, source="test")
    assert (everything_in(store), store.audit_entries) == ({}, [])


def refuse_the_third(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    replace = Folder.replace

    def refusing(self: Folder, old: str, new: str) -> None:
        if new == "c.md":
            raise error
        replace(self, old, new)

    monkeypatch.setattr(Folder, "replace", refusing)


def test_a_disk_that_refuses_leaves_what_was_made_and_a_true_log(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log says of every file what stands there."""
    refuse_the_third(monkeypatch, OSError(28, "no space left"))

    with pytest.raises(MemoryStoreError, match="disk is full"):
        store.write_many("lore", TEXTS, source="test")
    assert everything_in(store) == {"a.md": "# A\n", "b.md": "# B\n"}
    assert store.audit is not None
    assert [entry.rel_path for entry in store.audit.entries()] == ["lore/a.md", "lore/b.md"]
    assert store.audit.entries() == store.audit_entries


def test_after_a_crash_half_way_the_log_finds_out(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An announced file that was not written is taken back at the next look; no hand edit is made up."""
    refuse_the_third(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        store.write_many("lore", TEXTS, source="test")
    again = AuditLog(tmp_path / "audit")
    noticed = again.reconcile(store)

    assert noticed == []
    assert [entry.rel_path for entry in again.entries()] == ["lore/a.md", "lore/b.md"]
    again.close()


def test_the_index_hears_of_every_file(store: MemoryStore) -> None:
    """Whatever is written together is found like anything else."""
    indexing = IndexingMemoryStore(store)
    indexing.write_many("lore/", TEXTS, source="test")

    assert indexing.drain_pending() == ["lore/a.md", "lore/b.md", "lore/c.md"]
