"""The time macros: moment's tokens and lengths of time, from a clock that was handed in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from familiar_connect.presets.macros.clock import format_moment, humanize, read_date
from familiar_connect.presets.macros.engine import substitute
from familiar_connect.presets.macros.types import MacroContext

NOW = datetime(2023, 11, 2, 0, 4, 9, 120_000, tzinfo=timezone(timedelta(hours=5, minutes=30)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{time}}", "12:04 AM"),
        ("{{date}}", "November 2, 2023"),
        ("{{weekday}}", "Thursday"),
        ("{{isotime}} {{isodate}}", "00:04 2023-11-02"),
        ("{{datetimeformat DD.MM.YY HH:mm}}", "02.11.23 00:04"),
        ("{{datetimeformat::dddd [the] Do}}", "Thursday the 2nd"),
        ("{{time_UTC+2}} {{time::UTC-3}} {{time::UTC+90}}", "8:34 PM 3:34 PM 8:04 PM"),
        ("{{time::utc+2}}", "12:04 AM"),
        ("{{timeDiff::2023-01-02 10:00:00::2023-01-02 10:30:00}}", "30 minutes ago"),
        ("{{timeDiff::never::2023-01-02}}", "Invalid date"),
        ("{{timeDiff::2025-W10-3::2025-W10}} {{timeDiff::2025-060::2025-070}}", "in 2 days 10 days ago"),
        ("{{timeDiff::2025-3-1 5:00::2025.03.01}} {{timeDiff::Mar 2025::Jan 2025}}", "in 5 hours in 2 months"),
        ("{{timeDiff::Fri, 14 Mar 2025 10:00:00 GMT::Fri, 14 Mar 2025 12:00:00 +0000}}", "2 hours ago"),
        ("{{datetimeformat::yo}} {{datetimeformat::[a]b]}}", "2023rd a]b"),
    ],
)
def test_time_is_written_as_in_sillytavern(text: str, expected: str) -> None:
    """In the zone of the clock, or so many hours from UTC."""
    assert expected == substitute(text, MacroContext(now=NOW))


def test_without_a_clock_it_is_the_epoch() -> None:
    """A call without a clock repeats."""
    assert substitute("{{isodate}} {{isotime}}", MacroContext()) == "1970-01-01 00:00"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("YYYY YY Y Q Qo M Mo MM MMM MMMM", "2023 23 2023 4 4th 11 11th 11 Nov November"),
        ("D Do DD DDD DDDo DDDD", "2 2nd 02 306 306th 306"),
        ("d do dd ddd dddd e E", "4 4th Th Thu Thursday 4 4"),
        ("w wo ww W Wo WW gggg GG", "44 44th 44 44 44th 44 2023 23"),
        ("H HH h hh k kk m mm s ss", "0 00 12 12 24 24 4 04 9 09"),
        ("S SS SSS a A Z ZZ", "1 12 120 am AM +05:30 +0530"),
        ("LT LTS L LL", "12:04 AM 12:04:09 AM 11/02/2023 November 2, 2023"),
        ("l ll lll", "11/2/2023 Nov 2, 2023 Nov 2, 2023 12:04 AM"),
        ("[L] \\D X", "L D 1698863649"),
    ],
)
def test_tokens_mean_what_they_mean_in_moment(pattern: str, expected: str) -> None:
    """Every token of the usual tables."""
    assert expected == format_moment(NOW, pattern)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "a few seconds"),
        (44, "a few seconds"),
        (45, "a minute"),
        (90, "2 minutes"),
        (45 * 60, "an hour"),
        (90 * 60, "2 hours"),
        (22 * 3600, "a day"),
        (36 * 3600, "2 days"),
        (26 * 86400, "a month"),
        (46 * 86400, "2 months"),
        (345 * 86400, "a year"),
        (700 * 86400, "2 years"),
    ],
)
def test_lengths_are_rounded_as_people_say_them(seconds: int, words: str) -> None:
    """At the same thresholds as moment."""
    assert words == humanize(timedelta(seconds=seconds))


@pytest.mark.parametrize("text", ["2024-02-03", "2024-02-03T00:00:00Z", "February 3, 2024", "20240203", "02/03/2024"])
def test_dates_are_read_in_the_usual_orders(text: str) -> None:
    """ISO first, then English."""
    assert datetime(2024, 2, 3, tzinfo=UTC) == read_date(text, UTC)


def test_idle_time_counts_from_the_message_before() -> None:
    """Nobody said anything before: just now."""
    assert substitute("{{idle_duration}}", MacroContext(now=NOW)) == "just now"
