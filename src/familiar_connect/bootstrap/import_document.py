"""import_document: a document that an importer knows becomes `documents/<name>.md` in memory.

The file says where it comes from and marks each page. What is longer than a memory file may be becomes several.
The same document again changes nothing; another one under the same name is refused unless it is to be replaced.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.errors import DocumentImportError, MemoryStoreError
from familiar_connect.extensions.importing import find_importer
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import DOCUMENTS_FOLDER
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.markdown import read_headings
from familiar_connect.support.text import one_line, to_file_slug, to_slug

__all__ = ["DocumentImportError", "ImportedDocument", "import_document"]

SOURCE = "document_importer"
MAX_PARTS = 40
MAX_SLUG_CHARS = 60
HEADER_BYTES = 4_000
"""Room kept for title and provenance in every part."""
MAX_TITLE_CHARS = 200

_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){2,}")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
_DIGEST = re.compile(r"^> Imported from .*\(([0-9a-f]{16})\)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class DocumentText:
    """What a document says."""

    kind: str
    """What its importer calls the format."""
    title: str
    pages: tuple[str, ...]
    """One for each page, where the format has pages."""

    @property
    def chars(self) -> int:
        return sum(map(len, self.pages))


@dataclass(frozen=True, kw_only=True)
class ImportedDocument:
    """Result of importing one file."""

    title: str
    paths: tuple[str, ...]
    """Files in memory that hold it."""
    pages: int
    chars: int
    changed: bool
    """False: it was there already."""


def import_document(
    store: MemoryStore,
    source: Path,
    *,
    home: Path,
    title: str | None = None,
    channels: Sequence[str] = (),
    replace: bool = False,
    clock: Clock | None = None,
) -> ImportedDocument:
    """Take the file at *source* into memory; nothing is written when it cannot be taken whole.

    It is read by whoever knows its format, of the extensions that *home* allows or that come with the program.
    """
    document = read_document(source, home)
    name = one_line(title or document.title)[:200].lstrip("# ") or "Document"
    stems = [f"{DOCUMENTS_FOLDER}{slug(title or source.stem)}" for slug in (slug_of, _former_slug_of)]
    stem = next((each for each in stems if _parts_on_file(store, each)), stems[0])
    digest = hashlib.sha256("\f".join((name, *channels, *document.pages)).encode("utf-8", "replace")).hexdigest()[:16]
    old = _parts_on_file(store, stem)
    if old and _digest_of(store, old[0]) == digest:
        return _result(name, old, document, changed=False)
    if old and not replace:
        raise DocumentImportError(f"{old[0]} holds another document: give a --title, or --replace it")
    bodies = list(_bodies(document, store.limits.max_file_bytes - HEADER_BYTES))
    if len(bodies) > MAX_PARTS:
        raise DocumentImportError(f"{source} is too long ({document.chars:,} characters): split it")
    when = (clock or SystemClock()).now()
    paths = []
    for number, body in enumerate(bodies, start=1):
        part = f" (part {number} of {len(bodies)})" if len(bodies) > 1 else ""
        lines = [
            f"# {name}{part}",
            "",
            f"> Imported from {_file_name(source)} on {when:%Y-%m-%d}: {_size(document)} ({digest})",
        ]
        if channels:
            lines.append("> Channels: " + ", ".join("#" + one_line(each).lstrip("#") for each in channels))
        path = f"{stem}.md" if number == 1 else f"{stem}-part-{number}.md"
        store.write_file(path, "\n".join([*lines, "", body, ""]), source=SOURCE)
        paths.append(path)
    for path in old:
        if path not in paths:
            store.delete_file(path, source=SOURCE)
    return _result(name, paths, document, changed=True)


def read_document(path: Path, home: Path) -> DocumentText:
    """The text of the file at *path*; DocumentImportError says why there is none."""
    if path.is_dir():
        raise DocumentImportError(f"{path} is a folder: name the files in it")
    if not path.is_file():
        raise DocumentImportError(f"there is no file {path}")
    importer = find_importer(home, path, "document")
    found = importer.read_document(path)
    pages = tuple(clean_text(page) for page in found.pages)
    if not any(pages):
        by_whom = "" if importer.is_built_in else f" that the extension {importer.extension} could find"
        raise DocumentImportError(f"{path} holds no text{by_whom}")
    title = one_line(found.title)[:MAX_TITLE_CHARS] or _title_from(path)
    return DocumentText(kind=one_line(importer.name)[:MAX_TITLE_CHARS], title=title, pages=pages)


def clean_text(text: str) -> str:
    """*text* with plain line ends, without control characters and runs of blank lines."""
    plain = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n"))
    lines = "\n".join(line.rstrip() for line in plain.split("\n"))
    return _BLANK_LINES.sub("\n\n", lines).strip()


def _title_from(path: Path) -> str:
    return " ".join(re.sub(r"[_\s]+", " ", path.stem).split())[:MAX_TITLE_CHARS] or "Document"


def slug_of(words: str) -> str:
    """*words* as a file name: lower case, letters of any script and digits, dashes between."""
    return to_file_slug(words, MAX_SLUG_CHARS) or _slug_of_digest(words)


def _former_slug_of(words: str) -> str:
    """What earlier versions made of *words*: Latin letters alone."""
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
    return to_slug(plain, MAX_SLUG_CHARS) or _slug_of_digest(words)


def _slug_of_digest(words: str) -> str:
    return f"document-{hashlib.sha256(words.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _bodies(document: DocumentText, max_bytes: int) -> Iterator[str]:
    """The text in stretches of at most *max_bytes*, each page under a heading of its own where there are several."""
    body, size = "", 0
    for piece in _pieces(document, max_bytes):
        cost = len(piece.encode("utf-8", "replace")) + 2
        if body and size + cost > max_bytes:
            yield body
            body, size = "", 0
        body = f"{body}\n\n{piece}" if body else piece
        size += cost
    if body:
        yield body


def _pieces(document: DocumentText, max_bytes: int) -> Iterator[str]:
    """Pages, or paragraphs of a text without; none longer than *max_bytes*."""
    paged = len(document.pages) > 1
    for number, page in enumerate(document.pages, start=1):
        if not page:
            continue
        # One first-level heading per file: the title. What a page calls one is a section of it.
        text = _without_titles(page, first_too=paged)
        mark = f"## Page {number}\n\n" if paged else ""
        if paged and len(text.encode("utf-8", "replace")) <= max_bytes - 32:
            yield mark + text
            continue
        for at, paragraph in enumerate(text.split("\n\n")):
            for start in range(0, max(1, len(paragraph)), max_bytes // 8):
                piece = paragraph[start : start + max_bytes // 8]
                yield mark + piece if at == start == 0 else piece


def _without_titles(page: str, *, first_too: bool) -> str:
    """*page* with its first-level headings one level down; one it begins with is left out unless *first_too*."""
    lines = page.splitlines(keepends=True)
    titles = [each for each in read_headings(page.splitlines()) if each.level == 1]
    begins = bool(titles and titles[0].line == 0 and titles[0].text) and not first_too
    for each in titles:
        lines[each.line] = lines[each.line].replace("#", "##", 1)
    return "".join(lines[1:]).lstrip("\n") if begins else "".join(lines)


def _parts_on_file(store: MemoryStore, stem: str) -> list[str]:
    if not store.exists(f"{stem}.md"):
        return []
    more = [f"{stem}-part-{number}.md" for number in range(2, MAX_PARTS + 1)]
    return [f"{stem}.md", *(path for path in more if store.exists(path))]


def _digest_of(store: MemoryStore, path: str) -> str | None:
    try:
        found = _DIGEST.search(store.read_file(path)[:HEADER_BYTES])
    except MemoryStoreError:
        return None
    return found[1] if found else None


def _file_name(source: Path) -> str:
    return "`" + one_line(source.name).replace("`", "'")[:200] + "`"


def _size(document: DocumentText) -> str:
    pages = len(document.pages)
    return f"{document.kind}, {pages} pages" if pages > 1 else document.kind


def _result(title: str, paths: Sequence[str], document: DocumentText, *, changed: bool) -> ImportedDocument:
    return ImportedDocument(
        title=title, paths=tuple(paths), pages=len(document.pages), chars=document.chars, changed=changed
    )
