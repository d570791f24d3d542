"""Clean lines: Markdown without what was made of turns that were taken back.

A part (a bullet, a paragraph) that came from such turns alone goes. One that others stand behind too keeps what they
support: it stays as it is where it has no word that only the withdrawn turns said, else sentence by sentence. Where a
message was reworded, a part that quotes it reads as the message does now. Lines of the owner's are not touched.

Withdrawn words: those that only turns said that were taken back, and by which a copy of them is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from familiar_connect.history.withdrawal.withdrawals import Withdrawals, WithdrawnTurn
from familiar_connect.memory.maintenance.mentions import without_parts
from familiar_connect.memory.versioning.provenance import MarkdownPart, part_hash, parts_of
from familiar_connect.memory.writing.extractive import telling_words
from familiar_connect.memory.writing.plan import PartSource
from familiar_connect.support.markdown import read_headings
from familiar_connect.support.text import one_line, sentences

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


_WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")

IsOurs = Callable[[str, str], bool]
"""Whether the part of that hash in the file of that path was written by the program."""
TextsOf = Callable[[Set[int]], Mapping[int, str]]
"""What turns read that are still shown."""


@dataclass(frozen=True, kw_only=True)
class CleanText:
    """A text after cleaning."""

    text: str
    parts: tuple[PartSource, ...] = ()
    """Parts that read otherwise now, and the turns that stand behind them."""


@dataclass
class LineCleaner:
    """Cleans the texts of one memory. *sources* tells which turns each part came from, wherever it stands."""

    turns: Sequence[WithdrawnTurn]
    words: WithdrawnWords
    sources: Mapping[str, Set[int]]
    texts_of: TextsOf
    is_ours: IsOurs
    _verdicts: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._withdrawn = {turn.id: turn for turn in self.turns}
        self._gone = frozenset(turn.id for turn in self.turns if not turn.stands)

    def with_sources(self, more: Mapping[str, Set[int]]) -> LineCleaner:
        """The same, which knows of *more* parts where they came from."""
        together = {part: frozenset(turns) | self.sources.get(part, frozenset()) for part, turns in more.items()}
        return replace(self, sources={**self.sources, **together}, _verdicts={})

    def has_parts(self, text: str) -> bool:
        """Whether a part of *text* came from turns that are still shown."""
        return any(self._standing_behind(part) for part in parts_of(text))

    def may_touch(self, text: str) -> bool:
        """Whether *text* may have to change; quick, and rather yes than no."""
        return self.words.is_in(text) or any(
            not self._withdrawn.keys().isdisjoint(self.sources.get(part.hash, ())) for part in parts_of(text)
        )

    def clean(self, rel_path: str, text: str) -> CleanText:
        """*text* of the file *rel_path* without what was taken back."""
        gone: list[MarkdownPart] = []
        new: list[PartSource] = []
        parts = parts_of(text)
        for part in reversed(parts):
            left = self._left_of(rel_path, part)
            if left == part.text:
                continue
            if left is None:
                gone.append(part)
                continue
            text = text[: part.start] + left + text[part.end :]
            shift = len(left) - len(part.text)
            gone = [_move_part(each, shift) for each in gone]
            behind = self._standing_behind(part)
            new.append(PartSource(part=part_hash(left), turns=tuple(sorted(behind))))
        if gone:
            text = without_parts(text, gone)
        return CleanText(text=self._with_clean_headings(rel_path, text), parts=tuple(new))

    def _left_of(self, rel_path: str, part: MarkdownPart) -> str | None:
        """What stays of a part; None: nothing."""
        key = (rel_path, part.hash)
        if key not in self._verdicts:
            self._verdicts[key] = self._decide(rel_path, part)
        verdict = self._verdicts[key]
        return part.text if verdict == one_line(part.text) else verdict

    def _decide(self, rel_path: str, part: MarkdownPart) -> str | None:
        behind = self.sources.get(part.hash, frozenset())
        withdrawn = behind & self._withdrawn.keys()
        text = one_line(part.text)
        if not withdrawn:
            if not self.words.is_in(part.text) or not (behind or self.is_ours(rel_path, part.hash)):
                return text
            return self._keep_supported(
                text, self.words.words, self.texts_of(behind) if behind else {}, must_have=False
            )
        others = self.texts_of(behind - self._gone)
        if not others:
            return None
        text = self._reword(text, withdrawn)
        said = {word for turn in withdrawn for each in self._withdrawn[turn].texts for word in telling_words(each)}
        return self._keep_supported(text, said | self.words.words, others, must_have=True)

    def _keep_supported(
        self, text: str, suspects: Set[str], others: Mapping[int, str], *, must_have: bool
    ) -> str | None:
        """*text* without the sentences that have *suspects* among their words which *others* do not say."""
        supported = {word for each in others.values() for word in telling_words(each)}
        bad = suspects - supported

        def is_clean(sentence: str) -> bool:
            return bad.isdisjoint(telling_words(sentence)) and not _has_phrase(sentence, self.words, others)

        if is_clean(text):
            return text
        left = " ".join(each for each in sentences(text) if is_clean(each)).strip()
        words = set(telling_words(left))
        return left if (words & supported if must_have else words) else None

    def _reword(self, text: str, withdrawn: Set[int]) -> str:
        """*text* with the new wording of messages that it quotes."""
        for turn in (self._withdrawn[turn_id] for turn_id in withdrawn):
            for before in turn.texts if turn.stands else ():
                old, new = one_line(before), one_line(turn.stands)
                if old and old in text and new not in text:
                    text = text.replace(old, new)
        return text

    def _standing_behind(self, part: MarkdownPart) -> Set[int]:
        return self.sources.get(part.hash, frozenset()) - self._gone

    def _with_clean_headings(self, rel_path: str, text: str) -> str:
        """*text* whose headings have no withdrawn words, but those that the file is named by."""
        words = self.words.words.difference(telling_words(rel_path))
        if not words or not self.words.is_in(text):
            return text

        def strike_out(found: re.Match[str]) -> str:
            return found[0] if words.isdisjoint(telling_words(found[0])) else "…"

        lines = text.split("\n")
        for heading in read_headings(lines):
            is_meant = not words.isdisjoint(telling_words(heading.text))
            if is_meant and self.is_ours(rel_path, part_hash(heading.text)):
                lines[heading.line] = _WORD.sub(strike_out, lines[heading.line])
        return "\n".join(lines)


def _has_phrase(text: str, words: WithdrawnWords, others: Mapping[int, str]) -> bool:
    """Whether *text* repeats the whole of what was taken back, which none of *others* says."""
    folded = one_line(text).casefold()
    said = [one_line(each).casefold() for each in others.values()]
    return any(phrase in folded and not any(phrase in each for each in said) for phrase in words.phrases)


def _move_part(part: MarkdownPart, shift: int) -> MarkdownPart:
    """A part that stands further on in a text than one that changed its length by *shift*."""
    return MarkdownPart(
        heading=part.heading, text=part.text, hash=part.hash, start=part.start + shift, end=part.end + shift
    )
