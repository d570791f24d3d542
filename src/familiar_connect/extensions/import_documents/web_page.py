"""read_web_page: the text a reader of the page would see, in time proportional to its length."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser

from familiar_connect.api.importing import ImportedText, UnreadableFileError

MAX_CHARS = 4_000_000

_DROPPED = {"script", "style", "template", "noscript", "svg", "head", "iframe", "object"}
_BREAKS = {
    *("p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol", "dl", "dd", "dt"),
    *("table", "tr", "blockquote", "pre", "figure", "figcaption", "form", "hr", "br", "body", "html"),
}
_HEADINGS = {"h1": "## ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### "}
_VOID = {"br", "hr", "img", "input", "meta", "link", "base", "area", "col", "embed", "source", "track", "wbr"}


_COMMENT = "<!--"
_HIDDEN = re.compile(r"<!--|<(?:script|style)(?=[\s/>])", re.IGNORECASE)
_ENDS = {
    _COMMENT: re.compile("-->"),
    "<script": re.compile("</script[^>]{0,99}>", re.IGNORECASE),
    "<style": re.compile("</style[^>]{0,99}>", re.IGNORECASE),
}


class PageText(HTMLParser):
    """What a reader of the page would see, headings and list items marked as in Markdown."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self._text = io.StringIO()
        self._size = 0
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
        self._size += len(text)
        if self._size > MAX_CHARS:
            raise UnreadableFileError(f"holds more than {MAX_CHARS:,} characters: split it")
        self._text.write(text)

    @property
    def text(self) -> str:
        return self._text.getvalue()


def read_web_page(data: bytes) -> ImportedText:
    """Title and text of the page in *data*."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    page = PageText()
    page.feed(without_hidden_stretches(data.decode(encoding, "replace")))
    page.close()
    if not page.text.strip():
        raise UnreadableFileError("holds no text")
    return ImportedText(title=page.title.strip(), pages=(page.text,))


def without_hidden_stretches(html: str) -> str:
    """*html* without comments, scripts and styles.

    The parser looks for the end of each comment through all that follows, once for each that never ends: a page of
    such beginnings would take it hours. Here every end is looked for once.
    """
    kept: list[str] = []
    at = 0
    while found := _HIDDEN.search(html, at):
        kept.append(html[at : found.start()])
        what = found[0].lower()
        end = _ENDS[what].search(html, found.start() + 2)
        if end is not None:
            at = end.end()
        elif what == _COMMENT:  # no comment behind it ends either
            html, at = html[found.end() :].replace(_COMMENT, " "), 0
        else:
            return "".join(kept)
    kept.append(html[at:])
    return "".join(kept)
