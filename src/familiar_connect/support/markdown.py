"""Headings and code fences of Markdown, by line: the one reader for everything that looks for them.

CommonMark as markdown-it-py reads it, blocks only. A heading begins with `#`; an underlined line is no heading, and
neither is one inside a fence, a list item or a quotation. HTML is text. A line is what `str.splitlines` calls one,
so line numbers fit those of every caller, and the text itself is never rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from familiar_connect.support.text import one_line

if TYPE_CHECKING:
    from markdown_it.token import Token

_RULES = ("code", "fence", "blockquote", "hr", "list", "heading", "paragraph")
_MAYBE = re.compile(r"[ \t>*+\-0-9.)]*(?:#{1,6}(?:[ \t]|\Z)|```|~~~)")
"""Every line that could be a heading or a fence in some item or quotation, and some that are neither."""
_SURELY = re.compile(r"#{1,6}(?:[ \t]|\Z)|`{3,}[^`]*\Z|~~~")
"""A line that ends every paragraph, item and quotation before it; only a fence around it can make it text."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and the number of its line, counted from 0."""

    line: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class MarkdownBlocks:
    """What was found in a text, in order."""

    headings: tuple[Heading, ...]
    fences: tuple[range, ...]
    """The lines of each fenced code block, its fences included; one that is never closed runs to the end."""


def read_blocks(lines: Sequence[str]) -> MarkdownBlocks:
    """Headings and fences of a text, given by its lines without their ends."""
    numbers = _lines_that_matter(lines)
    if not numbers:
        return MarkdownBlocks((), ())
    tokens = _parser()("".join([f"{lines[number]}\n" for number in numbers]))
    headings: list[Heading] = []
    fences: list[range] = []
    for at, token in enumerate(tokens):
        if token.map is None:
            continue
        if token.type == "heading_open" and token.level == 0:
            headings.append(Heading(numbers[token.map[0]], len(token.markup), tokens[at + 1].content))
        elif token.type == "fence":
            fences.append(range(numbers[token.map[0]], numbers[token.map[1] - 1] + 1))
    return MarkdownBlocks(tuple(headings), tuple(fences))


def _lines_that_matter(lines: Sequence[str]) -> list[int]:
    """Numbers of the lines that decide about headings and fences, for the parser's speed; mostly those themselves.

    What stands between two of them is left out where both begin without indentation: whatever it is, it has ended.
    """
    found = [number for number, line in enumerate(lines) if _MAYBE.match(line)]
    if not found:
        return []
    kept: list[int] = []
    after, is_clear = 0, True
    for number in found:
        begins = bool(_SURELY.match(lines[number]))
        kept.extend([number] if is_clear and begins else range(after, number + 1))
        after, is_clear = number + 1, begins
    if after < len(lines):  # the last line stands for all, so that a fence left open reaches it
        kept.extend([len(lines) - 1] if is_clear else range(after, len(lines)))
    return kept


def read_headings(lines: Sequence[str]) -> tuple[Heading, ...]:
    """The headings of a text, given by its lines."""
    return read_blocks(lines).headings


def document_title(text: str) -> str | None:
    """The words of the first H1 that has any."""
    return next((each.text for each in read_headings(text.splitlines()) if each.level == 1 and each.text), None)


def find_section(
    lines: Sequence[str], title: str, *, levels: Collection[int] = (2, 3, 4, 5, 6)
) -> tuple[int, int] | None:
    """From the line of the heading *title*, whatever its letter case, to the next heading of its level or above."""
    wanted = one_line(title).casefold()
    headings = read_headings(lines)
    for at, found in enumerate(headings):
        if found.level in levels and one_line(found.text).casefold() == wanted:
            end = next((other.line for other in headings[at + 1 :] if other.level <= found.level), len(lines))
            return found.line, end
    return None


@cache
def _parser() -> Callable[[str], list[Token]]:
    """The block parser with the rules above; it is made once, and any thread may use it."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("zero").enable(list(_RULES))

    def parse(source: str) -> list[Token]:
        return markdown.block.parse(source, markdown, {}, []) or []

    parse("#")  # compiles the rules before a second thread can see them half made
    return parse
