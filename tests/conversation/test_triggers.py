"""What makes the familiar consider speaking."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.types import Interjection
from familiar_connect.conversation.buffer import InterjectionSchedule, interjection_interval, is_direct_address

ZERO_WIDTH, RIGHT_TO_LEFT = "\u200b", "\u202e"


@pytest.mark.parametrize(
    "text",
    [
        "Ember, hello",
        "hello EMBER!",
        "is that ember?",
        "(ember)",
        "ember's fire",
        "hey em",
        "Ｅｍｂｅｒ, wide",
        f"E{ZERO_WIDTH}mber",
        f"{RIGHT_TO_LEFT}Ember",
        "E\u00admber",
        "Ember\ufe0f?",
        "call Lady   Ashes now",
        "Ember、元気？",
    ],
)
def test_the_name_or_an_alias_is_a_direct_address_however_it_is_written(text: str) -> None:
    """In any case and width, with whatever invisible characters in it."""
    assert is_direct_address(text, "Ember", ["em", "lady ashes"], is_mention=False)


@pytest.mark.parametrize("text", ["", "remember", "embers glow", "ember_bot", "Ember2", "them", "Em\u0308mer", "Embeŕ"])
def test_part_of_a_word_is_none(text: str) -> None:
    """Nor is a letter more, or an accent more."""
    assert not is_direct_address(text, "Ember", ["em"], is_mention=False)


@pytest.mark.parametrize("text", ["nice <:ember:123456>", "<a:ember:1><:ember:2>", "see https://ember.example/ember?"])
def test_an_emoji_or_an_address_calls_nobody(text: str) -> None:
    """Though the name is in it."""
    assert not is_direct_address(text, "Ember", [], is_mention=False)
    assert is_direct_address(f"{text} Ember", "Ember", [], is_mention=False)


@pytest.mark.parametrize(
    ("text", "name", "named"),
    [
        ("花子さん、こんにちは", "花子", True),
        ("花火が見たい", "花", False),
        ("エンさん", "エン", True),
        ("エンジンが壊れた", "エン", False),
        ("さくらちゃん！", "さくら", True),
        ("지민아 안녕", "지민", True),
        ("สวัสดีมะลิ", "มะลิ", True),
        ("привет, Искра!", "искра", True),
        ("искрами", "искра", False),
        ("يا ليلى، أين أنت؟", "ليلى", True),
        ("नमस्ते तारा", "तारा", True),
        ("ΣΊΣΥΦΟΣ έλα", "Σίσυφος", True),
        ("STRASSE hier", "Straße", True),
    ],
)
def test_names_of_any_script_are_found_as_words_of_it(text: str, name: str, named: bool) -> None:
    """Where no spaces part words, a change of letters does."""
    assert is_direct_address(text, name, [], is_mention=False) is named


def test_a_mention_needs_no_name_and_a_name_of_nothing_is_never_found() -> None:
    """A zero-width name is not in every message."""
    assert is_direct_address("hello", "Ember", [], is_mention=True)
    assert not is_direct_address("hello", ZERO_WIDTH, ["", " "], is_mention=False)


def test_a_page_of_almost_names_is_read_in_a_moment() -> None:
    """Time grows with the text and no faster."""
    began = time.process_time()
    assert not is_direct_address("a" * 200_000, "a" * 100, ["ﷺ" * 10], is_mention=False)
    assert not is_direct_address("ﷺ" * 200_000, "Ember", [], is_mention=False)

    assert time.process_time() - began < 2.0


INVISIBLE = "\u115f\u1160\u3164\uffa0"
"""Letters by name that show nothing: no name is made of them alone."""


@given(
    st.text(
        alphabet=st.characters(categories=["Lu", "Ll", "Lo"], exclude_characters=INVISIBLE), min_size=1, max_size=12
    ),
    st.sampled_from([" ", ", ", "! ", "\n", "… "]),
)
def test_a_name_between_marks_is_always_found(name: str, mark: str) -> None:
    """Whatever letters it is made of."""
    assert is_direct_address(f"so{mark}{name.swapcase()}{mark}then", name.swapcase(), [], is_mention=False)


TIERS = st.sampled_from(list(Interjection))


@pytest.mark.parametrize(("checks", "interval"), [(0, 9), (1, 6), (2, 3), (3, 3), (50, 3)])
def test_intervals_shrink_by_three_down_to_three(checks: int, interval: int) -> None:
    """Without jitter at the middle of the dice."""
    assert interjection_interval(Interjection.average, checks, lambda: 0.5) == interval


@given(TIERS, st.integers(0, 100), st.floats(0, 1, exclude_max=True))
def test_jitter_is_two_at_most_and_three_the_least(tier: Interjection, checks: int, roll: float) -> None:
    """Nobody can set a clock by it."""
    steady = interjection_interval(tier, checks, lambda: 0.5)
    jittered = interjection_interval(tier, checks, lambda: roll)

    assert abs(jittered - steady) <= 2
    assert jittered >= 3


@pytest.mark.parametrize(("roll", "interval"), [(0.0, 7), (0.2, 8), (0.4, 9), (0.6, 10), (0.8, 11), (0.999, 11)])
def test_a_look_is_as_often_early_as_late(roll: float, interval: int) -> None:
    """Five equal chances around the middle."""
    assert interjection_interval(Interjection.average, 0, lambda: roll) == interval


@given(TIERS, st.lists(st.sampled_from(["heard", "restart"]), max_size=200), st.randoms(use_true_random=False))
def test_looks_come_no_oftener_than_every_third_message(tier: Interjection, events: list[str], rng: object) -> None:
    """And each within two of its interval from the one before."""
    schedule = InterjectionSchedule(tier, rng.random)  # type: ignore[attr-defined]
    since = 0
    for event in events:
        if event == "restart":
            schedule.restart()
            since = 0
            continue
        schedule.count_message()
        since += 1
        if schedule.is_due:
            assert since >= 3
            schedule.schedule_next()
            assert not schedule.is_due
            since = 0
        assert since <= tier.starting_interval + 2


def test_a_schedule_counts_messages_up_to_a_look_and_comes_sooner_after_each() -> None:
    """Nothing said: fewer messages to the next look; begun anew: as many as at first, those heard already included."""
    interjection = next(each for each in Interjection if each.starting_interval >= 9)
    first, middle = interjection.starting_interval, 0.5
    schedule = InterjectionSchedule(interjection, lambda: middle)

    def messages_to_the_next_look() -> int:
        count = 0
        while not schedule.is_due and count < 100:
            schedule.count_message()
            count += 1
        return count

    assert messages_to_the_next_look() == first
    schedule.schedule_next()
    assert messages_to_the_next_look() == first - 3
    schedule.schedule_next()
    assert messages_to_the_next_look() == first - 6
    schedule.restart()
    assert messages_to_the_next_look() == first
    schedule.restart(count=2)
    assert messages_to_the_next_look() == first - 2
    schedule.schedule_next()
    assert messages_to_the_next_look() == first - 3
