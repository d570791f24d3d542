"""Texts, web pages and PDFs taken into memory."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from familiar_connect.bootstrap.document_files import read_document as read_document_module
from familiar_connect.bootstrap.document_files.read_document import read_document
from familiar_connect.bootstrap.import_document import (
    MAX_PARTS,
    DocumentImportError,
    ImportedDocument,
    import_document,
    slug_of,
)
from familiar_connect.memory.store import MemoryStore, MemoryStoreLimits
from familiar_connect.support.bounded_process import ProcessLimits
from familiar_connect.support.clock import ManualClock
from tests.fakes.pdf import a_bomb, a_pdf, many_pages
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
    return import_document(store, path, clock=ManualClock(NOON), **more)  # type: ignore[arg-type]


def test_a_text_says_where_it_comes_from(store: MemoryStore, tmp_path: Path) -> None:
    """One title, a line of provenance, the words."""
    done = take(store, a_document(tmp_path, "House rules.txt", "No shoes.\r\n\r\n\r\n\r\nNo puns."))

    assert done.paths == ("documents/house-rules.md",)
    text = store.read_file(done.paths[0])
    head, _, body = text.partition("\n\nNo shoes.")
    assert head.startswith("# House rules\n\n> Imported from `House rules.txt` on 2026-03-01: text (")
    assert body == "\n\nNo puns.\n"


def test_markdown_keeps_its_sections_under_one_title(store: MemoryStore, tmp_path: Path) -> None:
    """Its own first heading is the title; a second one becomes a section."""
    done = take(store, a_document(tmp_path, "x.md", "# Tea\n\nAll of it.\n\n# Pots\n\n## Blue\n\nNice."))

    text = store.read_file(done.paths[0])
    assert done.title == "Tea"
    assert text.startswith("# Tea\n\n> ")
    assert text.endswith("\n\nAll of it.\n\n## Pots\n\n## Blue\n\nNice.\n")


def test_a_web_page_is_what_its_reader_sees(store: MemoryStore, tmp_path: Path) -> None:
    """Neither scripts nor styles nor tags; headings and lists stay."""
    page = (
        "<!doctype html><html><head><title>The &amp; Pot</title><style>p{}</style></head><body><h1>Pots</h1>"
        "<script>alert('x')</script><p>Blue <b>one</b>.<br>Red one.</p><ul><li>a<li>b</ul></body></html>"
    )

    done = take(store, a_document(tmp_path, "page.html", page))

    text = store.read_file(done.paths[0])
    assert done.title == "The & Pot"
    assert "## Pots\n\nBlue one.\nRed one." in text
    assert "- a\n- b" in text
    assert "alert" not in text
    assert "<" not in text


def test_a_pdf_has_its_pages_marked(store: MemoryStore, tmp_path: Path) -> None:
    """So that a reply can say on which page something stands; an empty page has no mark."""
    data = a_pdf(["The kettle is copper.", "", "Tea takes four min-\nutes."], title="Handbook")

    done = take(store, a_document(tmp_path, "hb.pdf", data))

    text = store.read_file(done.paths[0])
    assert (done.title, done.pages) == ("Handbook", 3)
    assert "PDF, 3 pages" in text
    assert "## Page 1\n\nThe kettle is copper.\n\n## Page 3\n\nTea takes four minutes.\n" in text


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


def locked() -> bytes:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(a_pdf(["secret"]))))
    writer.encrypt("tea", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("locked.pdf", locked, "locked with a password"),
        ("pictures.pdf", lambda: a_pdf(["", ""]), "holds no text: its pages are pictures"),
        ("many.pdf", lambda: many_pages(10_000), "has 10,000 pages, more than 2,000: split it"),
        ("bomb.pdf", lambda: a_bomb(120_000_000), "cannot be read as a PDF|takes more than|holds no text|is damaged"),
        ("torn.pdf", lambda: a_pdf(["hello"])[:200], "cannot be read as a PDF|is damaged"),
        ("junk.pdf", lambda: b"%PDF-1.7\n" + b"\xff" * 5000, "cannot be read as a PDF|is damaged"),
        ("named.pdf", lambda: b"just words", "is called a PDF but is none"),
        ("program.bin", lambda: b"\x7fELF\x00\x00", "is no text, Markdown, web page or PDF"),
        ("empty.txt", lambda: b"  \n", "holds no text"),
        ("empty.html", lambda: b"<html><script>x</script></html>", "holds no text"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(
    store: MemoryStore, tmp_path: Path, name: str, data: Callable[[], bytes], words: str
) -> None:
    """Within bounds of time and memory, naming the file; memory stays as it was."""
    path = a_document(tmp_path, name, data())

    with pytest.raises(DocumentImportError, match=words) as refused:
        take(store, path)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)
    assert store.glob("**/*") == []


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    """The reader is ended, not waited for."""
    path = a_document(tmp_path, "slow.pdf", a_pdf(["x"]))

    with pytest.raises(DocumentImportError, match=r"slow\.pdf takes longer than 0\.001 s to read: split it"):
        read_document(path, limits=ProcessLimits(wall_s=0.001))


def test_what_is_no_file_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is read."""
    monkeypatch.setattr(read_document_module, "MAX_TEXT_BYTES", 10)

    with pytest.raises(DocumentImportError, match="there is no file"):
        read_document(tmp_path / "none.txt")
    with pytest.raises(DocumentImportError, match="is a folder"):
        read_document(tmp_path)
    with pytest.raises(DocumentImportError, match="too large"):
        read_document(a_document(tmp_path, "a.txt", "x" * 11))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_old_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    """As far as one can tell them."""
    assert read_document(a_document(tmp_path, "a.txt", "Käse für Zoë".encode(encoding))).pages == ("Käse für Zoë",)


def test_a_name_becomes_a_file_name() -> None:
    """Whatever alphabet it is written in."""
    assert slug_of("Café Rules (v2)") == "cafe-rules-v2"
    assert slug_of("お茶").startswith("document-")
    assert slug_of("../../etc/passwd") == "etc-passwd"
