"""Attribution: which turns stand behind a sentence of memory, and whose word it is.

Support is lexical: a turn supports a part when it shares enough of its telling words. What stands in a
person's file and rests on the words of others alone is marked as their word.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from familiar_connect.memory.people import ALIASES_HEADING, STOP_WORDS
from familiar_connect.memory.versioning.provenance import parts_of
from familiar_connect.memory.writing.batch import Batch, BatchParticipant
from familiar_connect.support.text import sentences

MIN_SHARE = 0.34
"""Part of the telling words, weighed by rarity, that a turn must share to stand behind a sentence."""
MAX_SOURCES = 8
MAX_SOURCES_PER_SENTENCE = 3
MAX_PART_CHARS = 2_000

_WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_WIDE = re.compile(r"[぀-ヿ㐀-鿿가-힯]")
_ENDINGS = ("ing", "ies", "ed", "es", "s", "'s")
_ATTRIBUTED = re.compile(
    r"\b(?:says?|said|saying|according|claims?|claimed|tells?|told|thinks?|believes?|reports?|reported|mentions?|"
    r"mentioned|heard|apparently|allegedly|reportedly|supposedly|rumou?rs?|seems?|joked?|teased?|"
    r"sagt|sagte|laut|selon|dit|dice|según)\b|[\"“„«]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Said:
    turn_id: int
    words: frozenset[str]
    slug: str | None


class SourceFinder:
    """The turns of a batch, ready to be asked what stands behind a sentence."""

    def __init__(self, batch: Batch) -> None:
        self._labels = {person.slug: person.label for person in batch.roster}
        self._said = []
        for turn in batch.turns:
            person = batch.participant(turn)
            words = frozenset(_stems(set(_words(turn.actual_words)), STOP_WORDS))
            self._said.append(_Said(turn.id, words, person.slug if person else None))
        seen = Counter(word for said in self._said for word in said.words)
        self._rarity = {word: math.log(1 + len(self._said) / count) for word, count in seen.items()}

    def sources(self, text: str, *, ignoring: Collection[str] = ()) -> list[tuple[int, str | None]]:
        """Turns behind *text*, best first, each with the slug of its speaker (None: the familiar)."""
        words = set(telling_words(text[:MAX_PART_CHARS])) - set(ignoring)
        if not words or not self._said:
            return []
        rare = math.log(1 + len(self._said))
        whole = sum(self._rarity.get(word, rare) for word in words)
        scored = []
        for said in self._said:
            shared = words & said.words
            share = sum(self._rarity[word] for word in shared) / whole
            if share >= MIN_SHARE and (len(shared) >= 2 or len(words) <= 2):
                scored.append((-share, said.turn_id, said.slug))
        return [(turn_id, slug) for _, turn_id, slug in sorted(scored, key=lambda entry: entry[:2])[:MAX_SOURCES]]

    def turns_behind(self, text: str) -> tuple[int, ...]:
        """Turns that stand behind any sentence of *text*, ascending."""
        pieces = sentences(text[:MAX_PART_CHARS]) or [text]
        behind = {turn_id for piece in pieces for turn_id, _ in self.sources(piece)[:MAX_SOURCES_PER_SENTENCE]}
        return tuple(sorted(behind))

    def with_attributions(
        self, text: str, known: Collection[str], person: BatchParticipant, *, standing: str = ""
    ) -> str:
        """*text* of *person*'s file with "(according to …)" behind new sentences that only others stand for.

        Parts that are *known*, and sentences of the text *standing* there, are left as they are.
        """
        own = {word for name in person.names for word in telling_words(name)}
        for part in reversed(parts_of(text)):
            if part.hash in known or part.heading == ALIASES_HEADING or "](" in part.text:
                continue
            marked = part.text
            for sentence in reversed(sentences(part.text)):
                witness = self._only_source(sentence, person, own)
                at = marked.rfind(sentence)
                if witness is not None and at >= 0 and sentence not in standing:
                    marked = marked[:at] + _marked(sentence, witness) + marked[at + len(sentence) :]
            text = text[: part.start] + marked + text[part.end :]
        return text

    def _only_source(self, sentence: str, person: BatchParticipant, own: set[str]) -> str | None:
        """Whose word *sentence* is, when it is neither the person's own nor the familiar's and nothing says so."""
        if _ATTRIBUTED.search(sentence):
            return None
        sources = self.sources(sentence, ignoring=own)
        speakers = [slug for _, slug in sources]
        if not sources or None in speakers or person.slug in speakers:
            return None
        return self._labels.get(speakers[0] or "")


def telling_words(text: str, *, without: Collection[str] = STOP_WORDS) -> list[str]:
    """The words that carry meaning, without their endings; scripts without spaces in pairs of characters."""
    return _stems(_words(text), without)


def _words(text: str) -> list[str]:
    found: list[str] = _WORD.findall(text.casefold())
    return found


def _stems(words: Iterable[str], without: Collection[str]) -> list[str]:
    found: list[str] = []
    for word in words:
        if _WIDE.search(word):
            found += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        elif word not in without and (len(word) > 2 or word.isdigit()):
            found.append(stem_of(word))
    return found


def stem_of(word: str) -> str:
    """*word* without the ending that its forms differ in."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def _marked(text: str, witness: str) -> str:
    ending = text[-1] if text[-1:] in (".", "!") else ""
    return f"{text.removesuffix(ending) if ending else text} (according to {witness}){ending}"
