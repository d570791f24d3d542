"""How what was found is put in order."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.index.query import SearchQuery, parse_query
from familiar_connect.memory.index.ranking import (
    NEUTRAL_COSINE,
    Floats,
    Numbers,
    SignalWeights,
    UnitFacts,
    candidates,
    nearness,
    no_cosines,
    rank_units,
    score_words,
    stretch_of,
    unit_number,
    weigh_named,
)
from familiar_connect.memory.index.vectors.fact_columns import FactColumns

NOW = datetime(2026, 11, 18, tzinfo=UTC)
A, B, C = (unit_number(1, place) for place in (1, 2, 3))
FAR = unit_number(7, 1)


class Facts(NamedTuple):
    """What is known of one unit."""

    concerns: bool = False
    said_at: float = NOW.timestamp()
    word_count: int = 5
    asks: bool = False
    in_channel: bool = False


plain = Facts


def columns(facts: dict[int, Facts]) -> UnitFacts:
    held = FactColumns(concerns="?", said_at="f8", words="i4", asks="?", in_channel="?")
    held.change((), [(unit, *each) for unit, each in facts.items()])
    rows = held.of(np.array(sorted(facts), dtype=np.int64))
    return UnitFacts.from_columns(rows, rows["concerns"], rows["in_channel"])


def ranked(question: str = "what about bees", *, facts: dict[int, Facts], **words: list[int]) -> list[int]:
    asked = parse_query(question, names=["ada"], now=NOW)
    lexical = score_words(words, total=100, stretches=10)
    found = rank_units(columns(facts), lexical, no_cosines, asked, now=NOW)
    return [int(unit) for unit in found.units[: found.fitting]]


@given(st.integers(0, 2**40), st.integers(0, 2**20 - 1))
def test_a_units_number_holds_its_stretch_and_place(stretch: int, place: int) -> None:
    """Both come back out."""
    assert stretch_of(unit_number(stretch, place)) == (stretch, place)


def test_a_unit_with_the_word_comes_before_its_neighbour_and_strangers_not_at_all() -> None:
    """Words count in the unit itself, a little less near it, still less in the same conversation."""
    facts = {unit: plain() for unit in (unit_number(1, 9), A, C, B, FAR)}

    assert ranked(facts=facts, bees=[A]) == [A, B, C, unit_number(1, 9)]


def test_rare_words_say_more() -> None:
    """A word that stands everywhere hardly counts."""
    everywhere = [unit_number(stretch, 1) for stretch in range(2, 90)]

    assert ranked(facts={FAR: plain(), A: plain()}, thing=[*everywhere, FAR], bees=[A])[0] == A


def test_whose_words_are_wanted_comes_first() -> None:
    """A named person's words outweigh a word in common."""
    facts = {B: plain(concerns=True), A: plain()}

    assert ranked("what did ada say", facts=facts, say=[A])[0] == B


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_who_is_named_first_counts_most_and_who_is_not_named_nothing(people: list[tuple[bool, bool]]) -> None:
    """Between the two stands who is named later."""
    named = np.array([is_named or is_first for is_named, is_first in people], dtype=np.bool_)
    first = np.array([is_first for _, is_first in people], dtype=np.bool_)

    weighed = weigh_named(named, first)

    assert (weighed[first] == 1.0).all()
    assert (weighed[~named] == 0.0).all()
    assert ((weighed[named & ~first] > 0.0) & (weighed[named & ~first] < 1.0)).all()


def test_the_time_that_was_asked_for_comes_first() -> None:
    """Said in May is said in May."""
    facts = {B: plain(said_at=datetime(2026, 5, 9, tzinfo=UTC).timestamp()), A: plain()}

    assert ranked("what happened in May", facts=facts, happened=[A])[0] == B


def test_a_question_is_a_lesser_answer() -> None:
    """Of two alike, the one that asks comes last."""
    assert ranked(facts={A: plain(asks=True), FAR: plain()}, bees=[A, FAR])[0] == FAR


def test_what_follows_a_question_of_that_meaning_is_taken_for_its_answer() -> None:
    """It need not share a word, nor the meaning: "in Ghent" does not say what it answers."""
    asked, nothing = parse_query("bees", names=[], now=NOW), score_words({}, total=9, stretches=2)
    cosines = looked_up({A: 0.5, FAR: 0.5})
    facts = {A: plain(asks=True), B: plain(), FAR: plain(), FAR + 1: plain()}

    found = rank_units(columns(facts), nothing, cosines, asked, now=NOW)

    order = found.units.tolist()
    assert order.index(B) < order.index(FAR + 1)
    assert found.explain(order.index(B)).signals["an answer"] > 0


