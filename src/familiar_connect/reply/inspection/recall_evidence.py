"""What shows whether something is known: lines of memory files, what waits for a word, a search made again.

RecallStep and RecallExplanation: how far something came on its way to the model, and the answer in one sentence.

What kept something out of a turn's prompt: a search that was not awake or late, a layer that was full.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from familiar_connect.context.types import ContextItem
from familiar_connect.errors import MemoryStoreError
from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.index.protocols import RecallScope, Recollection
from familiar_connect.memory.index.query import content_words
from familiar_connect.memory.maintenance.review import PendingItem, Review
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import GrepHit
from familiar_connect.support.text import one_line, sentences, truncate_chars

MAX_WORDS = 12
MAX_EVIDENCE = 5
"""Turns and files that are followed."""
QUOTED_CHARS = 160
_SPEAKER = re.compile(r"^[\s>*-]*(?:\[[^\]]{0,40}\]\s*)?(?P<name>[^\s:\[(][^:\n(]{0,60}?)(?: \([^)]{0,40}\))?:\s+")
"""Who says a line, in front of it: after a mark of a list or a time."""
_ASKING = re.compile(
    r"(?:\w+, )?(?:who|whose|whom|what|which|when|where|why|how|(?:do|did|can|could) (?:i|you)|(?:tell|remind) me)\b",
    re.IGNORECASE,
)
"""How a question begins that has no question mark."""
BRIEF_CHARS = 64
"""Of what is quoted in the one sentence that is the answer."""


class Searchable(Protocol):
    """What finds memory again."""

    @property
    def is_warm(self) -> bool: ...

    def recall_now(
        self, utterance: str, *, limit: int = ..., scope: RecallScope | None = None
    ) -> list[Recollection]: ...


@dataclass(frozen=True)
class RecallSearch:
    """A search, and what became of the thing in it."""

    question: str
    hits: tuple[Recollection, ...]
    at: int | None
    """Its place, from 1; None where it was not found."""
    is_near: bool | None
    """Whether it bore on the message; None where that cannot be told."""

    @property
    def hit(self) -> Recollection | None:
        return self.hits[self.at - 1] if self.at is not None else None


def search_words(wanted: str) -> tuple[str, ...]:
    """The words of *wanted* that something must hold to be meant; all of them where none says much."""
    return tuple(dict.fromkeys(content_words(wanted)))[:MAX_WORDS] or tuple(wanted.casefold().split())[:MAX_WORDS]


def holds_words(text: str, words: Sequence[str]) -> bool:
    """Whether each of *words* begins a word of *text*."""
    folded = text.casefold().replace("’", "'")
    return all(re.search(rf"(?<!\w){re.escape(word)}", folded) for word in words)


def find_lines(store: MemoryStore, words: Sequence[str], own_name: str = "") -> list[GrepHit]:
    """A line of each memory file that tells all of *words*: the one that holds most of them."""
    pattern = "|".join(re.escape(word) for word in words)
    by_path: dict[str, list[GrepHit]] = {}
    try:
        for hit in store.grep(pattern):
            if not pick_telling_lines(hit.line_text, own_name):
                continue
            by_path.setdefault(hit.rel_path, []).append(hit)
    except MemoryStoreError:
        return []
    whole = [hits for hits in by_path.values() if holds_words("\n".join(hit.line_text for hit in hits), words)]
    found = [max(hits, key=lambda hit: sum(holds_words(hit.line_text, [word]) for word in words)) for hits in whole]
    return found[:MAX_EVIDENCE]


def find_waiting(store: MemoryStore, words: Sequence[str], turns: Sequence[HistoryTurn]) -> PendingItem | None:
    """What waits for the owner's word: a proposal that holds *words*, or a batch with one of *turns* put aside."""
    try:
        waiting = Review(store).list()
    except MemoryStoreError:
        return None
    for each in waiting:
        first, last = each.turn_range
        if each.plan is not None and any(holds_words(write.content, words) for write in each.plan.writes):
            return each
        if each.kind == "quarantine" and any(first <= turn.id <= last for turn in turns):
            return each
    return None


