"""to_casual_text: English words as people type them in a hurry; the same words always come out the same."""

from __future__ import annotations

import re

_KEPT = re.compile(r"(`[^`\n]*`|https?://\S+|\{\{?[^{}\n]*\}?\}|<[^<>\n]*>)")
"""Code, addresses, macros and tags stay as they are."""
_SHORT_FORMS = (
    (r"\b(do|does|did|is|are|was|were|has|have|had|would|could|should) not\b", r"\1n't"),
    (r"\bcan ?not\b", "can't"),
    (r"\bwill not\b", "won't"),
    (r"\bI am\b", "I'm"),
    (r"\b(you|we|they) are\b", r"\1're"),
    (r"\b(it|that|there|he|she|what) is\b", r"\1's"),
    (r"\b(I|you|we|they) will\b", r"\1'll"),
    (r"\b(I|you|we|they) have\b", r"\1've"),
    (r"\blet us\b", "let's"),
    (r"\bgoing to\b", "gonna"),
    (r"\bwant to\b", "wanna"),
)
_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), short) for pattern, short in _SHORT_FORMS)
_OWN = re.compile(r"\bI\b")
_FIRST = re.compile(r"^[A-ZÀ-ÖØ-Þ](?![A-ZÀ-ÖØ-Þ])")
_BEGINNING = re.compile(r"(?:(?<=[.!?…] )|(?<=\n))[A-ZÀ-ÖØ-Þ](?![A-ZÀ-ÖØ-Þ])")
_FULL_STOP = re.compile(r"(?<![.])[.](?=[ \t]*(?:\n|$))")


def to_casual_text(text: str) -> str:
    """*text* with short forms, small letters at the beginning of sentences and no full stop at the end of a line."""
    parts = _KEPT.split(text)  # every second one is kept
    return "".join(part if number % 2 else _shorten(part, number == 0) for number, part in enumerate(parts))


def _shorten(part: str, is_first: bool) -> str:
    for pattern, short in _PATTERNS:
        part = pattern.sub(short, part)
    head, rest = ("", part) if is_first else (part[:1], part[1:])  # a part in the middle begins no sentence
    if head in ("", "\n"):
        rest = _FIRST.sub(lambda found: found[0].lower(), rest)
    rest = _BEGINNING.sub(lambda found: found[0].lower(), rest)
    return _FULL_STOP.sub("", _OWN.sub("i", head + rest))
