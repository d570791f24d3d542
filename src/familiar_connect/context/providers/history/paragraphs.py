"""A rolling summary as dated paragraphs: new ones are appended, so that the prompt's start stays the same.

Every bound is kept here, whatever a model returns: the length of a paragraph, of the whole, and of what is sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import tzinfo

from familiar_connect.history.types import HistoryTurn
from familiar_connect.support.text import truncate_chars

MAX_PARAGRAPH_CHARS = 600
MAX_SUMMARY_CHARS = 2_400
"""Longer than this, the older half is condensed."""
MAX_CONDENSED_CHARS = 700
RECENT_CHARS = 900
"""What is left as it is when older paragraphs are condensed; with them there is room for two more before the next
time, for each time costs a call."""
BLANK_LINE = "\n\n"

_DATED = re.compile(r"(\d{4}-\d\d-\d\d)(?: to (\d{4}-\d\d-\d\d))?: ?")


def build_paragraph(text: str, turns: Sequence[HistoryTurn], zone: tzinfo) -> str:
    """*text* on *turns* as one paragraph that begins with their day or days; empty where there is nothing to say."""
    words = re.sub(r"\s*\n\s*", "\n", text.strip())
    if not words or not turns:
        return ""
    first, last = (f"{turn.timestamp.astimezone(zone):%Y-%m-%d}" for turn in (turns[0], turns[-1]))
    return f"{_days(first, last)}: {truncate_chars(_DATED.sub('', words, count=1), MAX_PARAGRAPH_CHARS)}"


def append_paragraph(summary: str, paragraph: str) -> str:
    return BLANK_LINE.join(part for part in (summary.rstrip(), paragraph) if part)


def split_for_condensing(summary: str) -> tuple[list[str], list[str]]:
    """The older paragraphs, to be made one, and the newest, which stay; no older ones where all of it is short."""
    paragraphs = [part for part in summary.split(BLANK_LINE) if part.strip()]
    if len(summary) <= MAX_SUMMARY_CHARS:
        return [], paragraphs
    kept, room = len(paragraphs), RECENT_CHARS
    while kept > 1 and (room := room - len(paragraphs[kept - 1])) >= 0:
        kept -= 1
    return paragraphs[:kept], paragraphs[kept:]


def join_condensed(condensed: str, older: Sequence[str], recent: Sequence[str]) -> str:
    """*condensed*, dated as the *older* paragraphs it stands for, and the *recent* ones."""
    dates = [found for part in older if (found := _DATED.match(part))]
    words = truncate_chars(_DATED.sub("", " ".join(condensed.split()), count=1), MAX_CONDENSED_CHARS)
    if words and dates:
        words = f"{_days(dates[0][1], dates[-1][2] or dates[-1][1])}: {words}"
    return sendable(BLANK_LINE.join(part for part in (words, *recent) if part))


def sendable(summary: str) -> str:
    """*summary* within its bound: the newest paragraphs that fit."""
    paragraphs = summary.split(BLANK_LINE)
    while len(paragraphs) > 1 and len(BLANK_LINE.join(paragraphs)) > MAX_SUMMARY_CHARS:
        paragraphs.pop(0)
    return truncate_chars(BLANK_LINE.join(paragraphs), MAX_SUMMARY_CHARS)


def _days(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"
