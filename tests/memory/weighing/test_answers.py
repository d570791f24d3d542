"""What takes the place of something said before."""

from __future__ import annotations

import pytest

from familiar_connect.memory.weighing.answers import is_slip, replaces, takes_back


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
        ("I don't eat meat any more", "I eat meat every day"),
        ("I'm not allergic to nuts, they tested it again", "I'm allergic to nuts"),
        ("I eat meat again", "I don't eat meat"),
        ("I can swim now", "I can't swim"),
        ("my sister doesn't live in Basel any more", "my sister lives in Basel"),
        ("I'm not going to Crete", "We're going to Crete in May"),
        ("we sold the Volvo", "I drive an old Volvo"),
        ("I quit smoking", "I smoke"),
        ("I left the choir in May", "I sing in a choir"),
        ("gave up the allotment", "we have an allotment by the river"),
        ("stopped taking metformin", "I take metformin for my sugar"),
        ("I switched from biology to law", "I study biology"),
        ("I hate coriander now", "I love coriander"),
        ("I can't stand jazz", "I love jazz"),
        ("we're selling the house", "I want to stay in this house"),
        ("I turned 33 yesterday", "I'm 32"),
        ("my son turned 5", "my son is 4 now."),
        ("the appointment is on Thursday now", "My appointment is on Tuesday"),
        ("the exam got moved to September", "my exam is in June"),
        ("so the wedding in June is off", "We're getting married on the 12th of June."),
        ("I work as a nurse now", "I work as a baker"),
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
        ("I didn't eat meat today", "I eat meat every day"),
        ("I don't like Mondays", "I like tea"),
        ("my sister doesn't eat meat", "I eat meat"),
        ("I'm not in Vienna", "I live in Vienna"),
        ("I don't work today", "I work at the mill"),
        ("I'm not very good at chess", "I'm good at chess"),
        ("I don't only drink coffee", "I drink coffee"),
        ("we're not married", "my sister is married"),
        ("my brother sold his car", "I drive a red car"),
        ("I might sell the Volvo", "I drive an old Volvo"),
        ("I sold my cello", "I play the cello in a band"),
        ("I left the house at six", "we have a house in Crete"),
        ("I stopped at the bakery", "I work at the bakery"),
        ("I hate tea", "I love coffee"),
        ("I love coffee in the morning", "I love coffee"),
        ("I'm never selling this house", "I want to stay in this house"),
        ("I put my name on the list for the choir", "I want to stay in this house"),
        ("my appointment is on Thursday", "My appointment is on Tuesday"),
        ("my sister's wedding is on the 3rd of May", "Our wedding is on the 4th of June"),
        ("my daughter turned 7", "my son is 4 now."),
        ("I study hard", "I study biology"),
    ],
)
def test_what_can_both_be_true_stays(new: str, old: str) -> None:
    """Other people, other questions, the same value, what was."""
    assert not replaces(new, old)


def test_a_question_or_a_joke_takes_nothing_back() -> None:
    """Only what is said as it is."""
    booked = "We booked a trip to Crete"

    assert takes_back("the trip to Crete is off", booked)
    assert not takes_back("Should we call the trip to Crete off after all?", booked)
    assert not takes_back("lol imagine the trip to Crete is off", booked)
    assert not takes_back(booked, booked)


@pytest.mark.parametrize(
    ("message", "takes_all_back"),
    [("jk", True), ("haha just kidding!", True), ("Scratch that.", True), ("scratch that plan for Friday", False)],
)
def test_a_message_that_only_takes_the_last_one_back(message: str, takes_all_back: bool) -> None:
    """By itself, without a word on what."""
    assert is_slip(message) is takes_all_back