def test_a_unit_is_as_near_as_its_best_sentence_too() -> None:
    """Of two that mean as much as a whole, the one that says it in a sentence of its own comes first."""
    asked, nothing = parse_query("bees", names=[], now=NOW), score_words({}, total=9, stretches=2)
    cosines = looked_up({A: 0.4, FAR: 0.4})

    found = rank_units(
        columns({A: plain(), FAR: plain()}),
        nothing,
        cosines,
        asked,
        now=NOW,
        sentences=lambda _, __: np.array([0.4, 0.8]),
    )

    assert found.units.tolist() == [FAR, A]
    assert found.explain(0).signals["a sentence"] > found.explain(1).signals["a sentence"]


def test_words_like_those_asked_for_count_where_they_are_known() -> None:
    """And where nobody knows them, the question's own words stand for them."""
    asked = parse_query("bees and hives", names=[], now=NOW)
    lexical = score_words({"bees": [A, FAR], "hives": []}, total=9, stretches=2)
    facts = {A: plain(), B: plain(), FAR: plain()}
    like = np.array([[0.1, 0.9, np.nan]] * 2)

    found = rank_units(columns(facts), lexical, no_cosines, asked, now=NOW, likeness=lambda _: (like[0], like[1]))
    told = {unit: found.explain(at).signals["words like these"] for at, unit in enumerate(found.units.tolist())}

    assert told[B] > told[FAR] > told[A]
    assert told[FAR] == pytest.approx(lexical.share_met * SignalWeights().words_like)


def test_a_conversation_that_means_what_is_asked_draws_all_of_it_up() -> None:
    """The rest of a talk about bees comes before the rest of another, and belongs to the answer."""
    asked, nothing = parse_query("bees", names=[], now=NOW), score_words({}, total=9, stretches=2)
    facts = {unit_number(1, 20): plain(), unit_number(7, 20): plain(), A: plain()}

    found = rank_units(columns(facts), nothing, looked_up({A: 0.6}), asked, now=NOW)

    assert found.units[: found.fitting].tolist() == [A, unit_number(1, 20)]


def test_of_two_alike_the_later_and_nearer_comes_first() -> None:
    """Recency and the same channel only break ties."""
    asked = parse_query("bees", names=[], now=NOW)
    lexical = score_words({"bees": [A, FAR]}, total=9, stretches=2)
    facts = {A: plain(in_channel=True), FAR: plain()}

    assert rank_units(columns(facts), lexical, no_cosines, asked, now=NOW).units[0] == A
    facts = {A: plain(said_at=0.0), FAR: plain()}
    assert rank_units(columns(facts), lexical, no_cosines, asked, now=NOW).units[0] == FAR


@given(
    st.lists(st.sampled_from([A, B, C, FAR]), min_size=1, unique=True),
    st.dictionaries(st.sampled_from([A, B, C, FAR]), st.floats(-1, 1)),
)
def test_the_shares_add_up_to_the_score(met: list[int], cosines: dict[int, float]) -> None:
    """Nothing counts that is not shown, and order follows the scores."""
    asked = parse_query("what did ada say about bees last week", names=["ada"], now=NOW)
    lexical = score_words({"bees": met}, total=9, stretches=2)
    facts = {unit: plain(concerns=True) for unit in (A, B, C, FAR)}

    found = rank_units(columns(facts), lexical, looked_up(cosines), asked, now=NOW)
    explained = [found.explain(at) for at in range(len(found.units))]

    assert set(found.units[: found.fitting].tolist()) == set(facts)
    assert all(e.score == pytest.approx(sum(e.signals.values())) for e in explained)
    assert [e.score for e in explained] == sorted((e.score for e in explained), reverse=True)


UNITS = st.builds(unit_number, st.integers(1, 4), st.integers(1, 12))
COSINES = st.dictionaries(UNITS, st.floats(-1, 1, width=32))
FACTS = st.builds(Facts, st.booleans(), st.floats(-1, 2e9), st.integers(0, 90), st.booleans(), st.booleans())
POSTINGS = st.dictionaries(st.sampled_from("abcdef"), st.lists(UNITS, unique=True), max_size=5)


