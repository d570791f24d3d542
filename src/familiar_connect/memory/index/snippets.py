"""Snippets: what was found again, formatted as it is shown to a model, within a budget.

What gives most for the room it takes comes in first; things from one conversation or one file stand together in their
order, under one line that says when or where. The few best stand last, next to the message, and of those what the asker
said of themselves: a small model answers with what it read last. Short lines right before and after the best come along
with them, because an answer is often typed in pieces and needs its question; longer ones where room is left. Nothing is
shown twice, though it was both said and written down.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Protocol, TypeVar

from familiar_connect.memory.index.protocols import ExplainedScore, Recollection, RetrievedChunk, Source
from familiar_connect.memory.index.query import MAX_LABEL_CHARS, MAX_TAKEN_APART, every_word, plain_words
from familiar_connect.support.text import truncate_chars
from familiar_connect.support.tokens import CHARS_PER_TOKEN

ROOM_WEIGHT = 0.8
"""What a piece e times as long must have more in score to be shown before another."""
SHORT_LINE = 16
"""Characters that showing a piece takes besides its text."""
SHINGLE = 6
"""Words in a row that two texts must share, at both ends, to count as the same."""
MOST_NEAREST = 3
"""Hits that stand next to the message, apart from the others."""
NEAREST_SHARE = 0.75
"""Of the best hit's score; what has less stands with the others."""
GAP = "…"
MIN_ROOM_CHARS = 120
SHORT_NEIGHBOUR = 60
"""Characters. People type an answer in pieces: so short a line right beside one of the best hits is shown with it."""
TOKENS_PER_BEST = 100
"""Of the room there is, for each hit that counts as one of the best there."""
HISTORY_PATH = "history"
"""Stands where a file's path would, for something that was said."""


class Hit(Protocol):
    """Something found, as far as telling repeats goes."""

    @property
    def source(self) -> Source: ...
    @property
    def text(self) -> str: ...


H = TypeVar("H", bound=Hit)


@dataclass
class _Group:
    """Lines of one conversation or file, by place."""

    header: str
    nearness: int
    when: datetime | None = None
    lines: dict[int, str] = field(default_factory=dict)

    def text(self) -> str:
        shown: list[str] = [self.header]
        last: int | None = None
        for place in sorted(self.lines):
            if last is not None and place > last + 1:
                shown.append(GAP)
            shown.append(self.lines[place])
            last = place
        return "\n".join(shown)


class _Layout:
    """Groups of lines within *room* characters."""

    def __init__(self, room: int, nearness: dict[str, int]) -> None:
        """*nearness* tells by a hit's key how near to the message it stands; 0 where it says nothing."""
        self._room = room
        self._nearness = nearness
        self._groups: dict[tuple[str, int], _Group] = {}
        self._places: set[tuple[str, int]] = set()

    def add_hit(self, hit: Recollection) -> bool:
        """Show *hit* if there is room; the first one shortened where it must be."""
        line = _line(hit.speaker, hit.text)
        if self._cost(hit, hit.place[1], line) > self._room and not self._groups and self._room >= MIN_ROOM_CHARS:
            line = truncate_chars(line, self._room - len(_header(hit)) - 3)
        return self._add(hit, hit.place[1], line)

    def add_neighbours(self, hit: Recollection, *, longest: int | None = None) -> None:
        """Show what stands beside *hit*, as far as there is room; only lines of at most *longest* characters."""
        for neighbour in (*hit.before, *hit.after):
            if longest is None or len(neighbour.text) <= longest:
                self._add(hit, neighbour.place, _line(neighbour.speaker, neighbour.text))

    def text(self) -> str:
        return "\n\n".join(group.text() for group in sorted(self._groups.values(), key=_position_of))

    def _add(self, hit: Recollection, place: int, line: str) -> bool:
        cost = self._cost(hit, place, line)
        if cost > self._room:
            return False
        if (hit.place[0], place) not in self._places:
            key = self._key(hit)
            group = self._groups.setdefault(key, _Group(_header(hit), key[1], hit.when))
            group.lines[place] = line
            self._places.add((hit.place[0], place))
            self._room -= cost
        return True

    def _cost(self, hit: Recollection, place: int, line: str) -> int:
        """Characters that showing *line* takes: itself, its line end, a gap, and the header of a new group."""
        if (hit.place[0], place) in self._places:
            return 0
        head = len(GAP) + 1 if self._key(hit) in self._groups else len(_header(hit)) + 2
        return len(line) + 1 + head

    def _key(self, hit: Recollection) -> tuple[str, int]:
        return hit.place[0], self._nearness.get(hit.key, 0)


