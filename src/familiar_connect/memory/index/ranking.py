"""Ranking of hits: words, meaning, speaker, time and neighbours, added up.

Every signal is a number for one unit (a turn, a passage of a file) that needs no other unit to be understood, so
files and turns are ranked in one list, and a person can read off why something is where it is. The weights were
fitted on dialogues and checked on others that took no part in the fitting.

A unit's number holds its stretch (a conversation, a file) and its place there, so that what stands beside it is one
more or one less, and what belongs together is found without looking anything up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from familiar_connect.memory.index.protocols import ExplainedScore
from familiar_connect.memory.index.query import SearchQuery
from familiar_connect.memory.index.time_expressions import TimeSpan

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]

PLACE_BITS = 20
MAX_PLACE = (1 << PLACE_BITS) - 1
MAX_CANDIDATES = 1_500
"""Units whose every signal is worked out; the rest has been outdone by words and meaning already."""
NEUTRAL_COSINE = 0.15
"""The cosine of things that have nothing to do with each other: what a unit without a vector gets."""
USUAL_WORDS = 12
"""Words that say something in the middle of all things said."""
ENOUGH_WORDS = 40
"""Saying more than this is no merit."""
LEAST_COSINE = 0.2
"""What shares no word, no name and no time with the question must at least mean something near."""
RECENT_DAYS = 90.0
TOLD_LATER_DAYS = 21.0
"""What happened in May is also told in early June: the weight falls by half in a third of this."""


@dataclass(frozen=True, kw_only=True)
class SignalWeights:
    """How much each signal counts."""

    words: float = 1.0
    """The question's words in the unit itself, rare ones more, short units more."""
    words_around: float = 2.0
    """The same in the unit and its two neighbours: an answer rarely repeats the question."""
    stretch: float = 3.5
    """The same in the whole conversation or file."""
    meaning: float = 5.0
    meaning_before: float = 2.5
    meaning_after: float = 1.0
    who: float = 3.0
    """Said by, or about, somebody the question names."""
    when: float = 4.0
    """Said in, or soon after, the time the question names."""
    substance: float = 0.8
    """Times the logarithm of how many words say something."""
    asks: float = -0.9
    """A question is seldom an answer."""
    recency: float = 0.15
    same_channel: float = 0.15


class UnitFacts(NamedTuple):
    """What is known of a unit without reading it."""

    concerns: bool
    """Said by, or about, somebody the question names."""
    said_at: float
    """When it was said or written, in seconds since 1970; below zero when nobody knows."""
    word_count: int
    asks: bool
    channel_id: int | None = None


@dataclass(frozen=True)
class LexicalScores:
    """How far the question's words are met by units, by what stands around them and by their stretches."""

    units: Numbers
    own: Floats
    around: Floats
    stretch: Floats

    def of(self, wanted: Numbers) -> tuple[Floats, Floats, Floats]:
        """The three shares of certain units, 0 where nothing is met; *wanted* may hold units unseen here."""
        if not len(self.units):
            empty = np.zeros(len(wanted))
            return empty, empty, empty
        places = np.searchsorted(self.units, wanted).clip(0, len(self.units) - 1)
        known = self.units[places] == wanted
        stretches, first = np.unique(self.units >> PLACE_BITS, return_index=True)
        homes = wanted >> PLACE_BITS
        at = np.searchsorted(stretches, homes).clip(0, len(stretches) - 1)
        by_stretch = np.where(stretches[at] == homes, self.stretch[first[at]], 0.0)
        return np.where(known, self.own[places], 0.0), np.where(known, self.around[places], 0.0), by_stretch


def unit_number(stretch: int, place: int) -> int:
    return (stretch << PLACE_BITS) | place


def stretch_of(unit: int) -> tuple[int, int]:
    """The stretch and the place in it."""
    return unit >> PLACE_BITS, unit & MAX_PLACE


def score_words(postings: Mapping[str, Sequence[int]], *, total: int, stretches: int) -> LexicalScores:
    """Shares of the question's words, each counted by how rare it is among *total* units and in *stretches*."""
    lists = [np.asarray(sorted(units), dtype=np.int64) for units in postings.values() if len(units)]
    if not lists:
        nothing = np.zeros(0)
        return LexicalScores(np.zeros(0, dtype=np.int64), nothing, nothing, nothing)
    met = np.unique(np.concatenate(lists))
    units = np.unique(np.concatenate([met, met - 1, met + 1]))
    homes, home_of = np.unique(units >> PLACE_BITS, return_inverse=True)
    own, around, stretch = np.zeros(len(units)), np.zeros(len(units)), np.zeros(len(homes))
    weight_sum = stretch_sum = 0.0
    for numbers in lists:
        rarity = _rarity(len(numbers), total)
        here = np.isin(units, numbers, assume_unique=True)
        beside = (
            here | np.isin(units, numbers - 1, assume_unique=True) | np.isin(units, numbers + 1, assume_unique=True)
        )
        own += rarity * here
        around += rarity * beside
        weight_sum += rarity
        counts = np.bincount(np.searchsorted(homes, numbers >> PLACE_BITS), minlength=len(homes))
        home_rarity = _rarity(int((counts > 0).sum()), stretches)
        stretch += home_rarity * counts / (counts + 1.0)
        stretch_sum += home_rarity
    return LexicalScores(units, own / weight_sum, around / weight_sum, (stretch / stretch_sum)[home_of])


