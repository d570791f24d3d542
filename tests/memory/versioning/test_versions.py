"""Earlier versions are listed, shown, compared and put back."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.memory.versioning.versions import Versions


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")
    store.write_file("x.md", "# X\none\n")
    store.write_file("y.md", "y")
    store.write_file("x.md", "# X\ntwo\n", source="memory_writer")
    return store


@pytest.fixture
def versions(store: MemoryStore) -> Versions:
    assert store.audit is not None
    return Versions(store.audit)


def test_the_log_counts_within_each_file(versions: Versions) -> None:
    """All files in the order of time, or one."""
    assert [(v.rel_path, v.number) for v in versions.log()] == [("x.md", 1), ("y.md", 1), ("x.md", 2)]
    assert [v.entry.source for v in versions.log("./x.md")] == ["unknown", "memory_writer"]


def test_a_version_is_shown_by_number_or_hash(versions: Versions) -> None:
    """The start of a hash is enough."""
    by_hash = (versions.log("x.md")[0].content_hash or "")[:10]

    assert versions.show("x.md", 1) == versions.show("x.md", by_hash) == "# X\none\n"


@pytest.mark.parametrize("version", [0, 3, "ffffffffffff", "a", ""])
def test_an_unknown_version_is_told(versions: Versions, version: int | str) -> None:
    """In a sentence that names the file."""
    with pytest.raises(MemoryStoreError, match=r"x\.md.*has no version"):
        versions.show("x.md", version)


def test_two_versions_are_compared(versions: Versions) -> None:
    """As a unified diff; the same text has none."""
    assert versions.diff("x.md", 1, 2).splitlines()[2:] == ["@@ -1,2 +1,2 @@", " # X", "-one", "+two"]
    assert versions.diff("x.md", 1, 1) == ""


def test_restoring_is_itself_a_version(store: MemoryStore, versions: Versions) -> None:
    """The text comes back, and what stood there until now stays recoverable."""
    restored = versions.restore(store, "x.md", 1)

    assert store.read_file("x.md") == "# X\none\n"
    assert [v.entry.source for v in versions.log("x.md")][-1] == "restore of version 1"
    assert (restored.number, versions.show("x.md", 2)) == (1, "# X\ntwo\n")


def test_a_deleted_file_comes_back_and_goes_again(store: MemoryStore, versions: Versions) -> None:
    """Deletion is a state like any other."""
    store.delete_file("x.md", source="operator")
    versions.restore(store, "x.md", 2)
    assert store.read_file("x.md") == "# X\ntwo\n"

    versions.restore(store, "x.md", 3)
    assert not store.exists("x.md")
    assert versions.show("x.md", 5) == ""


def test_bytes_that_are_not_text_are_restored_as_they_were(store: MemoryStore, versions: Versions) -> None:
    """Showing replaces what cannot be shown; restoring does not."""
    store.write_bytes("self/.original.png", b"\x89PNG\xff")
    store.delete_file("self/.original.png")
    versions.restore(store, "self/.original.png", 1)

    assert store.read_bytes("self/.original.png") == b"\x89PNG\xff"
    assert "\ufffd" in versions.show("self/.original.png", 1)


def test_the_last_versions_keep_their_numbers(store: MemoryStore, versions: Versions) -> None:
    """A short log counts like the whole one, a change taken back not at all."""
    store.write_file("x.md", "# X\nthree\n")
    assert store.audit is not None
    store.audit.withdraw(store.audit_entries[-1])
    (store.root / "x.md").write_text("# X\ntwo\n")
    store.write_file("x.md", "# X\nfour\n")

    assert [v.number for v in versions.log("x.md", last=2)] == [2, 3]
    assert [(v.rel_path, v.number) for v in versions.log(last=2)] == [("x.md", 2), ("x.md", 3)]


def test_a_change_is_told_in_lines(store: MemoryStore, versions: Versions) -> None:
    """Came and went, the first version and a deletion included."""
    store.delete_file("x.md", source="operator")

    assert [str(versions.change_of(v)) for v in versions.log("x.md")] == ["+2 −0", "+1 −1", "+0 −2"]
