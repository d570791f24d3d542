"""Markdown cut up for searching: chunks as large as a topic, and passages as small as a sentence.

Chunks follow the H2 sections of a file, so that what is embedded together belongs together. Passages are the lines,
list items and sentences inside; they are what is looked for by words and shown with its neighbours. Headings inside
fenced code are code. Nothing here touches a disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from familiar_connect.support.markdown import read_headings
from familiar_connect.support.text import grapheme_boundary
from familiar_connect.support.tokens import CHARS_PER_TOKEN, estimate_tokens

SMALL_FILE_WORD_THRESHOLD = 300
HARD_CHUNK_TOKEN_CAP = 1200
WINDOW_TOKENS = 800
WINDOW_OVERLAP_TOKENS = 200
MAX_HEADING_CHARS = 160
"""A heading is a name; one that goes on is cut, so that no chunk is mostly heading."""
PASSAGE_CHARS = 320
"""About two sentences; a longer line is cut at sentence ends."""
_SENTENCE_END = re.compile(r"""(?<=[.!?…])["'”’)\]*_]*\s+|(?<=[。！？])""")
_MARKS_ONLY = re.compile(r"[\W_]*")


@dataclass(frozen=True)
class PreparedChunk:
    """One chunk of a file, ready to be embedded; its text opens with its heading where the file has several."""

    rel_path: str
    heading_path: str
    text: str
    char_start: int
    char_end: int
    token_count: int
    mtime: float


@dataclass(frozen=True)
class Passage:
    """A line or a sentence or two of a file, under the headings it stands under."""

    heading_path: str
    text: str
    char_start: int
    char_end: int


class _PlacedHeading(NamedTuple):
    """A heading and the character its line begins at."""

    start: int
    level: int
    name: str


def chunk_markdown(text: str, *, rel_path: str, mtime: float) -> list[PreparedChunk]:
    """*text* as chunks: whole when short, else one for each H2 section, the long ones in overlapping windows."""
    if not text.strip():
        return []
    headings = _headings(text)
    title = next((name for _, level, name in headings if level == 1), "")
    if len(text.split()) < SMALL_FILE_WORD_THRESHOLD and estimate_tokens(text) <= HARD_CHUNK_TOKEN_CAP:
        return [PreparedChunk(rel_path, title, text, 0, len(text), estimate_tokens(text), mtime)]
    found: list[PreparedChunk] = []
    for heading, start, end in _sections(text, headings, title):
        for first, last in _spans(text, heading, start, end):
            body = text[first:last].strip("\n")
            whole = f"{heading}\n\n{body}" if heading else body
            found.append(PreparedChunk(rel_path, heading, whole, first, last, estimate_tokens(whole), mtime))
    return found


def split_passages(text: str) -> list[Passage]:
    """*text* as passages in order; headings belong to what stands under them and are none themselves."""
    found: list[Passage] = []
    path: dict[int, str] = {}
    headings = {start: (level, name) for start, level, name in _headings(text)}
    start = 0
    for line in text.splitlines(keepends=True):
        if start in headings:
            level, name = headings[start]
            path = {depth: above for depth, above in path.items() if depth < level} | {level: name}
        else:
            above = " > ".join(name for name in path.values() if name)
            found += (Passage(above, text[first:last], first, last) for first, last in _pieces(text, start, line))
        start += len(line)
    return found


def split_long(text: str, limit: int) -> list[str]:
    """*text* whole, or where it is longer than *limit* in pieces cut at sentence ends."""
    pieces: list[str] = []
    first = 0
    while len(text) - first > limit:
        last = _good_end(text, first, first + limit)
        pieces.append(text[first:last])
        first = last
    return [piece for piece in (*pieces, text[first:]) if piece.strip()]


def split_sentences(text: str) -> list[str]:
    """The sentences of *text*, and its lines."""
    return [piece.strip() for line in text.splitlines() for piece in _SENTENCE_END.split(line) if piece.strip()]


def _headings(text: str) -> list[_PlacedHeading]:
    """The headings of *text* and where their lines begin."""
    found = read_headings(text.splitlines())
    starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))] if found else []
    return [_PlacedHeading(starts[each.line], each.level, each.text[:MAX_HEADING_CHARS]) for each in found]


def _sections(text: str, headings: list[_PlacedHeading], title: str) -> Iterator[tuple[str, int, int]]:
    """Heading path, start and end of each section of a longer file."""
    starts = [(start, name) for start, level, name in headings if level == 2]
    if not starts:
        yield title, 0, len(text)
        return
    if _has_preamble(text[: starts[0][0]], headings):
        yield title, 0, starts[0][0]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    for (start, name), end in zip(starts, ends, strict=True):
        yield f"{title} > {name}" if title and name else name or title, start, end


def _has_preamble(text: str, headings: list[_PlacedHeading]) -> bool:
    """Whether anything but titles stands in *text*, the beginning of a file."""
    titles = {each.start for each in headings if each.level == 1}
    lines = text.splitlines(keepends=True)
    starts = accumulate(map(len, lines), initial=0)
    return any(line.strip() and start not in titles for start, line in zip(starts, lines, strict=False))


def _spans(text: str, heading: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The section itself, or windows over it that overlap."""
    whole = text[start:end]
    tokens = estimate_tokens(whole)
    if tokens <= HARD_CHUNK_TOKEN_CAP - estimate_tokens(heading) - 1:
        yield start, end
        return
    # A script without spaces has more tokens to the character; windows of characters follow the whole section's.
    chars_per_token = min(CHARS_PER_TOKEN, len(whole) / tokens)
    size, step_back = int(WINDOW_TOKENS * chars_per_token), int(WINDOW_OVERLAP_TOKENS * chars_per_token)
    while True:
        last = end if start + size >= end else _cut(text, start + size // 2, start + size)
        yield start, last
        if last >= end:
            return
        start = _cut(text, last - step_back * 3 // 2, last - step_back)


def _good_end(text: str, first: int, limit: int) -> int:
    """Where a piece that began at *first* ends best: after its last sentence, else at a line or a space."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text, first, limit) if match.end() > first + 40]
    return ends[-1] if ends else _cut(text, (first + limit) // 2, limit)


def _cut(text: str, low: int, high: int) -> int:
    """The best place to cut between *low* and *high*: after a line, else a space, else between graphemes."""
    for mark in ("\n", " "):
        found = text.rfind(mark, low, high)
        if found > low:
            return found + 1
    return grapheme_boundary(text, high)


def _pieces(text: str, start: int, line: str) -> Iterator[tuple[int, int]]:
    """One line as one passage, or as several where it is long; lines of marks alone are none."""
    if _MARKS_ONLY.fullmatch(line):
        return
    first = start + len(line) - len(line.lstrip())
    end = start + len(line.rstrip())
    while end - first > PASSAGE_CHARS:
        last = _good_end(text, first, first + PASSAGE_CHARS)
        yield first, last
        first = last
    if not _MARKS_ONLY.fullmatch(text, first, end):
        yield first, end
