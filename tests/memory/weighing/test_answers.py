"""What takes the place of something said before."""

from __future__ import annotations

import pytest

from familiar_connect.memory.weighing.answers import replaces


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("I live in Vienna now", "I moved to Graz"),
        ("my sister lives in Bern", "My sister moved to Basel"),
        ("I'm not vegan any more", "I'm vegan"),
        ("actually I'm 33, not 32", "I'm 32"),
        ("My favourite colour is blue", "my favourite colour is green"),
        ("I have three cats now", "I have two cats"),
        ("the operation is on the 3rd of June", "My operation is on the 12th of May"),
        ("we broke up", "we're dating"),
    ],
)
def test_a_later_value_replaces_an_earlier(new: str, old: str) -> None:
    """For the same person and the same question."""
    assert replaces(new, old)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("I live in Graz with two cats", "I moved to Graz"),
        ("My sister lives in Bern", "I live in Graz"),
        ("I grew up in Linz", "I live in Vienna"),
        ("my favourite food is pizza", "my favourite colour is green"),
        ("I live in a small flat", "I live in Graz"),
        ("I'm divorced", "We married on the twelfth of March 1974"),
        ("I got the job", "I live in Vienna"),
        ("I'm vegan", "I'm vegan"),
    ],
)
def test_what_can_both_be_true_stays(new: str, old: str) -> None:
    """Other people, other questions, the same value, what was."""
    assert not replaces(new, old)
