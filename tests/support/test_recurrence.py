"""What comes again and again, as people say it."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.support.future_time import WEEKDAYS
from familiar_connect.support.recurrence import MAX_DAYS, Recurrence, parse_recurrence, read_recurrence

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)
"""Eleven o'clock in Berlin."""


@pytest.mark.parametrize(
    ("words", "rule", "first", "rest"),
    [
        ("every weekday at 9 stand up", "every weekday at 09:00", "2026-11-17 09:00", "stand up"),
        ("every monday at 18:30 yoga", "every monday at 18:30", "2026-11-16 18:30", "yoga"),
        ("yoga every monday at 18:30", "every monday at 18:30", "2026-11-16 18:30", "yoga"),
        ("every 2 hours drink water", "every 2 hours", "2026-11-16 13:00", "drink water"),
        ("daily", "every day at 09:00", "2026-11-17 09:00", ""),
        ("daily at noon lunch", "every day at 12:00", "2026-11-16 12:00", "lunch"),
        ("every day at noon to eat", "every day at 12:00", "2026-11-16 12:00", "eat"),
        ("every day 2 pills", "every day at 09:00", "2026-11-17 09:00", "2 pills"),
        ("every day 9:30pm film", "every day at 21:30", "2026-11-16 21:30", "film"),
        ("at 7 every morning run", "every day at 07:00", "2026-11-17 07:00", "run"),
        ("every evening: lamps", "every day at 20:00", "2026-11-16 20:00", "lamps"),
        ("every other day water the fern", "every 2 days at 09:00", "2026-11-17 09:00", "water the fern"),
        ("water the fern every Tuesday and Friday.", "every tuesday and friday at 09:00", "2026-11-17 09:00", None),
        ("on mondays and thursdays at 8am bins", "every monday and thursday at 08:00", "2026-11-19 08:00", "bins"),
        ("weekends at ten pancakes", "every weekend at 10:00", "2026-11-21 10:00", "pancakes"),
        ("every half an hour stretch", "every 30 minutes", "2026-11-16 11:30", "stretch"),
        ("hourly stretch", "every hour", "2026-11-16 12:00", "stretch"),
        ("every 3 hours at 14:00 stretch", "every 3 hours", "2026-11-16 14:00", "stretch"),
        ("weekly at 9 rent", "every 7 days at 09:00", "2026-11-17 09:00", "rent"),
    ],
)
def test_a_rule_at_either_end_is_found(words: str, rule: str, first: str, rest: str | None) -> None:
    """With its first time on the clock of the zone, and what it is about."""
    found = parse_recurrence(words, MONDAY, BERLIN)

    assert found is not None
    assert (found.rule.words, f"{found.at.astimezone(BERLIN):%Y-%m-%d %H:%M}") == (rule, first)
    assert found.rest == ("water the fern" if rest is None else rest)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "tomorrow at nine",
        "on monday at 9 run",
        "every day at 25 x",
        "every 0 hours",
        "everyday life",
        "every 999 days",
    ],
)
def test_what_names_no_rule_is_none(words: str) -> None:
    """Nobody guesses; one day to come is no rule."""
    assert parse_recurrence(words, MONDAY, BERLIN) is None


RULES = st.one_of(
    st.builds(lambda minutes: Recurrence(minutes=minutes), st.integers(1, 9999)),
    st.builds(lambda step, at: Recurrence(step_days=step, at=at), st.integers(1, MAX_DAYS), st.times()),
    st.builds(
        lambda days, at: Recurrence(days=tuple(sorted(days)), at=at),
        st.sets(st.integers(0, len(WEEKDAYS) - 1), min_size=1),
        st.times(),
    ),
)


@given(RULES, st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1)))
def test_a_rule_reads_back_as_it_was_written_and_goes_on(rule: Recurrence, moment: datetime) -> None:
    """Each time lies after the last one, and no further off than the rule says."""
    rule = Recurrence(
        minutes=rule.minutes, step_days=rule.step_days, days=rule.days, at=time(rule.at.hour, rule.at.minute)
    )
    now = moment.replace(tzinfo=UTC)
    assert read_recurrence(rule.words) == (rule if not rule.minutes else Recurrence(minutes=rule.minutes))
    first = rule.next_after(now, BERLIN)
    second = rule.next_after(first, BERLIN, last=first)
    apart = timedelta(minutes=rule.minutes) if rule.minutes else timedelta(days=max(rule.step_days, 7))
    assert now < first < second <= first + apart + timedelta(hours=1)


def test_after_an_absence_it_goes_on_in_its_own_step() -> None:
    """What was missed meanwhile is not made up for."""
    last = datetime(2026, 11, 1, 8, 0, tzinfo=UTC)

    assert Recurrence(step_days=2).next_after(MONDAY, BERLIN, last=last) == datetime(2026, 11, 17, 8, 0, tzinfo=UTC)
    assert Recurrence(minutes=120).next_after(MONDAY, BERLIN, last=last) == MONDAY + timedelta(hours=2)


def test_a_rule_of_days_keeps_to_the_clock_on_the_wall() -> None:
    """Nine stays nine when the clocks go back; a rule of hours counts the hours that pass."""
    before = datetime(2026, 10, 24, 7, 0, tzinfo=UTC)

    assert Recurrence(step_days=1).next_after(before, BERLIN, last=before) == datetime(2026, 10, 25, 8, 0, tzinfo=UTC)
    assert Recurrence(minutes=1440).next_after(before, BERLIN, last=before) == before + timedelta(days=1)
