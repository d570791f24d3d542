"""Splits a reply into pieces a platform accepts: at paragraphs, sentences, words, else anywhere.

Lengths are counted in characters, as the chat platforms count them. A piece never ends inside what people see
as one letter, and a block of code that must be parted is closed in one piece and opened again in the next.
"""

from __future__ import annotations

import re

from familiar_connect.support.text import grapheme_boundary

DEFAULT_HARD_CAP = 1900
FENCE = "```"
LEAST_CODE = 8
"""Characters of code that must fit between two fences; with a smaller cap, code is cut like words."""
_PARAGRAPHS = re.compile(r"\n\s*\n")
_AFTER_SENTENCE = re.compile(r"(?<=[.!?…])\s+")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_OPENING = re.compile(r"```(?:[\w+#.-]{0,20}\n)?")


def split_reply_into_chunks(text: str, *, sentence_split_threshold: int, hard_cap: int = DEFAULT_HARD_CAP) -> list[str]:
    """Paragraphs; a long one by sentences; no piece longer than *hard_cap*."""
    return [piece for paragraph in _parted(text, sentence_split_threshold, hard_cap) for piece in paragraph]


def pack_reply(text: str, *, limit: int) -> list[str]:
    """The fewest pieces within *limit*: a text that fits stays as it is, else its paragraphs are packed together."""
    if len(text.strip()) <= limit:
        return [text.strip()] if text.strip() else []
    packed: list[str] = []
    for paragraph in _parted(text, limit, limit):
        for position, piece in enumerate(paragraph):
            gap = _gap(packed[-1], piece) if packed and position else "\n\n"
            if packed and len(packed[-1]) + len(gap) + len(piece) <= limit:
                packed[-1] += gap + piece
            else:
                packed.append(piece)
    return packed


def _gap(before: str, after: str) -> str:
    """What parts two pieces of one paragraph: code stands on lines of its own."""
    return "\n" if before.endswith(FENCE) or after.startswith(FENCE) else " "


def _parted(text: str, threshold: int, cap: int) -> list[list[str]]:
    """The pieces of each paragraph."""
    parted = []
    for paragraph in _split(text, _PARAGRAPHS):
        stripped = paragraph.strip()
        parts = _split(stripped, _AFTER_SENTENCE) if len(stripped) > threshold else [stripped]
        pieces = [piece for part in parts for piece in _capped(part.strip(), max(1, cap)) if piece]
        if pieces:
            parted.append(pieces)
    return parted


def _split(text: str, at: re.Pattern[str]) -> list[str]:
    """*text* parted wherever *at* matches outside of code."""
    code = [span.span() for span in _CODE.finditer(text)]
    parts, start, next_code = [], 0, 0
    for gap in at.finditer(text):
        while next_code < len(code) and code[next_code][1] <= gap.start():
            next_code += 1
        if next_code < len(code) and code[next_code][0] < gap.end():
            continue
        parts.append(text[start : gap.start()])
        start = gap.end()
    return [*parts, text[start:]]


def _capped(piece: str, cap: int) -> list[str]:
    parts: list[str] = []
    while len(piece) > cap:
        head, piece = _cut(piece, cap)
        parts.append(head)
    return [*parts, piece]


def _cut(piece: str, cap: int) -> tuple[str, str]:
    """A beginning of *piece* within *cap*, and the rest."""
    at = piece.rfind(" ", 0, cap + 1)
    if at <= 0:
        at = _before_ticks(piece, grapheme_boundary(piece, cap))
    code = next((span for span in _CODE.finditer(piece) if span.start() < at < span.end()), None)
    if code is None:
        return piece[:at].rstrip(), piece[at:].lstrip()
    if piece[: code.start()].strip():
        return piece[: code.start()].rstrip(), piece[code.start() :]
    if code.end() <= cap:
        return piece[: code.end()], piece[code.end() :].lstrip()
    return _cut_code(piece.lstrip(), cap) or (piece[:at].rstrip(), piece[at:].lstrip())


def _cut_code(piece: str, cap: int) -> tuple[str, str] | None:
    """A block of code in two: after a line where it can, with a fence at both sides of the cut."""
    opening = _OPENING.match(piece)
    assert opening is not None
    ending = f"\n{FENCE}"
    room = cap - len(ending)
    if room - opening.end() < LEAST_CODE:
        return None
    at = piece.rfind("\n", opening.end(), room + 1)
    if at <= opening.end():
        at = piece.rfind(" ", opening.end(), room + 1)
    if at <= opening.end():
        at = _before_ticks(piece, grapheme_boundary(piece, room))
    if at <= opening.end():
        return None
    again = opening.group() if opening.group().endswith("\n") else f"{FENCE}\n"
    return piece[:at] + ending, again + piece[at:].removeprefix("\n")


def _before_ticks(piece: str, at: int) -> int:
    """*at*, or the start of the row of backticks it would tear."""
    start = at
    while 0 < start < len(piece) and piece[start] == "`" == piece[start - 1]:
        start -= 1
    return start or at
