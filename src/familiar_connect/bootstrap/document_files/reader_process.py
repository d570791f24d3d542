"""The reader of PDFs and web pages, run as a process of its own: a malicious file can only hurt that.

Started with the kind and the path; prints one JSON object. `pages` holds the text of each page, or `problem` says in
a few words why there is none. Memory is bounded here, time by whoever started it.
"""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from typing import Any

MAX_PAGES = 2_000
MAX_CHARS = 4_000_000
MAX_MEMORY_BYTES = 1 << 30

_DROPPED = {"script", "style", "template", "noscript", "svg", "head", "iframe", "object"}
_BREAKS = {
    *("p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol", "dl", "dd", "dt"),
    *("table", "tr", "blockquote", "pre", "figure", "figcaption", "form", "hr", "br", "body", "html"),
}
_HEADINGS = {"h1": "## ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### "}
_VOID = {"br", "hr", "img", "input", "meta", "link", "base", "area", "col", "embed", "source", "track", "wbr"}


class PageText(HTMLParser):
    """What a reader of the page would see, headings and list items marked as in Markdown."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.pieces: list[str] = []
        self.size = 0
        self._hidden: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag in _DROPPED:
            self._hidden.append(tag)
        elif tag in _HEADINGS:
            self._add(f"\n\n{_HEADINGS[tag]}")
        elif tag == "li":
            self._add("\n- ")
        elif tag in ("td", "th"):
            self._add(" | ")
        elif tag in _BREAKS:
            self._add("\n" if tag == "br" else "\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif tag in _HEADINGS or tag in _BREAKS - _VOID:
            self._add("\n\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = (self.title + data)[:300]
        elif not self._hidden:
            self._add(data)

    def _add(self, text: str) -> None:
        self.size += len(text)
        if self.size <= MAX_CHARS:
            self.pieces.append(text)


def read_web_page(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        data = file.read()
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    page = PageText()
    page.feed(data.decode(encoding, "replace"))
    page.close()
    if page.size > MAX_CHARS:
        return {"problem": f"holds more than {MAX_CHARS:,} characters: split it"}
    return {"title": page.title.strip(), "pages": ["".join(page.pieces)]}


def read_pdf(path: str) -> dict[str, Any]:
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError:
        return {"problem": "is a PDF, and pypdf is not installed: pip install 'pypdf>=5'"}
    try:
        reader = PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            return {"problem": "is locked with a password: save it without one and import that"}
        count = len(reader.pages)
        if count > MAX_PAGES:
            return {"problem": f"has {count:,} pages, more than {MAX_PAGES:,}: split it"}
        pages: list[str] = []
        size = 0
        for page in reader.pages:
            pages.append(page.extract_text() or "")
            size += len(pages[-1])
            if size > MAX_CHARS:
                return {"problem": f"holds more than {MAX_CHARS:,} characters: split it"}
        title = reader.metadata.title if reader.metadata is not None else None
        return {"title": str(title or "")[:300], "pages": pages}
    except PyPdfError as error:
        return {"problem": f"cannot be read as a PDF ({type(error).__name__})"}


def run_reader(kind: str, path: str) -> None:
    _bound_memory()
    try:
        answer = read_pdf(path) if kind == "pdf" else read_web_page(path)
    except MemoryError:
        answer = {"problem": "takes too much memory to read"}
    except RecursionError:
        answer = {"problem": "is nested too deeply to read"}
    except Exception as error:  # whatever a damaged file makes of its reader
        answer = {"problem": f"is damaged ({type(error).__name__})"}
    sys.stdout.buffer.write(json.dumps(answer).encode("ascii"))


def _bound_memory() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


if __name__ == "__main__":
    run_reader(sys.argv[1], sys.argv[2])
