"""Which sentences are facts their speaker tells about themselves."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.extractive_facts import BAR, read_sentences, score_sentences
from familiar_connect.memory.weighing.statements import find_self_statements


@pytest.mark.parametrize("tuned", [True, False])
def test_facts_are_told_from_the_rest(tuned: bool) -> None:
    """Precision and recall hold on the half the rules were tuned on and on the other."""
    score = score_sentences(sentence for sentence in read_sentences() if sentence.is_tuned is tuned)

    assert score.precision >= BAR
    assert score.recall >= BAR


def test_there_are_enough_labelled_sentences() -> None:
    """Two hundred, about as many facts as others, in both halves."""
    every = read_sentences()

    assert len(every) >= 200
    for tuned in (True, False):
        half = [sentence for sentence in every if sentence.is_tuned is tuned]
        assert len(half) >= 90
        assert 0.4 <= sum(sentence.fact for sentence in half) / len(half) <= 0.6


@pytest.mark.parametrize(
    "plain",
    [
        "I'm Sam",
        "my name is Sam",
        "I love tea",
        "I have two cats",
        "I'm a nurse",
        "it's my birthday tomorrow",
        "my sister is Anna",
    ],
)
def test_plain_words_about_oneself_are_kept(plain: str) -> None:
    """As they were typed, with a full stop or without."""
    assert find_self_statements(plain) == [plain]
    assert find_self_statements(f"{plain}.") == [f"{plain}."]


def test_a_fact_before_a_question_is_kept_without_the_question() -> None:
    """Introductions often ask back."""
    assert find_self_statements("Hi! I'm Sam, what's your name?") == ["I'm Sam"]


def test_facts_stand_by_themselves_in_a_longer_message() -> None:
    """Every line and sentence is judged by itself."""
    text = "hey there\nI'm a nurse. Can you help me?\n> I live in Paris\nmy dog is called \u201cRex\u201d"

    assert find_self_statements(text) == ["I'm a nurse.", "my dog is called \u201cRex\u201d"]


def test_curly_apostrophes_read_like_straight_ones() -> None:
    """Telephones type them."""
    assert find_self_statements("I\u2019m a nurse") == ["I\u2019m a nurse"]


@pytest.mark.parametrize(
    "passing",
    [
        "I need advice about my boss",
        "I have a question about my cat",
        "In the game I am a wizard",
        "Write a bio: I am a nurse from Leeds",
        "[2024-01-01 12:00] Carol: I love cheese",
        "I cast fireball",
        "You're my favorite bot",
    ],
)
def test_requests_pasted_lines_and_play_are_no_facts(passing: str) -> None:
    """Though they speak in the first person."""
    assert find_self_statements(passing) == []


@given(st.text(max_size=400))
def test_whatever_is_typed_only_its_own_words_come_back(text: str) -> None:
    """Every statement stands in the message."""
    assert all(statement and statement in text for statement in find_self_statements(text))


@pytest.mark.parametrize(
    "long", ["my dog " + "a" * 5_000, "(" * 5_000, " " * 5_000, "i'm " + "so " * 2_000, '"' * 5_000, "- " * 2_500]
)
def test_no_message_makes_the_rules_slow(long: str) -> None:
    """Bounded work, whatever somebody pastes."""
    began = time.process_time()
    find_self_statements(long)

    assert time.process_time() - began < 2.0
