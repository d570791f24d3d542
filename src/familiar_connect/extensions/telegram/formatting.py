"""to_entities: a reply with marks of Markdown as plain text and Telegram's entities, which cannot be malformed.

A parse mode would refuse a whole message for one star too many; here a mark without its pair is a sign like any other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARKS = re.compile(
    r"```(?P<language>[\w+-]{0,20})\n(?P<pre>.+?)\n?```"
    r"|`(?P<code>[^`\n]+)`"
    r"|\*\*(?P<bold>(?=\S)[^\n]+?(?<=\S))\*\*(?!\*)"
    r"|\|\|(?P<spoiler>(?=\S)[^\n]+?(?<=\S))\|\|"
    r"|~~(?P<strikethrough>(?=\S)[^\n]+?(?<=\S))~~"
    r"|(?<![\w*])\*(?P<italic>(?=[^\s*])[^\n*]+?(?<=\S))\*(?![\w*])"
    r"|(?<!\w)_(?P<slanted>(?=[^\s_])[^\n_]+?(?<=\S))_(?!\w)",
    re.DOTALL,
)
_KINDS = ("pre", "code", "bold", "spoiler", "strikethrough", "italic", "slanted")
_CLOSED = ("pre", "code")
"""What is in them is shown as it stands."""
MAX_ENTITIES = 100
"""The most that Telegram takes."""


@dataclass(frozen=True)
class MarkedSpan:
    """A stretch of text that is shown otherwise, in units of UTF-16."""

    kind: str
    offset: int
    length: int
    language: str = ""


def to_entities(text: str) -> tuple[str, list[MarkedSpan]]:
    """*text* without its marks, and what they meant."""
    plain, spans = _convert(text, 0)
    return plain, spans[:MAX_ENTITIES]


def _convert(text: str, start: int) -> tuple[str, list[MarkedSpan]]:
    """*start* is how far into the message the text begins."""
    plain, spans, last = "", [], 0
    for found in _MARKS.finditer(text):
        kind = next(name for name in _KINDS if found[name] is not None)
        plain += text[last : found.start()]
        last = found.end()
        offset = start + count_units(plain)
        inner, nested = (found[kind], []) if kind in _CLOSED else _convert(found[kind], offset)
        language = found["language"] if kind == "pre" else ""
        spans.append(MarkedSpan("italic" if kind == "slanted" else kind, offset, count_units(inner), language))
        spans += nested
        plain += inner
    return plain + text[last:], spans


def count_units(text: str) -> int:
    """The length of *text* as Telegram counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
