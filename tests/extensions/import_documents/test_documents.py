"""Texts, Markdown, web pages and PDFs, as the extension that comes with the program reads them."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from familiar_connect.bootstrap.import_document import (
    DocumentImportError,
    ImportedDocument,
    import_document,
    read_document,
)
from familiar_connect.extensions.importing import find_importer
from familiar_connect.memory.store import MemoryStore
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


def take(store: MemoryStore, path: Path) -> ImportedDocument:
    return import_document(store, path, home=path.parent, clock=ManualClock(NOON))


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
        ("named.pdf", lambda: b"just words", "is named as a PDF but is not one"),
        ("program.bin", lambda: b"\x7fELF\x00\x00", "is not text, Markdown, a web page or a PDF"),
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


def read_in_time(path: Path, *, wall_s: float) -> None:
    importer = find_importer(path.parent, path, "document")
    replace(importer, limits=replace(importer.limits, wall_s=wall_s)).read_document(path)


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    """The reader is ended, not waited for."""
    path = a_document(tmp_path, "slow.pdf", a_pdf(["x"]))

    with pytest.raises(DocumentImportError, match=r"slow\.pdf takes longer than 0\.001 s to read: split it"):
        read_in_time(path, wall_s=0.001)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_old_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    """As far as one can tell them."""
    path = a_document(tmp_path, "a.txt", "Käse für Zoë".encode(encoding))

    assert read_document(path, tmp_path).pages == ("Käse für Zoë",)
