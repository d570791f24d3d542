"""How what was found is put in order."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.index.query import parse_query
from familiar_connect.memory.index.ranking import (
    UnitFacts,
    candidates,
    rank_units,
    score_words,
    stretch_of,
    unit_number,
)

NOW = datetime(2026, 11, 18, tzinfo=UTC)
A, B, C = (unit_number(1, place) for place in (1, 2, 3))
FAR = unit_number(7, 1)


def plain(**changes: object) -> UnitFacts:
    facts = {"concerns": False, "said_at": NOW.timestamp(), "word_count": 5, "asks": False}
    return UnitFacts(**facts | changes)  # type: ignore[arg-type]


def ranked(question: str = "what about bees", *, facts: dict[int, UnitFacts], **words: list[int]) -> list[int]:
    asked = parse_query(question, names=["ada"], now=NOW)
    lexical = score_words(words, total=100, stretches=10)
    return [unit for unit, _ in rank_units(facts, lexical, {}, asked, now=NOW, limit=9)]


@given(st.integers(0, 2**40), st.integers(0, 2**20 - 1))
def test_a_units_number_holds_its_stretch_and_place(stretch: int, place: int) -> None:
    """Both come back out."""
    assert stretch_of(unit_number(stretch, place)) == (stretch, place)


def test_a_unit_with_the_word_comes_before_its_neighbour_and_strangers_not_at_all() -> None:
    """Words count in the unit itself, a little less beside it, still less in the same conversation."""
    facts = {unit: plain() for unit in (unit_number(1, 9), A, B, FAR)}

    assert ranked(facts=facts, bees=[A]) == [A, B, unit_number(1, 9)]


def test_rare_words_say_more() -> None:
    """A word that stands everywhere hardly counts."""
    everywhere = [unit_number(stretch, 1) for stretch in range(2, 90)]

    assert ranked(facts={FAR: plain(), A: plain()}, thing=[*everywhere, FAR], bees=[A])[0] == A


def test_whose_words_are_wanted_comes_first() -> None:
    """A named person's words outweigh a word in common."""
    facts = {B: plain(concerns=True), A: plain()}

    assert ranked("what did ada say", facts=facts, say=[A])[0] == B


def test_the_time_that_was_asked_for_comes_first() -> None:
    """Said in May is said in May."""
    facts = {B: plain(said_at=datetime(2026, 5, 9, tzinfo=UTC).timestamp()), A: plain()}

    assert ranked("what happened in May", facts=facts, happened=[A])[0] == B


def test_a_question_is_a_lesser_answer() -> None:
    """Of two alike, the one that asks comes last."""
    assert ranked(facts={A: plain(asks=True), FAR: plain()}, bees=[A, FAR])[0] == FAR


def test_of_two_alike_the_later_and_nearer_comes_first() -> None:
    """Recency and the same channel only break ties."""
    asked = parse_query("bees", names=[], now=NOW)
    lexical = score_words({"bees": [A, FAR]}, total=9, stretches=2)
    facts = {A: plain(channel_id=1), FAR: plain(channel_id=2)}

    assert rank_units(facts, lexical, {}, asked, now=NOW, limit=2, channel_id=1)[0][0] == A
    facts = {A: plain(said_at=0.0), FAR: plain()}
    assert rank_units(facts, lexical, {}, asked, now=NOW, limit=2)[0][0] == FAR


@given(
    st.lists(st.sampled_from([A, B, C, FAR]), min_size=1, unique=True),
    st.dictionaries(st.sampled_from([A, B, C, FAR]), st.floats(-1, 1)),
)
def test_the_shares_add_up_to_the_score(met: list[int], cosines: dict[int, float]) -> None:
    """Nothing counts that is not shown, and order follows the scores."""
    asked = parse_query("what did ada say about bees last week", names=["ada"], now=NOW)
    lexical = score_words({"bees": met}, total=9, stretches=2)
    facts = {unit: plain(concerns=True) for unit in (A, B, C, FAR)}

    found = rank_units(facts, lexical, cosines, asked, now=NOW, limit=9)

    assert {unit for unit, _ in found} == set(facts)
    assert all(e.score == pytest.approx(sum(e.signals.values())) for _, e in found)
    assert [e.score for _, e in found] == sorted((e.score for _, e in found), reverse=True)


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