def line_about(text: str, words: Sequence[str]) -> str:
    """The line of *text* that holds most of *words*."""
    return max(text.splitlines() or [text], key=lambda line: holds_how_many(line, words))


def only_asks(text: str) -> bool:
    """Whether a turn only asks: a question does not tell what it asks for, with a question mark or without."""
    return all(map(_is_question, sentences(text) or [text]))


def _is_question(sentence: str) -> bool:
    said = sentence.strip().rstrip("\"'”’)*_ ")
    return said.endswith("?") or (not said.endswith((".", "!")) and _ASKING.match(said) is not None)


def pick_telling_lines(text: str, own_name: str) -> list[str]:
    """The lines of *text* that tell something: no questions, and nothing that *own_name* said itself."""
    found = []
    for line in text.splitlines():
        speaker = _SPEAKER.match(line)
        is_own = speaker is not None and own_name and speaker["name"].strip().casefold() == own_name.casefold()
        words = line[speaker.end() :] if speaker is not None else line
        if words.strip() and not is_own and not only_asks(words):
            found.append(line)
    return found


def find_told_item(items: Iterable[ContextItem], words: Sequence[str], own_name: str) -> ContextItem | None:
    """The first of *items* that tells *words*, in a line or in two that follow each other.

    What is being answered does not count, nor what the familiar said itself: it may have been wrong.
    """
    for item in items:
        if item.fresh or item.role == "assistant":
            continue
        told = pick_telling_lines(item.text, own_name)
        if any(holds_words("\n".join(told[at : at + 2]), words) for at in range(len(told))):
            return item
    return None


def quote_turn(turn: HistoryTurn, around: Sequence[str] = ()) -> str:
    """When *turn* was said, by whom, and the part of it that tells the words *around* which it is cut."""
    who = turn.author.label if turn.author is not None else "the familiar"
    return f"{turn.timestamp:%Y-%m-%d} {who} (turn {turn.id}): {quote(turn.actual_words, around=around)}"


def quote(text: str, most: int = QUOTED_CHARS, around: Sequence[str] = ()) -> str:
    """*text* on one line, in quotation marks; where it is long its beginning, or a part that has the words *around*."""
    words = one_line(text)
    if len(words) <= most:
        return f"“{words}”"
    found = [
        match.start() for word in around if (match := re.search(rf"(?<!\w){re.escape(word)}", words, re.IGNORECASE))
    ]
    starts = [0, *(words.rfind(" ", 0, max(0, at - most // 4)) + 1 for at in sorted(found))]
    start = max(starts, key=lambda each: holds_how_many(words[each : each + most], around))
    cut = truncate_chars(words[start:], most)
    return f"“{'…' if start else ''}{cut}{'…' if start + most < len(words) else ''}”"


def holds_how_many(text: str, words: Sequence[str]) -> int:
    """How many of *words* begin a word of *text*."""
    return sum(holds_words(text, [word]) for word in words)


class StepOutcome(Enum):
    """What became of one step."""

    yes = "yes"
    no = "no"
    skipped = "skipped"
    """It makes no difference here, or an earlier step failed."""


@dataclass(frozen=True, kw_only=True)
class RecallStep:
    """One step, with what shows it."""

    name: str
    outcome: StepOutcome
    evidence: str
    fix: str = ""
    """What to do about it, where it failed."""
    sentence: str = ""
    """The answer in one sentence, where this step gives it."""
    leads_to: str = ""
    """Where it is mended: `review:ID`, `file:PATH`, `setting:KEY`, `new:` a new file, `open:` one to share it."""


@dataclass(frozen=True, kw_only=True)
class RecallExplanation:
    """Every step in order."""

    wanted: str
    steps: tuple[RecallStep, ...]

    @property
    def answer(self) -> RecallStep:
        """The first step that failed, else the last one."""
        return next((step for step in self.steps if step.outcome is StepOutcome.no), self.steps[-1])

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return self.answer.sentence or self.answer.evidence
