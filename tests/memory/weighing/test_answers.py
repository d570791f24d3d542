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
        ("we're moving back to Lyon in autumn", "I live in Ghent"),
        ("moved to Oslo last week", "I live in Bergen"),
        ("I started at the brewery", "I work at the post office"),
        ("we found a flat with a balcony!", "we're looking for a bigger flat"),
        ("adopted a puppy", "I want a dog so badly"),
        ("the trip to Crete fell through", "We booked a trip to Crete for May"),
        ("I changed my mind about the tattoo", "I'm getting a tattoo in July"),
        ("we split up", "I've met somebody"),
        ("not the harbour though, we take the old school", "the party is at the harbour"),
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
        ("we found a car for the holidays", "we're looking for a bigger flat"),
        ("we still need a bigger flat, I found a lamp", "we need a flat with a garden"),
        ("not the harbour though, it was windy", "I work at the post office"),
        ("the concert fell through", "We booked a trip to Crete for May"),
        ("my brother started at the brewery", "I work at the post office"),
    ],
)
def test_what_can_both_be_true_stays(new: str, old: str) -> None:
    """Other people, other questions, the same value, what was."""
    assert not replaces(new, old)
