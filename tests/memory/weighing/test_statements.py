"""What is worth keeping of what people say, by rules alone."""

from __future__ import annotations

import pytest

from familiar_connect.memory.weighing.statements import StatementReader, weigh_line


def kept(*messages: str, others: tuple[str, ...] = (), is_alone: bool = False) -> list[str]:
    reader = StatementReader(others=others, is_alone=is_alone)
    return [statement.sentence for message in messages for statement in reader.read(message)]


@pytest.mark.parametrize(
    "lasting",
    [
        "Jonas proposed",
        "I said yes",
        "I'm lactose intolerant",
        "my mum got diagnosed with asthma",
        "we broke up in march",
        "my grandad passed away last year",
        "i got the job!!",
        "My exam is on the 14th of May.",
        "im gonna move to Porto next year",
        "i've never liked olives",
    ],
)
def test_events_health_plans_and_likes_are_kept(lasting: str) -> None:
    """As people type them."""
    assert kept(lasting) == [lasting]


@pytest.mark.parametrize(
    "passing",
    [
        "I hate Mondays",
        "my wifi is down again",
        "i'm so tired today",
        "it's raining again",
        "my laptop is updating",
        "we lost 3 games in a row",
        "i nearly died laughing",
        "my bus is late",
        "I had soup for lunch",
    ],
)
def test_moods_weather_meals_and_gadgets_are_not(passing: str) -> None:
    """They are over tomorrow."""
    assert kept(passing) == []


def test_whoever_was_told_of_is_he_and_she_in_the_next_messages() -> None:
    """Pronouns have nobody to stand for in a room where nobody was told of."""
    assert kept("My husband Karl was a train driver.", "He died in 2019.")[1] == "He died in 2019."
    assert kept("his name is Peter", "he is 30", others=("Bo",)) == []


def test_a_name_that_was_given_stands_for_the_person() -> None:
    """However it is written then."""
    assert (
        kept("my brother Sami moved to Oslo", "nice", "ok", "hm", "yes", "sami lost his job")[-1] == "sami lost his job"
    )


def test_what_is_said_of_others_in_the_room_is_left_to_them() -> None:
    """They speak for themselves."""
    assert kept("Bo is allergic to nuts", "bo got the job", others=("Bo",)) == []


def test_a_line_weighs_by_itself_whomever_it_is_about() -> None:
    """Events weigh more than likes, and small talk nothing."""
    assert weigh_line("She died in 2019.") > weigh_line("I like tea.") > weigh_line("nice weather") == 0


def test_a_few_words_behind_what_is_kept_go_with_it() -> None:
    """What names no subject of its own is part of the sentence before it; anything else stands alone."""
    assert kept("I've met somebody new. The cook from the ferry, Anselm.") == [
        "I've met somebody new. The cook from the ferry, Anselm."
    ]
    assert kept("My exam is on the 14th of May. it's raining again") == ["My exam is on the 14th of May."]
    assert kept("My exam is on the 14th of May. You too?") == ["My exam is on the 14th of May."]


def test_who_somebody_is_outlasts_how_they_felt() -> None:
    """The name of a sister is kept though she cried."""
    assert kept("my sister Imke cried all through it") == ["my sister Imke cried all through it"]


@pytest.mark.parametrize(
    "passing",
    [
        "idk i like spreadsheets now",
        "i told Marek the dogs were engaged",
        "there was a man playing the tuba, badly",
        "it's the last of october and i'm wearing sandals",
        "the neighbours love us",
    ],
)
def test_hedges_reports_strangers_and_bare_dates_are_not(passing: str) -> None:
    """They tell nothing of the one who says them."""
    assert kept(passing) == []
