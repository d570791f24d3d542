"""Ranking of hits: words, meaning, speaker, time and neighbours, added up.

Every signal is a number for one unit (a turn, a passage of a file) from it and what stands in the same stretch, so
files and turns are ranked in one list, and a person can read off why something is where it is. The weights were
fitted on long dialogues and on informal group chats together, and checked with each of them left out in turn
(`python -m benchmarks.recall --hold-out`): what helped only one of the two was not taken.

A unit's number holds its stretch (a conversation, a file) and its place there, so that what stands beside it is one
more or one less, and what belongs together is found without looking anything up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from familiar_connect.memory.index.protocols import ExplainedScore
from familiar_connect.memory.index.query import SearchQuery
from familiar_connect.memory.index.time_expressions import TimeSpan

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
CosineLookup = Callable[[Numbers], Floats]
SentenceLookup = Callable[[Numbers, Floats], Floats]
"""Gives, for units in order and their cosines, how near the best sentence of each is."""
LikenessLookup = Callable[[Numbers], tuple[Floats, Floats]]
"""Gives, for units in order, how far words like those of the question stand in each, and in it or right beside it;
no number at all where nobody knows."""

PLACE_BITS = 20
MAX_PLACE = (1 << PLACE_BITS) - 1
MAX_CANDIDATES = 1_500
"""Units whose every signal is worked out; the rest has been outdone by words and meaning already."""
NEUTRAL_COSINE = 0.15
"""The cosine of things that have nothing to do with each other: what a unit without a vector gets."""
COSINE_OF_WORDS = 0.45
"""So much nearer is, about, what has every word of the question."""
USUAL_WORDS = 12
"""Words that say something in the middle of all things said."""
ENOUGH_WORDS = 40
"""Saying more than this is no merit."""
LEAST_COSINE = 0.2
"""What shares no word, no name and no time with the question must stand where something means that near at least."""
REACH = 3
"""How many units away a word of the question still tells something."""
FADES = 0.2
"""How much less it tells with each unit."""
RECENT_DAYS = 90.0
LIKE_WORDS_OF = 120
"""Units, the best by all other signals, whose words are looked at one by one."""
NAMED_LATER = 0.6
"""How much somebody counts whom the question names after somebody else: "what did Ada give to Bo?" asks for Ada."""
TOLD_LATER_DAYS = 21.0
"""What happened in May is also told in early June: the weight falls by half in a third of this."""


@dataclass(frozen=True, kw_only=True)
class SignalWeights:
    """How much each signal counts."""

    words: float = 0.3
    """The question's words in the unit itself, rare ones more, short units more."""
    words_around: float = 0.8
    """The same in the unit and a few neighbours, near ones more: an answer rarely repeats the question."""
    words_like: float = 0.5
    """Words in the unit itself that mean nearly the same as the question's."""
    words_like_around: float = 3.0
    """The same in the unit and a few neighbours."""
    stretch: float = 0.7
    """The same in the whole conversation or file."""
    meaning: float = 6.0
    sentence_meaning: float = 4.0
    """How near in meaning the best sentence of the unit is: a long one says more than what is asked for."""
    meaning_before: float = 0.9
    meaning_two_before: float = 1.4
    meaning_after: float = 1.4
    stretch_meaning: float = 4.2
    """How near in meaning the best unit of the conversation or file is."""
    answers: float = 2.1
    """Times the meaning of what stands before, where that is a question."""
    who: float = 2.7
    """Said by, or about, somebody the question names."""
    when: float = 3.2
    """Said in, or soon after, the time the question names."""
    substance: float = 0.75
    """Times the logarithm of how many words say something."""
    asks: float = -1.3
    """A question is seldom an answer."""
    tells_when: float = 1.4
    """Names a time, where the question asks for one."""
    tells_number: float = 1.7
    tells_where: float = 2.4
    """Names a place, where the question asks for one; less where that is not sure."""
    tells_of_then: float = 2.0
    """Tells of the time the question names, whenever it was said: "yesterday", the day before."""
    recency: float = 0.15
    same_channel: float = 0.15