def candidates(lexical: LexicalScores, others: Iterable[int], limit: int = MAX_CANDIDATES) -> Numbers:
    """The units worth a closer look: the best by words, and the *others* that meaning or time brought up."""
    brought = np.unique(np.fromiter(others, dtype=np.int64))
    cheap = lexical.own + 2 * lexical.around + 2 * lexical.stretch
    if len(cheap) > limit:
        kept = lexical.units[np.argpartition(cheap, len(cheap) - limit)[len(cheap) - limit :]]
    else:
        kept = lexical.units
    return np.union1d(kept, brought)


def rank_units(
    facts: Mapping[int, UnitFacts],
    lexical: LexicalScores,
    cosines: Mapping[int, float],
    question: SearchQuery,
    *,
    now: datetime,
    limit: int,
    channel_id: int | None = None,
    weights: SignalWeights | None = None,
) -> list[tuple[int, ExplainedScore]]:
    """The best *limit* of the units in *facts* with their scores explained, best first; strangers are left out."""
    if not facts:
        return []
    weights = weights or SignalWeights()
    units = np.fromiter(facts, dtype=np.int64, count=len(facts))
    known = list(facts.values())
    own, around, stretch = lexical.of(units)
    words = np.array([fact.word_count for fact in known], dtype=np.float64)
    said_at = np.array([fact.said_at for fact in known])
    signals = {
        "words": weights.words * own / (0.6 + 0.4 * words / USUAL_WORDS),
        "words around": weights.words_around * around,
        "conversation": weights.stretch * stretch,
        "meaning": weights.meaning * _looked_up(cosines, units),
        "meaning around": weights.meaning_before * _looked_up(cosines, units - 1)
        + weights.meaning_after * _looked_up(cosines, units + 1),
        "who": weights.who * np.array([fact.concerns for fact in known], dtype=np.float64),
        "when": weights.when * nearness(said_at, question.spans),
        "substance": weights.substance * np.log1p(np.minimum(words, ENOUGH_WORDS)),
        "a question": weights.asks * np.array([fact.asks for fact in known], dtype=np.float64),
        "recency": weights.recency * _recency(said_at, now.timestamp()),
        "same channel": weights.same_channel
        * np.array([channel_id is not None and fact.channel_id == channel_id for fact in known], dtype=np.float64),
    }
    total = np.sum(list(signals.values()), axis=0)
    near = signals["meaning"] >= weights.meaning * LEAST_COSINE
    fitting = near | (signals["conversation"] > 0) | (signals["who"] > 0) | (signals["when"] > 0)
    best = [at for at in np.lexsort((-units, -total)).tolist() if fitting[at]][:limit]
    return [
        (int(units[at]), ExplainedScore(float(total[at]), {name: float(v[at]) for name, v in signals.items() if v[at]}))
        for at in best
    ]


def _looked_up(cosines: Mapping[int, float], units: Numbers) -> Floats:
    return np.array([cosines.get(unit, NEUTRAL_COSINE) for unit in units.tolist()])


def _rarity(count: int, total: int) -> float:
    return math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5))


def _recency(said_at: Floats, now: float) -> Floats:
    """1 for this moment, a half after three months."""
    days = np.maximum(0.0, now - said_at) / 86_400
    return np.where(said_at >= 0, RECENT_DAYS / (RECENT_DAYS + days), 0.0)


def nearness(said_at: Floats, spans: tuple[TimeSpan, ...]) -> Floats:
    """1 for moments, in seconds since 1970, inside one of *spans*; less after its end, 0 before and long after."""
    best = np.zeros(len(said_at))
    for span in spans:
        late = (said_at - span.end.timestamp()) / 86_400
        after = np.where(late < TOLD_LATER_DAYS, 0.5 ** (3 * np.maximum(late, 0.0) / TOLD_LATER_DAYS), 0.0)
        best = np.maximum(best, np.where(said_at >= span.start.timestamp(), after, 0.0))
    return best
