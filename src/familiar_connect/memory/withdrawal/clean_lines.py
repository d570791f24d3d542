"""Clean lines: Markdown without what was made of turns that were taken back.

A part (a bullet, a paragraph) that came from such turns alone goes. One that others stand behind too keeps what they
support: it stays as it is where it has no word that only the withdrawn turns said, else sentence by sentence. Where a
message was reworded, a part that quotes it reads as the message does now. Lines of the owner's are not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from familiar_connect.history.withdrawal.withdrawals import WithdrawnTurn
from familiar_connect.memory.maintenance.mentions import without_parts
from familiar_connect.memory.versioning.provenance import MarkdownPart, part_hash, parts_of
from familiar_connect.memory.withdrawal.withdrawn_words import WithdrawnWords
from familiar_connect.memory.writing.attribution import telling_words
from familiar_connect.memory.writing.plan import PartSource
from familiar_connect.support.markdown import read_headings
from familiar_connect.support.text import one_line, sentences

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
            gone = [_moved(each, shift) for each in gone]
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
            return self._supported(text, self.words.words, self.texts_of(behind) if behind else {}, must_have=False)
        others = self.texts_of(behind - self._gone)
        if not others:
            return None
        text = self._reworded(text, withdrawn)
        said = {word for turn in withdrawn for each in self._withdrawn[turn].texts for word in telling_words(each)}
        return self._supported(text, said | self.words.words, others, must_have=True)

    def _supported(self, text: str, suspects: Set[str], others: Mapping[int, str], *, must_have: bool) -> str | None:
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

    def _reworded(self, text: str, withdrawn: Set[int]) -> str:
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


def _moved(part: MarkdownPart, shift: int) -> MarkdownPart:
    """A part that stands further on in a text than one that changed its length by *shift*."""
    return MarkdownPart(
        heading=part.heading, text=part.text, hash=part.hash, start=part.start + shift, end=part.end + shift
    )
