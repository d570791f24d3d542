"""An edit made in a form keeps what changed meanwhile, or says that it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.maintenance.owner_edits import NO_FILE, delete_edited, edit_base, save_edit
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.versions import Versions

PATH = "topics/house.md"
TEXT = "# House\n\n- A kettle.\n- A cat.\n- A key.\n"


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    made = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")
    made.write_file(PATH, TEXT, source="memory_writer")
    return made


def test_an_edit_is_saved_as_the_owners_and_the_text_before_stays_a_version(store: MemoryStore) -> None:
    """By the same log as an edit by hand."""
    done = save_edit(store, PATH, TEXT.replace("cat", "dog"), base=edit_base(TEXT))
    assert store.audit is not None
    log = Versions(store.audit).log(PATH)

    assert done.result == "saved"
    assert "dog" in store.read_file(PATH)
    assert log[-1].entry.source == "owner"
    assert "cat" in Versions(store.audit).text(log[-2])


def test_what_the_writer_added_meanwhile_is_kept(store: MemoryStore) -> None:
    """Both changes stand in the file."""
    store.append_file(PATH, "- A heron.\n", source="memory_writer")
    done = save_edit(store, PATH, TEXT.replace("kettle", "pot"), base=edit_base(TEXT))

    assert done.result == "merged"
    assert store.read_file(PATH) == TEXT.replace("kettle", "pot") + "- A heron.\n"


def test_two_changes_of_one_line_write_nothing(store: MemoryStore) -> None:
    """The outcome tells what stands there; saving again on top of that is the owner's word."""
    theirs, mine = TEXT.replace("cat", "tiger"), TEXT.replace("cat", "dog")
    store.write_file(PATH, theirs)
    met = save_edit(store, PATH, mine, base=edit_base(TEXT))
    again = save_edit(store, PATH, mine, base=met.base)
    assert store.audit is not None

    assert (met.result, met.current) == ("conflict", theirs)
    assert again.result == "saved"
    assert any("tiger" in Versions(store.audit).text(version) for version in Versions(store.audit).log(PATH))


def test_a_file_that_went_or_came_meanwhile_is_a_conflict(store: MemoryStore) -> None:
    """It is neither brought back nor written over unasked."""
    came = save_edit(store, PATH, "mine", base=NO_FILE)
    store.delete_file(PATH)
    went = save_edit(store, PATH, TEXT, base=edit_base(TEXT))

    assert (came.result, went.result, went.base) == ("conflict", "conflict", NO_FILE)
    assert not store.exists(PATH)


def test_line_ends_of_a_browser_change_nothing(store: MemoryStore) -> None:
    """The file keeps its own."""
    assert save_edit(store, PATH, TEXT.replace("\n", "\r\n"), base=edit_base(TEXT)).result == "unchanged"
    windows = TEXT.replace("\n", "\r\n")
    store.write_file(PATH, windows)
    save_edit(store, PATH, windows + "more\r\n", base=edit_base(windows))

    assert store.read_bytes(PATH).endswith(b"key.\r\nmore\r\n")


def test_a_new_file_is_made(store: MemoryStore) -> None:
    """With its folder."""
    assert save_edit(store, "lore/sea/tide.md", "# Tide\n", base=NO_FILE).result == "saved"
    assert store.read_file("lore/sea/tide.md") == "# Tide\n"


@pytest.mark.parametrize(
    "path", ["", ".md", "a.txt", ".hidden/a.md", "a/.pending/b.md", "../out.md", "/etc/a.md", "a\\b.md", "a\0.md"]
)
def test_only_files_that_memory_lists_can_be_written(store: MemoryStore, path: str) -> None:
    """Not outside, not what waits for review, nothing but Markdown."""
    with pytest.raises(MemoryStoreError):
        save_edit(store, path, "x", base=NO_FILE)
    with pytest.raises(MemoryStoreError):
        delete_edited(store, path, base=NO_FILE)


def test_a_file_is_deleted_unless_it_changed_meanwhile(store: MemoryStore) -> None:
    """Its text stays a version either way."""
    store.append_file(PATH, "- A heron.\n")

    assert not delete_edited(store, PATH, base=edit_base(TEXT))
    assert delete_edited(store, PATH, base=edit_base(store.read_file(PATH)))
    assert not store.exists(PATH)
