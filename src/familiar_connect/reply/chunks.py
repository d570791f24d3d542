"""A reply as sendable pieces: at paragraphs, sentences, words; hard only where nothing else fits."""

from __future__ import annotations

import re

from familiar_connect.support.text import grapheme_boundary

DEFAULT_HARD_CAP = 1900
_PARAGRAPHS = re.compile(r"\n\s*\n")
_AFTER_SENTENCE = re.compile(r"(?<=[.!?…])\s+")


def split_reply_into_chunks(text: str, *, sentence_split_threshold: int, hard_cap: int = DEFAULT_HARD_CAP) -> list[str]:
    """Paragraphs; a long one by sentences; no piece longer than *hard_cap*."""
    pieces: list[str] = []
    for paragraph in _PARAGRAPHS.split(text):
        stripped = paragraph.strip()
        if not stripped:
            continue
        parts = _AFTER_SENTENCE.split(stripped) if len(stripped) > sentence_split_threshold else [stripped]
        for part in parts:
            pieces += _capped(part.strip(), hard_cap)
    return [piece for piece in pieces if piece]


def pack_reply(text: str, *, limit: int) -> list[str]:
    """The fewest pieces within *limit*: a text that fits stays as it is, else its paragraphs are packed together."""
    if len(text.strip()) <= limit:
        return [text.strip()] if text.strip() else []
    packed: list[str] = []
    for piece in split_reply_into_chunks(text, sentence_split_threshold=limit, hard_cap=limit):
        if packed and len(packed[-1]) + 2 + len(piece) <= limit:
            packed[-1] = f"{packed[-1]}\n\n{piece}"
        else:
            packed.append(piece)
    return packed


def _capped(piece: str, cap: int) -> list[str]:
    cap = max(1, cap)
    parts: list[str] = []
    while len(piece) > cap:
        at = piece.rfind(" ", 0, cap + 1)
        if at <= 0:
            at = grapheme_boundary(piece, cap)
        parts.append(piece[:at].rstrip())
        piece = piece[at:].lstrip()
    return [*parts, piece]