OTHER_LANGUAGES = SignalWeights(words=4.0, words_around=0.3, words_like_around=1.0, who=4.0, substance=1.2)
"""For questions that are not English: the embedder knows little of what they mean, so their words tell more, and so
does who said something. Fitted on the open half of the long chats in eleven languages (`benchmarks.languages`)."""


@dataclass(frozen=True, kw_only=True)
class UnitFacts:
    """What is known of units without reading them: a column for each fact, a row for each unit."""

    units: Numbers
    concerns: Floats
    """1 for what was said by, or about, whom the question names first; less for others that it names."""
    said_at: Floats
    """When it was said or written, in seconds since 1970; below zero when nobody knows."""
    word_count: Floats
    asks: Floats
    in_channel: Floats
    """1 for what was said in the channel of the question."""

    @classmethod
    def from_columns(
        cls, rows: NDArray[np.void], concerns: Flags | Floats, in_channel: Flags | None = None
    ) -> UnitFacts:
        """The facts of *rows*, which hold `unit`, `said_at`, `words` and `asks`, with what depends on the question."""
        return cls(
            units=rows["unit"],
            concerns=concerns.astype(np.float64),
            said_at=rows["said_at"],
            word_count=rows["words"].astype(np.float64),
            asks=rows["asks"].astype(np.float64),
            in_channel=np.zeros(len(rows)) if in_channel is None else in_channel.astype(np.float64),
        )

    def __len__(self) -> int:
        return len(self.units)


@dataclass(frozen=True)
class LexicalScores:
    """How far the question's words are met by units, by what stands around them and by their stretches."""

    units: Numbers
    own: Floats
    around: Floats
    stretch: Floats
    share_met: float = 1.0
    """Of the weight of all words, that of those that stand somewhere."""

    def only(self, units: Numbers) -> LexicalScores:
        """Those of *units* alone."""
        kept = np.isin(self.units, units)
        return replace(
            self, units=self.units[kept], own=self.own[kept], around=self.around[kept], stretch=self.stretch[kept]
        )

    def own_of(self, wanted: Numbers) -> Floats:
        """How far certain units themselves meet the words, 0 where they do not."""
        if not len(self.units):
            return np.zeros(len(wanted))
        places = np.searchsorted(self.units, wanted).clip(0, len(self.units) - 1)
        return np.where(self.units[places] == wanted, self.own[places], 0.0)

    def of(self, wanted: Numbers) -> tuple[Floats, Floats, Floats]:
        """The three shares of certain units, 0 where nothing is met; *wanted* may hold units unseen here."""
        if not len(self.units):
            empty = np.zeros(len(wanted))
            return empty, empty, empty
        places = np.searchsorted(self.units, wanted).clip(0, len(self.units) - 1)
        known = self.units[places] == wanted
        homes = self.units >> PLACE_BITS
        wanted_homes = wanted >> PLACE_BITS
        at = np.searchsorted(homes, wanted_homes).clip(0, len(homes) - 1)
        by_stretch = np.where(homes[at] == wanted_homes, self.stretch[at], 0.0)
        return np.where(known, self.own[places], 0.0), np.where(known, self.around[places], 0.0), by_stretch


@dataclass(frozen=True)
class RankedUnits:
    """Units, best first, and what each signal gave to them; the first *fitting* have to do with the question."""

    units: Numbers
    scores: Floats
    signals: dict[str, Floats]
    said_at: Floats
    fitting: int

    def explain(self, at: int) -> ExplainedScore:
        """The score at a place of the order, and what it is made of."""
        return ExplainedScore(float(self.scores[at]), self.shares([at])[0])

    def shares(self, places: Sequence[int]) -> list[dict[str, float]]:
        """What each signal gave to the units at *places* of the order, in the order of *places*."""
        wanted = np.asarray(places, dtype=np.int64)
        columns = (values[wanted].tolist() for values in self.signals.values())
        names = tuple(self.signals)
        return [
            {name: share for name, share in zip(names, row, strict=True) if share} for row in zip(*columns, strict=True)
        ]


