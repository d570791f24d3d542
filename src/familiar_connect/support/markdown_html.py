"""Markdown as HTML that can do nothing: for words of anybody, a stranger's as well as a model's.

The text is parsed with HTML switched off, and the HTML is written here from the parsed tokens: only the tags below,
only the attributes below with values of ours, a checked `href` and a list's `start`; everything else is escaped. Speech
in quotation marks stands in `q`, code has colours, formulas are MathML, a spoiler is covered by a box that is ticked to
read it. Pictures are not loaded: whoever wants to see one opens its address. What is too long to be parsed within a
moment is shown as it is, and of what is longer than anybody reads the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from familiar_connect.support.code_colours import colour_code, name_language
from familiar_connect.support.formulas import MATHML_ATTRIBUTES, MATHML_TAGS, draw_formula
from familiar_connect.support.markdown_rules import add_rules, take_tasks
from familiar_connect.support.speech_marks import SpeechMark, find_speech
from familiar_connect.support.text import printable, without_surrogates

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_PARSED_CHARS = 12_000
"""A longer text is shown without Markdown: hostile ones take long to parse."""
MAX_SHOWN_CHARS = 20_000
"""What is behind so many characters is only counted."""
MAX_NESTING = 20
MAX_FORMULAS = 100
"""Formulas of one text that are drawn; those behind them are shown as they were written."""
TAGS = frozenset(
    [
        *("p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "hr", "br", "pre", "code", "em"),
        *("strong", "s", "a", "table", "thead", "tbody", "tr", "th", "td", "div", "q", "span", "button", "label"),
        *("input", *MATHML_TAGS),
    ]
)
"""Every tag that is ever written."""
ATTRIBUTES: Mapping[str, frozenset[str]] = {
    "a": frozenset({"href", "rel", "target"}),
    "ol": frozenset({"start"}),
    "input": frozenset({"type", "disabled", "checked", "aria-label"}),
    "button": frozenset({"type", "class"}),
    "div": frozenset({"class", "tabindex", "role", "aria-label"}),
    "pre": frozenset({"tabindex"}),
    **dict.fromkeys(("li", "th", "td", "span", "label", "p"), frozenset({"class"})),
    **dict.fromkeys(MATHML_TAGS, MATHML_ATTRIBUTES),
}
"""Every attribute that is ever written, by its tag."""
LINK_SCHEMES = frozenset({"http", "https", "mailto"})
_PAIRED = frozenset(
    [
        *("p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "em", "strong", "s"),
        *("thead", "tbody", "tr", "th", "td"),
    ]
)
_ALIGNED = {"text-align:right": "right", "text-align:center": "center"}
_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9+#._-]{0,19}")
_OPEN_TABLE = '<div class="table" tabindex="0" role="group" aria-label="Table"><table>'
_OPEN_SPOILER = '<label class="spoiler"><input type="checkbox" aria-label="Show the spoiler"><span>'
_OPEN_LINK = '<a href="{}" rel="noopener noreferrer nofollow" target="_blank">'
_FORMULA_FENCES = frozenset({"math", "latex", "tex", "katex"})


def markdown_to_html(text: str) -> str:
    """*text* as HTML; safe to put into a page whatever it holds."""
    shown = without_surrogates(printable(text[: MAX_SHOWN_CHARS + 1]))
    if len(shown) > MAX_PARSED_CHARS:
        return f'<div class="plain">{escape(shown[:MAX_SHOWN_CHARS])}</div>{_rest(len(text) - MAX_SHOWN_CHARS)}'
    tokens = _parser()(shown)
    take_tasks(tokens)
    return _HtmlWriter().write(tokens)


def _rest(count: int) -> str:
    """What stands below a text of which the end is not shown."""
    return f'<p class="rest">{count:,} more characters are not shown here.</p>' if count > 0 else ""


class _HtmlWriter:
    """Writes the tokens of one text."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._links: list[bool] = []
        """For each link around the place, whether it may be followed."""
        self._formulas = 0

    def write(self, tokens: Sequence[Token]) -> str:
        for token in tokens:
            self._write_token(token)
        return "".join(self._out)

    def _write_line(self, tokens: Sequence[Token]) -> None:
        """The tokens within a paragraph, heading or cell, with speech marked."""
        self._links = []
        marks: dict[int, list[SpeechMark]] = {}
        for mark in find_speech(tokens):
            marks.setdefault(mark.token, []).append(mark)
        for index, token in enumerate(tokens):
            if token.type == "text":
                self._out.append(_write_text(token.content, marks.get(index, ())))
            else:
                self._out.extend("<q>" if mark.begins else "</q>" for mark in marks.get(index, ()))
                self._write_token(token)
        self._out.extend("</q>" for _ in marks.get(len(tokens), ()))

    def _write_token(self, token: Token) -> None:
        kind, out = token.type, self._out
        if kind == "inline":
            self._write_line(token.children or ())
        elif kind == "fence" and _fence_word(token) in _FORMULA_FENCES:
            self._write_formula(token.content, is_alone=True)
        elif kind in ("fence", "code_block"):
            out.append(_write_code(token.content, token.info))
        elif kind in ("formula", "formula_alone"):
            self._write_formula(token.content, is_alone=kind == "formula_alone")
        elif kind == "link_open":
            out.append(self._open_link(token))
        elif kind == "link_close":
            out.append("</a>" if self._links and self._links.pop() else "")
        elif kind == "image":
            out.append(self._write_picture(token))
        elif kind in _FIXED:
            out.append(_FIXED[kind])
        elif token.tag in _PAIRED and token.nesting:
            out.append("" if token.hidden else _tag(token))
        else:
            text = escape(token.content)
            out.append(f"<code>{text}</code>" if kind == "code_inline" else text)

    def _write_formula(self, latex: str, *, is_alone: bool) -> None:
        self._formulas += 1
        drawn = draw_formula(latex, is_block=is_alone) if self._formulas <= MAX_FORMULAS else None
        shown = drawn if drawn is not None else f"<code>{escape(latex.strip())}</code>"
        self._out.append(f'<span class="{"formula alone" if is_alone else "formula"}">{shown}</span>')

    def _open_link(self, token: Token) -> str:
        address = str(token.attrGet("href") or "")
        self._links.append(is_safe_link(address))
        return _OPEN_LINK.format(escape(address, quote=True)) if self._links[-1] else ""

    def _write_picture(self, token: Token) -> str:
        """The name of a picture; a link to it, which says where it leads, unless that stands in a link already."""
        address, name = str(token.attrGet("src") or ""), escape(token.content) or "picture"
        if any(self._links) or not is_safe_link(address) or address.startswith("mailto:"):
            return f"[{name}]"
        host = escape(urlsplit(address).netloc.rpartition("@")[2])
        return f'{_OPEN_LINK.format(escape(address, quote=True))}[{name} <span class="host">{host}</span>]</a>'


