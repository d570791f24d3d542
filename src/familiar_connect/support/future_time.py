"""parse_future_time: a moment to come, as people say it: "in 20 minutes", "tomorrow at nine", "on 2026-11-17 at 14:30".

English words and numbers. An hour alone is on the 24-hour clock; a day alone means nine in the morning; what would be
past by then is the next day's, or the next week's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache

MAX_CHARS = 2_000
MORNING, EVENING = time(9, 0), time(20, 0)

NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: number for number, word in enumerate(NUMBER_WORDS, start=1)}
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WORDS = "|".join(NUMBER_WORDS)
_UNITS = {"m": 1, "h": 60, "d": 1440, "w": 10_080}
"""First letter of a unit → minutes."""
_AMOUNT = (
    rf"(?P<n>\d{{1,5}}\s*|(?:half\s+an|an|a|{_WORDS})\s+)"
    r"(?P<u>minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)(?![a-z])"
)
_PART = re.compile(_AMOUNT)
_PLAIN_AMOUNT = re.sub(r"\?P<\w>", "?:", _AMOUNT)
_RELATIVE = rf"in\s+(?P<span>{_PLAIN_AMOUNT}(?:\s*(?:,|and)?\s*{_PLAIN_AMOUNT}){{0,3}})"
CLOCK = (
    rf"(?:(?P<hour{{0}}>\d{{{{1,2}}}})(?:[:.](?P<minute{{0}}>\d\d))?(?:\s*(?P<half{{0}}>[ap])\.?m\b\.?)?"
    rf"|(?P<word{{0}}>noon|midnight|{_WORDS})\b)(?:\s*o['’]?clock\b)?(?![\d:])"
)
"""A time of day; its number tells the groups of several in one pattern apart."""
_DAY = (
    r"(?:on\s+)?(?P<day{0}>today|tonight|tomorrow|the\s+day\s+after\s+tomorrow|(?:next\s+)?(?:"
    + "|".join(WEEKDAYS)
    + r")|\d{{4}}-\d\d-\d\d)(?![\w-])"
)
_FORMS = (
    _RELATIVE,
    r"(?P<day3>\d{4}-\d\d-\d\d)t" + CLOCK.format(3),
    _DAY.format(0) + r"(?:\s*,?\s+(?:at\s+)?" + CLOCK.format(0) + r")?",
    r"at\s+" + CLOCK.format(1) + r"(?:\s*,?\s+" + _DAY.format(1) + r")?",
)
_LEAD = re.compile(r"\s*(?:to|that|about)\s+", re.IGNORECASE)


@cache
def _begins() -> tuple[re.Pattern[str], ...]:
    """Compiled when first asked for: whoever starts a chat need not wait for it."""
    return tuple(re.compile(rf"\s*{form}[\s,:]*", re.IGNORECASE) for form in _FORMS)


@cache
def _ends() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"(?:^|[\s,]){form}[\s.!]*$", re.IGNORECASE) for form in _FORMS)


@dataclass(frozen=True, kw_only=True)
class FutureTime:
    """A moment that was named, in UTC, and the words beside it."""

    at: datetime
    rest: str


def parse_future_time(words: str, now: datetime, zone: tzinfo) -> FutureTime | None:
    """The moment that *words* begin or end with, counted from *now* in *zone*; None where there is none, or too far."""
    words = words[:MAX_CHARS]
    local = now.astimezone(zone)
    for pattern in _begins():
        found = pattern.match(words)
        if found is not None and (at := _moment(found, local)) is not None:
            return FutureTime(at=at, rest=_LEAD.sub("", words[found.end() :], count=1).strip())
    for pattern in _ends():
        found = pattern.search(words)
        if found is not None and (at := _moment(found, local)) is not None:
            return FutureTime(at=at, rest=_LEAD.sub("", words[: found.start()], count=1).strip())
    return None


def _moment(found: re.Match[str], now: datetime) -> datetime | None:
    try:
        given = {key: value.lower() for key, value in found.groupdict().items() if value is not None}
        if "span" in given:
            return (now + _span(given["span"])).astimezone(UTC)
        at = read_clock(given)
        local = _local_moment(_value(given, "day"), at, now)
        return local.astimezone(UTC) if local is not None else None
    except (OverflowError, ValueError):
        return None


def _span(words: str) -> timedelta:
    return timedelta(
        minutes=sum(_number(part["n"]) * _UNITS[part["u"][0].lower()] for part in _PART.finditer(words.lower()))
    )


def _number(word: str) -> float:
    word = word.strip()
    if word.isdigit():
        return float(word)
    return 0.5 if word.startswith("half") else float(_NUMBERS.get(word, 1))


def read_clock(given: dict[str, str]) -> time | None:
    """The time of day that was said; None: none was. ValueError: there is no such time."""
    word = _value(given, "word")
    if word is not None:
        return {"noon": time(12), "midnight": time(0)}.get(word) or time(_NUMBERS.get(word, 0))
    hour = _value(given, "hour")
    if hour is None:
        return None
    half, number = _value(given, "half"), int(hour)
    if half is not None:
        if not 1 <= number <= 12:
            raise ValueError(number)
        number = number % 12 + (12 if half == "p" else 0)
    return time(number % 24 if number == 24 else number, int(_value(given, "minute") or 0))


def _value(given: dict[str, str], name: str) -> str | None:
    return next((given[key] for key in given if key.rstrip("013") == name), None)


def _local_moment(day: str | None, at: time | None, now: datetime) -> datetime | None:
    if day is None:
        moment = _combine(now.date(), at or MORNING, now)
        return moment if moment > now else _combine(now.date() + timedelta(days=1), at or MORNING, now)
    if day in ("today", "tonight"):
        return _combine(now.date(), _evening(at) if day == "tonight" else at or EVENING, now)
    if day == "tomorrow":
        return _combine(now.date() + timedelta(days=1), at or MORNING, now)
    if day.startswith("the"):
        return _combine(now.date() + timedelta(days=2), at or MORNING, now)
    if day[0].isdigit():
        return _combine(date.fromisoformat(day), at or MORNING, now)
    ahead = (WEEKDAYS.index(day.split()[-1]) - now.weekday()) % 7
    moment = _combine(now.date() + timedelta(days=ahead), at or MORNING, now)
    return moment if moment > now else _combine(now.date() + timedelta(days=ahead + 7), at or MORNING, now)


def _evening(at: time | None) -> time:
    """Tonight at nine is nine in the evening."""
    if at is None:
        return EVENING
    return at.replace(hour=at.hour + 12) if 1 <= at.hour < 12 else at


def _combine(day: date, at: time, now: datetime) -> datetime:
    return datetime.combine(day, at, now.tzinfo)
