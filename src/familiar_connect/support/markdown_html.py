"""Markdown as HTML that can do nothing: for words of anybody, a stranger's as well as a model's.

The text is parsed with HTML switched off, and the HTML is written here from the parsed tokens: only the tags below,
no attribute but a checked `href`, a list's `start` and our own classes, everything else escaped. Speech in quotation
marks stands in `q`. Pictures are not loaded but named. What is too long to be parsed within a moment is shown as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from familiar_connect.support.speech_marks import SpeechMark, find_speech
from familiar_connect.support.text import printable, without_surrogates

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_PARSED_CHARS = 12_000
"""A longer text is shown without Markdown: hostile ones take long to parse."""
MAX_NESTING = 20
TAGS = frozenset(
    [
        *("p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "hr", "br", "pre", "code", "em"),
        *("strong", "s", "a", "table", "thead", "tbody", "tr", "th", "td", "div", "q"),
    ]
)
"""Every tag that is ever written."""
LINK_SCHEMES = frozenset({"http", "https", "mailto"})
_PAIRED = TAGS - {"hr", "br", "pre", "code", "a", "div", "q"}


def markdown_to_html(text: str) -> str:
    """*text* as HTML; safe to put into a page whatever it holds."""
    shown = without_surrogates(printable(text))
    if len(shown) > MAX_PARSED_CHARS:
        return f'<div class="plain">{escape(shown)}</div>'
    return _write(_parser()(shown))


def _write(tokens: Sequence[Token]) -> str:
    out: list[str] = []
    links: list[bool] = []
    for token in tokens:
        _write_token(token, out, links)
    return "".join(out)


def _write_line(tokens: Sequence[Token]) -> str:
    """The tokens within a paragraph, heading or cell, with speech marked."""
    out: list[str] = []
    links: list[bool] = []
    marks: dict[int, list[SpeechMark]] = {}
    for mark in find_speech(tokens):
        marks.setdefault(mark.token, []).append(mark)
    for index, token in enumerate(tokens):
        if token.type == "text":
            out.append(_write_text(token.content, marks.get(index, ())))
        else:
            out.extend("<q>" if mark.begins else "</q>" for mark in marks.get(index, ()))
            _write_token(token, out, links)
    out.extend("</q>" for _ in marks.get(len(tokens), ()))
    return "".join(out)


def _write_text(text: str, marks: Sequence[SpeechMark]) -> str:
    out, at = [], 0
    for mark in marks:
        out += [escape(text[at : mark.offset]), "<q>" if mark.begins else "</q>"]
        at = mark.offset
    return "".join([*out, escape(text[at:])])


def _write_token(token: Token, out: list[str], links: list[bool]) -> None:
    kind = token.type
    if kind == "inline":
        out.append(_write_line(token.children or ()))
    elif kind in ("fence", "code_block"):
        out.append(f"<pre><code>{escape(token.content)}</code></pre>\n")
    elif kind == "code_inline":
        out.append(f"<code>{escape(token.content)}</code>")
    elif kind in ("softbreak", "hardbreak"):
        out.append("<br>\n")
    elif kind == "hr":
        out.append("<hr>\n")
    elif kind == "link_open":
        out.append(_open_link(token, links))
    elif kind == "link_close":
        out.append("</a>" if links and links.pop() else "")
    elif kind == "image":
        out.append(f"[{escape(token.content) or 'picture'}]")
    elif token.tag in _PAIRED and token.nesting:
        out.append("" if token.hidden else _tag(token))
    else:
        out.append(escape(token.content))


def _tag(token: Token) -> str:
    if token.nesting < 0:
        return f"</{token.tag}>" + ("\n" if token.block else "")
    start = token.attrGet("start") if token.tag == "ol" else None
    number = f' start="{int(start)}"' if start is not None else ""
    return f"<{token.tag}{number}>"


def _open_link(token: Token, links: list[bool]) -> str:
    address = str(token.attrGet("href") or "")
    links.append(is_safe_link(address))
    if not links[-1]:
        return ""
    return f'<a href="{escape(address, quote=True)}" rel="noopener noreferrer nofollow" target="_blank">'


def is_safe_link(address: str) -> bool:
    """Whether a link may be followed: to the web or to somebody's mail, and nothing that runs."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return False
    return parts.scheme in LINK_SCHEMES and address.isprintable() and bool(parts.netloc or parts.scheme == "mailto")


@cache
def _parser() -> Callable[[str], list[Token]]:
    """CommonMark with tables and strike-through, HTML as text, a line's end as a break; made once."""
    from markdown_it import MarkdownIt

    options = {"html": False, "linkify": False, "typographer": False, "breaks": True, "maxNesting": MAX_NESTING}
    markdown = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    markdown.parse("#")  # compiles the rules before a second thread can see them half made
    return markdown.parse
