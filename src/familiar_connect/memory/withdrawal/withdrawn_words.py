"""Withdrawn words: those that only turns said that were taken back, and by which a copy of them is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from familiar_connect.history.withdrawal.withdrawals import Withdrawals, WithdrawnTurn
from familiar_connect.memory.writing.attribution import telling_words
from familiar_connect.support.text import one_line

MIN_PHRASE_CHARS = 12
"""A shorter text says too little to be known again by all of its words."""
MAX_PHRASE_CHARS = 400
"""Of a longer text the beginning is looked for."""


@dataclass(frozen=True, kw_only=True)
class WithdrawnWords:
    """What tells that something was made of turns that were taken back."""

    words: frozenset[str] = frozenset()
    """Stems, as `telling_words` makes them, of words that nobody says any more."""
    phrases: frozenset[str] = frozenset()
    """Beginnings of what was said, folded."""

    def __bool__(self) -> bool:
        return bool(self.words or self.phrases)

    def with_phrases(self, other: WithdrawnWords) -> WithdrawnWords:
        """These, and whole texts of *other*, whose single words may stand elsewhere."""
        return replace(self, phrases=self.phrases | other.phrases)

    def is_in(self, text: str) -> bool:
        """Whether *text* repeats any of it."""
        if not self or self._pattern.search(text.casefold()) is None:
            return False
        folded = fold(text)
        return any(phrase in folded for phrase in self.phrases) or not self.words.isdisjoint(telling_words(text))

    def is_in_any(self, plain: object) -> bool:
        """Whether plain data (lists, objects, scalars) has a text that repeats any of it."""
        if isinstance(plain, str):
            return self.is_in(plain)
        if isinstance(plain, dict):
            return any(self.is_in_any(each) for pair in plain.items() for each in pair)
        return isinstance(plain, list | tuple) and any(self.is_in_any(each) for each in plain)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Something that stands in every text that repeats any of it, and in few others; quick to look for."""
        begun = {phrase.partition(" ")[0] for phrase in self.phrases}
        return re.compile("|".join(map(re.escape, sorted(self.words | begun))))


def fold(text: str) -> str:
    return one_line(text).casefold()


def find_words(
    turns: Sequence[WithdrawnTurn], withdrawals: Withdrawals, authored: Callable[[], Iterable[str]] = tuple
) -> WithdrawnWords:
    """What only *turns* said before they were changed. What stands in *authored* texts is nobody's to take back."""
    texts = [text for turn in turns for text in turn.texts]
    words = {word for text in texts for word in telling_words(text)}
    words -= {word for turn in turns for word in telling_words(turn.stands)}
    standing = {fold(turn.stands) for turn in turns if turn.stands}
    phrases = {fold(text)[:MAX_PHRASE_CHARS] for text in texts}
    phrases = {each for each in phrases if len(each) >= MIN_PHRASE_CHARS and not any(each in said for said in standing)}
    asked = {*words, *(word for each in phrases for word in telling_words(each))}
    if not asked:
        return WithdrawnWords()
    first = min(turn.id for turn in turns)
    gone = frozenset(turn.id for turn in turns if not turn.stands)
    for text in withdrawals.standing_texts(sorted(asked), before_id=first, but=gone):
        words, phrases = _without(text, words, phrases)
    for text in authored() if words or phrases else ():
        words, phrases = _without(text, words, phrases)
    return WithdrawnWords(words=frozenset(words), phrases=frozenset(phrases))


def _without(text: str, words: set[str], phrases: set[str]) -> tuple[set[str], set[str]]:
    """What is left of *words* and *phrases* that *text* does not say."""
    folded = fold(text)
    left = {phrase for phrase in phrases if phrase not in folded}
    return (words - set(telling_words(text)) if words else words), left
