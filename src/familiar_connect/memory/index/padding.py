"""Padding among what was found: lines that take room in a prompt and tell a model nothing.

A session file lists where it was and who was there, and quotes turns that are found by themselves. A familiar's own
remark ("I hear you.") is near everything it was said to; it counts only where its own words or its meaning were asked
for, or where it is the question that a hit answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from familiar_connect.memory.index.protocols import Recollection, RetrievedChunk
from familiar_connect.memory.index.relevance import CLEAR_COSINE, MEANING_WEIGHT

SESSIONS_FOLDER = "sessions/"
SESSION_LISTS = ("> Context", "> Who was there")
"""Headings in session files under which nothing stands that was said."""
_QUOTE_OF_TURN = re.compile(r"^[ \t]*[-*] [^:\n]{1,80} said: .*$", re.MULTILINE)
_BARE_ITEM = re.compile(r"^[ \t]*[-*] (?:\[[^\]\n]*\]\([^)\n]*\)|[^\s:]+)[ \t]*$", re.MULTILINE)

Hit = Recollection | RetrievedChunk


def without_padding(hits: Iterable[Hit], *, own_name: str) -> list[Hit]:
    """*hits* that tell something, in their order, each without the familiar's own remarks beside it."""
    found: list[Hit] = []
    for hit in hits:
        if not isinstance(hit, Recollection):
            found.append(hit)
        elif hit.source == "file":
            if (rest := _without_session_lists(hit)) is not None:
                found.append(rest)
        elif hit.speaker != own_name or _is_asked_for_itself(hit):
            found.append(_without_own_remarks(hit, own_name))
    return found


def without_neighbours(hit: Hit) -> Hit:
    """*hit* alone."""
    return replace(hit, before=(), after=()) if isinstance(hit, Recollection) else hit


def _without_session_lists(hit: Recollection) -> Recollection | None:
    """*hit* without a session file's lists; None where nothing else is in it."""
    if not (hit.rel_path or "").startswith(SESSIONS_FOLDER):
        return hit
    if hit.heading_path.endswith(SESSION_LISTS):
        return None
    text = _BARE_ITEM.sub("", _QUOTE_OF_TURN.sub("", hit.text)).strip()
    if not text or text == hit.text.strip():
        return hit if text else None
    return replace(hit, text=text)


def _is_asked_for_itself(hit: Recollection) -> bool:
    signals = hit.explained.signals
    return signals.get("words", 0.0) > 0 or signals.get("meaning", 0.0) / MEANING_WEIGHT >= CLEAR_COSINE


def _without_own_remarks(hit: Recollection, own_name: str) -> Recollection:
    before = tuple(each for each in hit.before if each.speaker != own_name or "?" in each.text)
    after = tuple(each for each in hit.after if each.speaker != own_name)
    return replace(hit, before=before, after=after)