@given(st.dictionaries(UNITS, FACTS, min_size=1), POSTINGS, COSINES, st.sampled_from(["bees", "ada in May 2026"]))
def test_arrays_rank_as_reckoning_unit_by_unit_does(
    facts: dict[int, Facts], postings: dict[str, list[int]], cosines: dict[int, float], question: str
) -> None:
    """Scores are those of the plain sums below, and their order with them; strangers come after all others."""
    asked = parse_query(question, names=["ada"], now=NOW)
    found = rank_units(
        columns(facts), score_words(postings, total=200, stretches=9), looked_up(cosines), asked, now=NOW
    )
    wanted = {unit: reckon(unit, facts, postings, cosines, asked) for unit in facts}

    assert sorted(found.units.tolist()) == sorted(facts)
    for at, unit in enumerate(found.units.tolist()):
        assert found.scores[at] == pytest.approx(wanted[unit][0])
        assert (at < found.fitting) == wanted[unit][1]
    for part in (found.scores[: found.fitting], found.scores[found.fitting :]):
        assert np.all(np.diff(part) <= 0)


def looked_up(cosines: dict[int, float]) -> Callable[[Numbers], Floats]:
    return lambda units: np.array([cosines.get(unit, NEUTRAL_COSINE) for unit in units.tolist()])


def reckon(
    unit: int, facts: dict[int, Facts], postings: dict[str, list[int]], cosines: dict[int, float], asked: SearchQuery
) -> tuple[float, bool]:
    """A unit's score and whether it has to do with the question, one signal after the other."""
    fact = facts[unit]
    own, around, stretch = shares(unit, {word: set(met) for word, met in postings.items() if met})
    rarities = {
        word: math.log(1 + (200.5 - max(1, len(met))) / (max(1, len(met)) + 0.5)) for word, met in postings.items()
    }
    met = sum(rarities[word] for word in postings if postings[word]) / (sum(rarities.values()) or 1.0)
    when = float(nearness(np.array([fact.said_at]), asked.spans)[0])
    days = max(0.0, NOW.timestamp() - fact.said_at) / 86_400
    near = {step: cosines.get(unit + step, NEUTRAL_COSINE) for step in (-2, -1, 0, 1)}
    beside = [other for other in facts if stretch_of(other)[0] == stretch_of(unit)[0]]
    best = max(cosines.get(other, NEUTRAL_COSINE) for other in beside)
    answers = unit - 1 in facts and facts[unit - 1].asks
    weights = SignalWeights()
    score = (
        weights.words * own / (0.6 + 0.4 * fact.word_count / 12)
        + weights.words_around * around
        + weights.words_like * own * met
        + weights.words_like_around * around * met
        + weights.stretch * stretch
        + weights.stretch_meaning * best
        + weights.meaning_two_before * near[-2]
        + weights.meaning_before * near[-1]
        + weights.answers * near[-1] * answers
        + (weights.meaning + weights.sentence_meaning) * near[0]
        + weights.meaning_after * near[1]
        + weights.who * fact.concerns
        + weights.when * when
        + weights.substance * math.log1p(min(fact.word_count, 40))
        + weights.asks * fact.asks
        + weights.recency * (90 / (90 + days) if fact.said_at >= 0 else 0.0)
        + weights.same_channel * fact.in_channel
    )
    return score, best >= 0.2 or stretch > 0 or fact.concerns or when > 0


def shares(unit: int, postings: dict[str, set[int]]) -> tuple[float, float, float]:
    """How far a unit, it with its neighbours, and its stretch meet the words."""

    def rarity(count: int, total: int) -> float:
        return math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5))

    own = around = stretch = of_units = of_stretches = 0.0
    for met in postings.values():
        weight = rarity(len(met), 200)
        here = [other for other in met if stretch_of(other)[0] == stretch_of(unit)[0]]
        home_weight = rarity(len({stretch_of(other)[0] for other in met}), 9)
        own += weight * (unit in met)
        around += weight * max([0.0, *(1 - 0.2 * abs(other - unit) for other in met if abs(other - unit) <= 3)])
        stretch += home_weight * len(here) / (len(here) + 1)
        of_units, of_stretches = of_units + weight, of_stretches + home_weight
    return (own / of_units, around / of_units, stretch / of_stretches) if postings else (0.0, 0.0, 0.0)


@given(st.dictionaries(st.text(min_size=1), st.lists(st.integers(0, 2**30), unique=True), max_size=6))
def test_shares_of_words_lie_between_nothing_and_all(postings: dict[str, list[int]]) -> None:
    """Whatever words and units there are."""
    lexical = score_words(postings, total=1000, stretches=50)

    for share in (lexical.own, lexical.around, lexical.stretch):
        assert np.all((share >= 0) & (share <= 1 + 1e-9))


def test_candidates_are_bounded_by_words_and_include_what_else_was_brought_up() -> None:
    """However common a word is."""
    lexical = score_words({"bees": [unit_number(n, 5) for n in range(500)]}, total=5000, stretches=500)

    assert len(candidates(lexical, [FAR], limit=20)) == 21
