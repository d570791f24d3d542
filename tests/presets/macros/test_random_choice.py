"""Chance: choices, picks, dice, and the last pass over a prompt."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.presets.macros.engine import expand, substitute
from familiar_connect.presets.macros.random_choice import (
    SeededRandom,
    has_choice,
    pick_index,
    roll_choices,
    string_hash,
)
from familiar_connect.presets.macros.types import MacroContext


class Fixed(random.Random):
    """A source of chance that always says the same."""

    value = 0.5

    def random(self) -> float:
        return self.value


class Lowest(Fixed):
    value = 0.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{random: red , blue}}", "red"),
        ("{RANDOM::x::y}", "x"),
        ("{{ random :: x , z :: y }}", "x , z"),
        ("{{random::::}}", ""),
        ("{{random:a,{b}}}", "{{random:a,{b}}}"),
        ("{{random:a\\,b,c}}", "a,b"),
        ("{{random}} {{random:}}", "{{random}} {{random:}}"),
        ("{random} {{random", "{random} {{random"),
        ("{{random::,::b}}", ","),
        ("{{pick::a::b}} {{roll:d6}}", "{{pick::a::b}} {{roll:d6}}"),
    ],
)
def test_the_last_pass_rolls_what_still_stands(text: str, expected: str) -> None:
    """Both brace forms, any case; options trimmed, empty ones dropped; no list, no choice."""
    assert expected == roll_choices(text, Lowest())
    assert has_choice(text) is (expected != text)


def test_each_occurrence_is_rolled_by_itself() -> None:
    """One choice does not decide the next."""
    rolled = roll_choices("{{random::a::b}}" * 64, random.Random(3))

    assert {"a", "b"} == set(rolled)


@given(st.text("{}random:, ab\\", max_size=60))
def test_text_without_a_choice_keeps_its_identity(text: str) -> None:
    """The same object comes back, and rolling twice changes nothing more."""
    once = roll_choices(text, Fixed())

    assert has_choice(text) or once is text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{random::a::b::c}}", "b"),
        ("{{random:a,b,c,d}}", "c"),
        ("{{random:x::y}}", "y"),
        ("{{random:a\\,b}}", "a,b"),
        ("{{random::{{user}}}}", "User"),
        ("{{roll:d6}} {{roll:6}} {{roll 2d6+3}} {{roll::1D4-9}}", "4 4 11 -6"),
        ("[{{roll:none}}{{roll:0d6}}{{roll:d0}}{{roll:2 d6}}]", "[]"),
    ],
)
def test_chance_where_it_stands(text: str, expected: str) -> None:
    """The middle of the source is the middle of the list and of the die."""
    assert expected == substitute(text, MacroContext(rng=Fixed()))


@pytest.mark.parametrize("formula", ["999999d999999", "101d6", "1d1001", "1d6+" + "9" * 5000])
def test_too_many_dice_come_to_nothing(formula: str) -> None:
    """C45: a hundred dice of a thousand sides are the most; the report says so."""
    found = expand("{{roll:" + formula + "}}", MacroContext())

    assert found.text == ""
    assert found.limits == ("rolls",)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("{{random::{{user}}::b}}", "{{random::User::b}}"),
        ("{{random: a , b\\,c}}", "{{random::a::b,c}}"),
        ("{{if user}}{{random::a::b}}{{/if}}", "{{random::a::b}}"),
        ("{{reverse::{{random::ab::ab}}}}", "ba"),
        ("{{random::{a}::{a}}}", "{a}"),
        ("{{random}}", "{{random}}"),
    ],
)
def test_a_choice_that_stands_alone_waits_for_the_last_pass(text: str, left: str) -> None:
    """Its options are worked out; inside another macro, or with braces in an option, it is made at once."""
    assert left == expand(text, MacroContext(), defer_random=True).text


def test_a_pick_depends_on_chat_text_and_place() -> None:
    """The same always picks the same; another chat may pick otherwise."""
    text = "{{pick::a::b::c::d}}" * 8
    picks = {chat: substitute(text, MacroContext(chat_id=chat)) for chat in "uvwxyz"}

    assert picks["u"] == substitute(text, MacroContext(chat_id="u", rng=random.Random(9)))
    assert len(set(picks.values())) > 1
    assert all(len(set(picked)) > 1 for picked in picks.values())


def test_a_pick_counts_its_place_in_wide_characters() -> None:
    """A character beyond the first plane counts twice; inside a branch places count from the condition on."""
    text, options = "🦊🦊{{pick::a::b::c::d::e::f::g}}", "abcdefg"
    block = "xy{{if user}}  z{{pick::a::b::c::d::e::f::g}}{{/if}}"

    assert substitute(text, MacroContext(chat_id="k"))[2] == options[pick_index("k", text, 4, 7)]
    assert substitute(block, MacroContext(chat_id="k"))[3] == options[pick_index("k", block, 5, 7)]


def test_the_hash_has_fifty_three_bits() -> None:
    """Values that were worked out elsewhere."""
    assert string_hash("") == 3338908027751811
    assert string_hash("a") == 7929297801672961


def test_the_seeded_stream_repeats() -> None:
    """Numbers that were worked out elsewhere, in order."""
    stream = SeededRandom("hello")

    assert [stream.random(), stream.random()] == [0.5463663768140734, 0.4397379377059223]


@given(st.text(max_size=20))
def test_any_seed_gives_numbers_below_one(seed: str) -> None:
    """An empty seed too."""
    assert 0 <= SeededRandom(seed).random() < 1
