"""Documents taken into memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.bootstrap.import_document import (
    MAX_PARTS,
    DocumentImportError,
    ImportedDocument,
    import_document,
    read_document,
    slug_of,
)
from familiar_connect.memory.store import MemoryStore, MemoryStoreLimits
from familiar_connect.support.clock import ManualClock
from tests.fakes.short_term import NOON

pytestmark = pytest.mark.process


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory")


def a_document(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def take(store: MemoryStore, path: Path, **more: object) -> ImportedDocument:
    return import_document(store, path, home=path.parent, clock=ManualClock(NOON), **more)  # type: ignore[arg-type]


def test_a_text_says_where_it_comes_from(store: MemoryStore, tmp_path: Path) -> None:
    """One title, a line of provenance, the words."""
    done = take(store, a_document(tmp_path, "House rules.txt", "No shoes.\r\n\r\n\r\n\r\nNo puns."))

    assert done.paths == ("documents/house-rules.md",)
    text = store.read_file(done.paths[0])
    head, _, body = text.partition("\n\nNo shoes.")
    assert head.startswith("# House rules\n\n> Imported from `House rules.txt` on 2026-03-01: text (")
    assert body == "\n\nNo puns.\n"


def test_the_same_document_again_changes_nothing(store: MemoryStore, tmp_path: Path) -> None:
    """Another one under its name is refused, and replaced only when asked for."""
    path = a_document(tmp_path, "rules.txt", "one")
    take(store, path)
    writes = len(store.audit_entries)

    assert not take(store, path).changed
    assert len(store.audit_entries) == writes
    path.write_text("two")
    with pytest.raises(DocumentImportError, match=r"documents/rules\.md holds another document"):
        take(store, path)
    assert take(store, path, replace=True).changed
    assert store.read_file("documents/rules.md").endswith("\n\ntwo\n")


def test_a_long_document_becomes_several_files(tmp_path: Path) -> None:
    """Nothing is lost, every part says which it is; a shorter one that replaces it leaves no part behind."""
    store = MemoryStore(tmp_path / "memory", limits=MemoryStoreLimits(max_file_bytes=6_000))
    words = "\n\n".join(f"Paragraph {number}: " + "tea " * 40 for number in range(40))
    path = a_document(tmp_path, "long.txt", words)

    done = take(store, path)

    texts = [store.read_file(part) for part in done.paths]
    assert done.paths[:2] == ("documents/long.md", "documents/long-part-2.md")
    assert texts[1].startswith(f"# long (part 2 of {len(texts)})")
    assert all(f"Paragraph {number}:" in "".join(texts) for number in range(40))
    path.write_text("short")
    assert take(store, path, replace=True).paths == ("documents/long.md",)
    assert store.glob("documents/*") == ["documents/long.md"]


def test_what_is_far_too_long_is_refused_whole(tmp_path: Path) -> None:
    """Nothing is written of it."""
    store = MemoryStore(tmp_path / "memory", limits=MemoryStoreLimits(max_file_bytes=5_000))
    path = a_document(tmp_path, "long.txt", "\n\n".join(["tea " * 200] * (MAX_PARTS * 3)))

    with pytest.raises(DocumentImportError, match="too long"):
        take(store, path)
    assert store.glob("documents/*") == []


def test_channels_stand_in_the_header(store: MemoryStore, tmp_path: Path) -> None:
    """B73: whoever edits the file sees them, too."""
    take(store, a_document(tmp_path, "a.txt", "x"), channels=("kitchen", "#garden"), title="A title\nof two lines")

    assert "# A title of two lines\n" in store.read_file("documents/a-title-of-two-lines.md")
    assert "\n> Channels: #kitchen, #garden\n" in store.read_file("documents/a-title-of-two-lines.md")


def test_what_is_no_file_or_too_large_is_refused(tmp_path: Path) -> None:
    """Before anything is read."""
    with pytest.raises(DocumentImportError, match="there is no file"):
        read_document(tmp_path / "none.txt", tmp_path)
    with pytest.raises(DocumentImportError, match="is a folder"):
        read_document(tmp_path, tmp_path)
    with pytest.raises(DocumentImportError, match=r"a\.txt is too large \(8,000,001 bytes, at most 8,000,000\)"):
        read_document(a_document(tmp_path, "a.txt", "x" * 8_000_001), tmp_path)


def test_a_name_becomes_a_file_name() -> None:
    """Whatever alphabet it is written in."""
    assert slug_of("Café Rules (v2)") == "cafe-rules-v2"
    assert slug_of("お茶") == "お茶"
    assert slug_of("😀").startswith("document-")
    assert slug_of("../../etc/passwd") == "etc-passwd"