_FIXED = {
    "softbreak": "<br>\n",
    "hardbreak": "<br>\n",
    "hr": "<hr>\n",
    "table_open": _OPEN_TABLE,
    "table_close": "</table></div>\n",
    "spoiler_open": _OPEN_SPOILER,
    "spoiler_close": "</span></label>",
}
"""What stands for tokens that are always written the same."""


def _write_text(text: str, marks: Sequence[SpeechMark]) -> str:
    out, at = [], 0
    for mark in marks:
        out += [escape(text[at : mark.offset]), "<q>" if mark.begins else "</q>"]
        at = mark.offset
    return "".join([*out, escape(text[at:])])


def _fence_word(token: Token) -> str:
    return token.info.strip().split(maxsplit=1)[0] if token.info.strip() else ""


def _write_code(code: str, info: str) -> str:
    """Code under the name of its language, with a button for a script that copies it."""
    word = info.strip().split(maxsplit=1)[0] if info.strip() else ""
    name = name_language(info) or (word if _LANGUAGE.fullmatch(word) else "")
    pieces = "".join(
        f'<span class="code-{piece.kind}">{escape(piece.text)}</span>' if piece.kind else escape(piece.text)
        for piece in colour_code(code, info)
    )
    head = f'<span class="language">{escape(name)}</span><button type="button" class="copy">Copy</button>'
    return f'<div class="code"><div class="code-head">{head}</div><pre tabindex="0"><code>{pieces}</code></pre></div>\n'


def _tag(token: Token) -> str:
    if token.nesting < 0:
        return f"</{token.tag}>" + ("\n" if token.block else "")
    if token.tag == "ol" and (start := token.attrGet("start")) is not None:
        return f'<ol start="{int(start)}">'
    if token.tag in ("th", "td") and (side := _ALIGNED.get(str(token.attrGet("style")))):
        return f'<{token.tag} class="{side}">'
    if "is_done" in token.meta:
        words = '"Done" checked' if token.meta["is_done"] else '"To do"'
        return f'<li class="task"><input type="checkbox" disabled aria-label={words}>'
    return f"<{token.tag}>"


def is_safe_link(address: str) -> bool:
    """Whether a link may be followed: to the web or to somebody's mail, and nothing that runs."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return False
    return parts.scheme in LINK_SCHEMES and address.isprintable() and bool(parts.netloc or parts.scheme == "mailto")


@cache
def _parser() -> Callable[[str], list[Token]]:
    """CommonMark with tables, strike-through and rules of ours, HTML as text, a line's end as a break; made once."""
    from markdown_it import MarkdownIt

    options = {"html": False, "linkify": False, "typographer": False, "breaks": True, "maxNesting": MAX_NESTING}
    markdown = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    add_rules(markdown)
    markdown.parse("#")  # compiles the rules before a second thread can see them half made
    return markdown.parse
