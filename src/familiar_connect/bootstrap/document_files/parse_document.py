"""parse_document: bytes as title and pages of text, whatever kind they are.

What a file is, its first bytes say before its name does. A refusal says what is wrong and leaves it to the caller to
name the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from familiar_connect.bootstrap.document_files.pdf import read_pdf
from familiar_connect.bootstrap.document_files.web_page import read_web_page
from familiar_connect.errors import DocumentImportError
from familiar_connect.support.markdown import read_headings

DocumentKind = Literal["text", "markdown", "web page", "PDF"]

_MARKDOWN = (".md", ".markdown", ".mdown")
_WEB_PAGE = (".html", ".htm", ".xhtml")
_LOOKS_LIKE_A_PAGE = re.compile(rb"^\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){2,}")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
_HYPHENATED = re.compile(r"(?<=[a-zß-ÿ])-\n(?=[a-zß-ÿ])")
_HEAD_BYTES = 4096
MAX_TITLE_CHARS = 200


@dataclass(frozen=True, kw_only=True)
class DocumentText:
    """What a document says."""

    kind: str
    """One of ours, or what an extension calls its format."""
    title: str
    pages: tuple[str, ...]
    """One for each page of a PDF; other kinds have one."""

    @property
    def chars(self) -> int:
        return sum(map(len, self.pages))


def document_kind(head: bytes, name: str) -> DocumentKind:
    """What a file is that begins with *head* and is called *name*."""
    suffix = PurePath(name).suffix.lower()
    if b"%PDF-" in head[:1024]:
        return "PDF"
    if _LOOKS_LIKE_A_PAGE.match(head[:_HEAD_BYTES]) or suffix in _WEB_PAGE:
        return "web page"
    if suffix == ".pdf":
        raise DocumentImportError("is called a PDF but is none")
    return "markdown" if suffix in _MARKDOWN else "text"


def parse_document(data: bytes, name: str) -> DocumentText:
    """The text in *data*, a file called *name*; DocumentImportError says why there is none."""
    kind = document_kind(data, name)
    title = ""
    if kind == "PDF":
        title, found = read_pdf(data)
        pages = tuple(clean_text(_HYPHENATED.sub("", page)) for page in found)  # words whole that a line's end had cut
    elif kind == "web page":
        title, text = read_web_page(data)
        pages = (clean_text(text),)
    else:
        pages = (clean_text(_decoded(data)),)
        title = _first_heading(pages[0]) if kind == "markdown" else ""
    if not any(pages):
        hints = {"PDF": ": its pages are pictures; run text recognition over it first", "web page": ": it shows none"}
        raise DocumentImportError(f"holds no text{hints.get(kind, '')}")
    return DocumentText(kind=kind, title=" ".join(title.split()) or _title_from(name), pages=pages)


def clean_text(text: str) -> str:
    """*text* with plain line ends, without control characters and runs of blank lines."""
    plain = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n"))
    lines = "\n".join(line.rstrip() for line in plain.split("\n"))
    return _BLANK_LINES.sub("\n\n", lines).strip()


def _first_heading(text: str) -> str:
    """The first title in *text* that is no longer than a title may be."""
    titles = (each.text for each in read_headings(text.splitlines()) if each.level == 1)
    return next((words for words in titles if 0 < len(words) <= MAX_TITLE_CHARS), "")


def _decoded(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if b"\x00" in data:
        raise DocumentImportError("is no text, Markdown, web page or PDF")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _title_from(name: str) -> str:
    return " ".join(re.sub(r"[_\s]+", " ", PurePath(name).stem).split())[:MAX_TITLE_CHARS] or "Document"