def weigh_named(named: Flags, named_first: Flags) -> Floats:
    """How much units count that were said by, or about, somebody named, and by whoever is named first."""
    return np.where(named_first, 1.0, NAMED_LATER * named)


def unit_number(stretch: int, place: int) -> int:
    return (stretch << PLACE_BITS) | place


def stretch_of(unit: int) -> tuple[int, int]:
    """The stretch and the place in it."""
    return unit >> PLACE_BITS, unit & MAX_PLACE


def score_words(postings: Mapping[str, Sequence[int] | Numbers], *, total: int, stretches: int) -> LexicalScores:
    """Shares of the question's words, each counted by how rare it is among *total* units and in *stretches*."""
    lists = [np.sort(np.asarray(units, dtype=np.int64)) for units in postings.values() if len(units)]
    unmet = (len(postings) - len(lists)) * measure_rarity(0, total)
    if not lists:
        nothing = np.zeros(0)
        return LexicalScores(np.zeros(0, dtype=np.int64), nothing, nothing, nothing)
    met = merge_numbers(lists)
    units = merge_numbers([met + step for step in range(-REACH, REACH + 1)])
    homes_of_units = units >> PLACE_BITS
    is_first = np.concatenate(([True], homes_of_units[1:] != homes_of_units[:-1]))
    homes, home_of = homes_of_units[is_first], np.cumsum(is_first) - 1
    own, around, stretch = np.zeros(len(units)), np.zeros(len(units)), np.zeros(len(homes))
    weight_sum = stretch_sum = 0.0
    for numbers in lists:
        rarity = measure_rarity(len(numbers), total)
        places = np.searchsorted(units, numbers)
        own[places] += rarity
        beside = np.zeros(len(units))
        for distance in range(REACH, -1, -1):  # the nearest last: it is what counts
            for step in {-distance, distance}:  # all that is in reach is among the units: one further is one place on
                beside[places + step] = 1.0 - FADES * distance
        around += rarity * beside
        weight_sum += rarity
        counts = np.bincount(home_of[places], minlength=len(homes))
        home_rarity = measure_rarity(int(np.count_nonzero(counts)), stretches)
        stretch += home_rarity * counts / (counts + 1.0)
        stretch_sum += home_rarity
    shares = own / weight_sum, around / weight_sum, (stretch / stretch_sum)[home_of]
    return LexicalScores(units, *shares, share_met=weight_sum / (weight_sum + unmet))


def merge_numbers(lists: Sequence[Numbers]) -> Numbers:
    """Everything in *lists* in order, each number once."""
    together = np.sort(np.concatenate(lists), kind="stable")  # not np.unique: its first call loads all of numpy.ma
    return together[np.concatenate(([True], together[1:] != together[:-1]))] if len(together) else together


def candidates(lexical: LexicalScores, others: Sequence[int] | Numbers, limit: int = MAX_CANDIDATES) -> Numbers:
    """The units worth a closer look: the best by words, and the *others* that meaning or time brought up."""
    cheap = lexical.own + 2 * lexical.around + 2 * lexical.stretch
    if len(cheap) > limit:
        kept = lexical.units[np.argpartition(cheap, len(cheap) - limit)[len(cheap) - limit :]]
    else:
        kept = lexical.units
    return merge_numbers((kept, np.asarray(others, dtype=np.int64)))


def no_likeness(units: Numbers) -> tuple[Floats, Floats]:
    """For a search without vectors of words: nobody knows."""
    return np.full(len(units), np.nan), np.full(len(units), np.nan)


def no_sentences(units: Numbers, whole: Floats) -> Floats:
    """For units that have no vectors of their sentences: each is as near as its *whole*."""
    return whole


