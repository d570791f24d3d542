"""Moments to come, as people say them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.support.future_time import parse_future_time

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)
"""Eleven o'clock in Berlin."""


@pytest.mark.parametrize(
    ("words", "at", "rest"),
    [
        ("in 20 minutes tea", "2026-11-16 11:20", "tea"),
        ("in 1h30m check the oven", "2026-11-16 12:30", "check the oven"),
        ("in 2 hours and 5 minutes to stretch", "2026-11-16 13:05", "stretch"),
        ("in an hour", "2026-11-16 12:00", ""),
        ("call Mum in half an hour", "2026-11-16 11:30", "call Mum"),
        ("in a week that holidays begin", "2026-11-23 11:00", "holidays begin"),
        ("tomorrow at nine call Mum", "2026-11-17 09:00", "call Mum"),
        ("call Mum tomorrow at nine", "2026-11-17 09:00", "call Mum"),
        ("tomorrow: water the fern", "2026-11-17 09:00", "water the fern"),
        ("tomorrow 9:30pm film", "2026-11-17 21:30", "film"),
        ("at 14:30 that the bus goes", "2026-11-16 14:30", "the bus goes"),
        ("at 9 rise", "2026-11-17 09:00", "rise"),
        ("at noon tomorrow lunch", "2026-11-17 12:00", "lunch"),
        ("tonight at nine moon", "2026-11-16 21:00", "moon"),
        ("on Monday at 9am to run", "2026-11-23 09:00", "run"),
        ("next friday", "2026-11-20 09:00", ""),
        ("the day after tomorrow at 7 rest", "2026-11-18 07:00", "rest"),
        ("2026-12-24 18:00 presents", "2026-12-24 18:00", "presents"),
        ("2026-12-24T18:00 presents", "2026-12-24 18:00", "presents"),
        ("2027-03-28 02:30 the clocks jump over this", "2027-03-28 03:30", "the clocks jump over this"),
    ],
)
def test_a_time_at_either_end_is_found(words: str, at: str, rest: str) -> None:
    """In local time; what is left is what it is about."""
    found = parse_future_time(words, MONDAY, BERLIN)

    assert found is not None
    assert (f"{found.at.astimezone(BERLIN):%Y-%m-%d %H:%M}", found.rest) == (at, rest)


@pytest.mark.parametrize("words", ["", "soon", "buy 9 apples", "at 25", "on 2026-13-40", "in a moment", "tomorrowish"])
def test_what_names_no_time_is_none(words: str) -> None:
    """Nobody guesses."""
    assert parse_future_time(words, MONDAY, BERLIN) is None


PIECES = [
    "in",
    "at",
    "on",
    "tomorrow",
    "nine",
    "9",
    ":30",
    "pm",
    "2026-02-30",
    "99999",
    "weeks",
    "h",
    "and",
    "x",
    " ",
    ",",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.text(max_size=30))
def test_whatever_is_said_is_a_time_or_none(pieces: list[str], more: str) -> None:
    """No words break it, and a span lies ahead."""
    found = parse_future_time(" ".join(pieces) + more, MONDAY, BERLIN)

    assert found is None or found.at.tzinfo is UTC
