"""read_document: a file as title and pages of text, whatever kind it is, within bounds of size, time and memory.

What a file is, its first bytes say before its name does. PDFs and web pages are read by a child process. A file
that cannot be read is refused in one sentence.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from familiar_connect.bootstrap.document_files import reader_process
from familiar_connect.errors import DocumentImportError

DocumentKind = Literal["text", "markdown", "web page", "PDF"]

MAX_FILE_BYTES = 50_000_000
MAX_TEXT_BYTES = 8_000_000
TIME_LIMIT_S = 240.0
COMMAND = (sys.executable, "-P", str(Path(reader_process.__file__)))

_MARKDOWN = (".md", ".markdown", ".mdown")
_WEB_PAGE = (".html", ".htm", ".xhtml")
_LOOKS_LIKE_A_PAGE = re.compile(rb"^\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_TITLE = re.compile(r"^#\s+(\S.{0,199}?)\s*#*\s*$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n(?:[^\S\n]*\n)+")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
_HYPHENATED = re.compile(r"(?<=[a-zß-ÿ])-\n(?=[a-zß-ÿ])")


@dataclass(frozen=True, kw_only=True)
class DocumentText:
    """What a document says."""

    kind: DocumentKind
    title: str
    pages: tuple[str, ...]
    """One for each page of a PDF; other kinds have one."""

    @property
    def chars(self) -> int:
        return sum(map(len, self.pages))


def read_document(path: Path, *, time_limit_s: float = TIME_LIMIT_S) -> DocumentText:
    """The text of the file at *path*; DocumentImportError says why there is none."""
    head = _first_bytes(path)
    suffix = path.suffix.lower()
    if b"%PDF-" in head[:1024]:
        return _by_child("PDF", path, time_limit_s)
    if _LOOKS_LIKE_A_PAGE.match(head) or suffix in _WEB_PAGE:
        _check_size(path, MAX_TEXT_BYTES)
        return _by_child("web page", path, time_limit_s)
    if suffix == ".pdf":
        raise DocumentImportError(f"{path} is called a PDF but is none")
    _check_size(path, MAX_TEXT_BYTES)
    text = clean_text(_decoded(path))
    if not text:
        raise DocumentImportError(f"{path} holds no text")
    heading = _TITLE.search(text) if suffix in _MARKDOWN else None
    kind: DocumentKind = "markdown" if suffix in _MARKDOWN else "text"
    return DocumentText(kind=kind, title=heading[1] if heading else _title_from(path), pages=(text,))


def clean_text(text: str) -> str:
    """*text* with plain line ends, without control characters and runs of blank lines."""
    plain = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n"))
    lines = "\n".join(line.rstrip() for line in plain.split("\n"))
    return _BLANK_LINES.sub("\n\n", lines).strip()


def _by_child(kind: Literal["PDF", "web page"], path: Path, time_limit_s: float) -> DocumentText:
    answer = _ask_child("pdf" if kind == "PDF" else "html", path, time_limit_s)
    if "pages" not in answer:
        raise DocumentImportError(f"{path} {answer.get('problem', 'cannot be read')}")
    pages = tuple(clean_text(_joined(page) if kind == "PDF" else page) for page in answer["pages"])
    if not any(pages):
        hint = "its pages are pictures; run text recognition over it first" if kind == "PDF" else "it shows none"
        raise DocumentImportError(f"{path} holds no text: {hint}")
    return DocumentText(
        kind=kind, title=" ".join(str(answer.get("title") or "").split()) or _title_from(path), pages=pages
    )


def _ask_child(kind: str, path: Path, time_limit_s: float) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [*COMMAND, kind, str(path.absolute())], capture_output=True, timeout=time_limit_s, check=False
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"problem": f"took longer than {time_limit_s:g} s to read: split it, or save it as plain text"}
    except ValueError:
        return {"problem": "is damaged: its reader gave up"}
    return answer if isinstance(answer, dict) else {}


def _joined(page: str) -> str:
    """A PDF's page with words whole again that a line's end had cut."""
    return _HYPHENATED.sub("", page)


def _first_bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise DocumentImportError(f"{path} is a folder: name the files in it")
        if not path.is_file():
            raise DocumentImportError(f"there is no file {path}")
        _check_size(path, MAX_FILE_BYTES)
        with path.open("rb") as file:
            return file.read(4096)
    except OSError as error:
        raise DocumentImportError(f"{path} cannot be read ({error.strerror})") from error


def _check_size(path: Path, limit: int) -> None:
    size = path.stat().st_size
    if size > limit:
        raise DocumentImportError(f"{path} is too large ({size:,} bytes, at most {limit:,}): split it")


def _decoded(path: Path) -> str:
    data = path.read_bytes()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if b"\x00" in data:
        raise DocumentImportError(f"{path} is no text, Markdown, web page or PDF")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _title_from(path: Path) -> str:
    return " ".join(re.sub(r"[_\s]+", " ", path.stem).split())[:200] or "Document"