def rank_units(
    facts: UnitFacts,
    lexical: LexicalScores,
    cosines: CosineLookup,
    question: SearchQuery,
    *,
    now: datetime,
    weights: SignalWeights | None = None,
    sentences: SentenceLookup = no_sentences,
    likeness: LikenessLookup = no_likeness,
) -> RankedUnits:
    """The units in *facts* with their scores, best first; those that have nothing to do with the question come last.

    *cosines* gives, for units in order, how near in meaning each is, and *sentences* how near the best sentence is;
    *likeness* how far words like those of the question stand there, and is asked for the best alone.
    """
    weights = weights or SignalWeights()
    units, words, said_at = facts.units, facts.word_count, facts.said_at
    own, around, stretch = lexical.of(units)
    meaning, before = cosines(units), cosines(units - 1)
    best = _best_in_stretch(units, meaning)
    two_away = weights.meaning_two_before * cosines(units - 2) + weights.meaning_after * cosines(units + 1)
    signals = {
        "words": weights.words * own / (0.6 + 0.4 * words / USUAL_WORDS),
        "words around": weights.words_around * around,
        "conversation": weights.stretch * stretch,
        "conversation's meaning": weights.stretch_meaning * best,
        "meaning": weights.meaning * meaning,
        "a sentence": weights.sentence_meaning * sentences(units, meaning),
        "meaning around": weights.meaning_before * before + two_away,
        "an answer": weights.answers * before * np.isin(units - 1, units[facts.asks > 0]),
        "who": weights.who * facts.concerns,
        "when": weights.when * nearness(said_at, question.spans),
        "substance": weights.substance * np.log1p(np.minimum(words, ENOUGH_WORDS)),
        "a question": weights.asks * facts.asks,
        "recency": weights.recency * _recency(said_at, now.timestamp()),
        "same channel": weights.same_channel * facts.in_channel,
    }
    total = np.sum(list(signals.values()), axis=0)
    itself, beside = own * lexical.share_met, around * lexical.share_met
    first = _best_places(total, LIKE_WORDS_OF)
    like = likeness(units[first])
    for exact, found in zip((itself, beside), like, strict=True):
        exact[first] = np.where(np.isnan(found), exact[first], found)
    signals["words like these"] = weights.words_like * itself
    signals["words like these around"] = weights.words_like_around * beside
    total = total + signals["words like these"] + signals["words like these around"]
    near = best >= LEAST_COSINE
    fitting = near | (signals["conversation"] > 0) | (signals["who"] > 0) | (signals["when"] > 0)
    order = np.lexsort((-units, -total, ~fitting))
    ordered = {name: values[order] for name, values in signals.items()}
    return RankedUnits(units[order], total[order], ordered, said_at[order], int(np.count_nonzero(fitting)))


def _best_places(values: Floats, limit: int) -> Numbers:
    """Where the *limit* highest of *values* stand, in order."""
    if len(values) <= limit:
        return np.arange(len(values))
    return np.sort(np.argpartition(-values, limit)[:limit])


def _best_in_stretch(units: Numbers, values: Floats) -> Floats:
    """For each of *units*, which are in order, the highest of *values* in its stretch."""
    if not len(units):
        return values
    homes = units >> PLACE_BITS
    starts = np.flatnonzero(np.concatenate(([True], homes[1:] != homes[:-1])))
    return np.repeat(np.maximum.reduceat(values, starts), np.diff(starts, append=len(units)))


def cosines_by_words(lexical: LexicalScores, units: Numbers) -> Floats:
    """How near in meaning units probably are, told from how many of the question's words stand in them."""
    return NEUTRAL_COSINE + COSINE_OF_WORDS * lexical.own_of(units)


def no_cosines(units: Numbers) -> Floats:
    """For a search by words alone: everything is as near in meaning as things that have nothing in common."""
    return np.full(len(units), NEUTRAL_COSINE)


def measure_rarity(count: int, total: int) -> float:
    """How much a word counts that stands in *count* of *total* units; one that stands nowhere as one that does once."""
    count = max(1, count)
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