def format_snippets(
    hits: Sequence[Recollection | RetrievedChunk], max_tokens: int, *, asker: frozenset[str] = frozenset()
) -> str:
    """*hits*, best first, as one text of at most *max_tokens*, at four characters each; who sends it counts again.

    *asker* are the names, in lower case, of whoever asks about themselves.
    """
    found = [_as_recollection(hit) for hit in hits]
    layout = _Layout(max_tokens * CHARS_PER_TOKEN, _nearness(found, asker))
    best = {hit.key for hit in found[: max_tokens // TOKENS_PER_BEST]}
    shown = []
    for hit in _in_order_of_worth(found):
        if layout.add_hit(hit):
            shown.append(hit)
            if hit.key in best:
                layout.add_neighbours(hit, longest=SHORT_NEIGHBOUR)
    for hit in shown:
        layout.add_neighbours(hit)
    return layout.text()


def _position_of(group: _Group) -> tuple[int, float]:
    """The nearest last; of equals the oldest first, without a date before all: what was told later corrects it."""
    return group.nearness, group.when.timestamp() if group.when is not None else float("-inf")


def _nearness(hits: Sequence[Recollection], asker: frozenset[str]) -> dict[str, int]:
    """By key, for the best of *hits*: 1, or 2 for what the *asker* said."""
    if not hits or not all(hit.explained.signals for hit in hits):
        return {}
    least = max(hit.score for hit in hits) * NEAREST_SHARE
    best = sorted(hits, key=lambda hit: -hit.score)[:MOST_NEAREST]
    return {hit.key: 1 + ((hit.speaker or "").lower() in asker) for hit in best if hit.score >= least}


def _in_order_of_worth(hits: list[Recollection]) -> list[Recollection]:
    """*hits* by what they give for the room they take; as they stand where a score says nothing of its signals."""
    if not all(hit.explained.signals for hit in hits):
        return hits
    return sorted(hits, key=lambda hit: -(hit.score - ROOM_WEIGHT * math.log(SHORT_LINE + len(hit.text))))


def without_repeats(hits: Sequence[H], limit: int | None = None, *, also_said: Iterable[str] = ()) -> list[H]:
    """The first *limit* of *hits*, each thing once: said and also written down word for word, it counts as said.

    *also_said* are texts that were said and are no hits; a file that repeats them is none either.
    """
    seen = _SeenWords()
    for text in (*(hit.text for hit in hits if hit.source == "turn"), *also_said):
        for words in _readings(text):
            seen.add(words)
    found: list[H] = []
    for hit in hits:
        if limit is not None and len(found) == limit:
            break
        if hit.source == "file":
            words = _readings(hit.text)[0]
            if not words.strip() or words in seen:
                continue
            seen.add(words)
        found.append(hit)
    return found


@lru_cache(maxsize=MAX_TAKEN_APART)
def _readings(text: str) -> tuple[str, ...]:
    """The words of *text* with spaces between and around them: without its label, and with what only looks like one."""
    plain = f" {' '.join(plain_words(text))} "
    if ":" not in text[:MAX_LABEL_CHARS]:
        return (plain,)
    return plain, f" {' '.join(every_word(text))} "  # "plan: at nine" has no label though it looks like one


class _SeenWords:
    """Texts as words, with spaces between and around them; one is seen that has a shingle at both ends in common.

    They are kept as one text that a shingle is looked for in: far cheaper than every shingle of all of them.
    """

    def __init__(self) -> None:
        self._whole: set[str] = set()
        self._long: list[str] = []
        self._joined = ""

    def add(self, words: str) -> None:
        self._whole.add(words)
        if words.count(" ") > SHINGLE:
            self._long.append(words)

    def __contains__(self, words: str) -> bool:
        if words in self._whole:
            return True
        if words.count(" ") <= SHINGLE:
            return False
        first, last = words.split(" ", SHINGLE + 1), words.rsplit(" ", SHINGLE + 1)
        return self._holds(" ".join(first[:-1])) and self._holds(" ".join(last[1:]))

    def _holds(self, shingle: str) -> bool:
        """Whether the words of *shingle*, whose outer space is on one side only, stand in a row somewhere."""
        if self._long:
            self._joined = "\n".join([self._joined, *self._long])
            self._long = []
        return f" {shingle.strip()} " in self._joined


def _as_recollection(hit: Recollection | RetrievedChunk) -> Recollection:
    if isinstance(hit, Recollection):
        return hit
    key = f"{hit.rel_path} {hit.heading_path} {hit.text[:80]}"
    return Recollection(
        source="file",
        key=key,
        text=hit.text,
        explained=ExplainedScore(hit.score, {}),
        rel_path=hit.rel_path,
        heading_path=hit.heading_path,
        place=(key, 0),
        audiences=hit.audiences,
    )


def _header(hit: Recollection) -> str:
    if hit.source == "turn":
        return f"[{_moment(hit.when)}]" if hit.when else "[earlier]"
    where = hit.rel_path or ""
    return f"[{where}: {hit.heading_path}]" if hit.heading_path else f"[{where}]"


def _moment(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M}"


def _line(speaker: str | None, text: str) -> str:
    return f"{speaker}: {text.strip()}" if speaker else text.strip()


def as_chunk(hit: Recollection) -> RetrievedChunk:
    """A recollection with its neighbours as one piece of text."""
    lines = [
        *(_line(neighbour.speaker, neighbour.text) for neighbour in hit.before),
        _line(hit.speaker, hit.text),
        *(_line(neighbour.speaker, neighbour.text) for neighbour in hit.after),
    ]
    if hit.source == "file":
        path, heading = hit.rel_path or "", hit.heading_path
    else:
        path, heading = HISTORY_PATH, f"{hit.when:%Y-%m-%d %H:%M}" if hit.when else ""
    return RetrievedChunk(path, heading, "\n".join(lines), hit.score, audiences=hit.audiences)
