"""Times named in a text: "last week", "in May", "7 May 2023", as stretches of the calendar.

Everything is worked out from the text and a given moment; nothing here reads a clock.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name and name != "May"}
_DAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_SMALL = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: number for number, word in enumerate(_SMALL, 1)} | {"a": 1, "an": 1, "couple of": 2, "few": 3}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_ISO = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b\.?(?:,? (\d{{4}}))?", re.I)
_MONTH_DAY = re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?", re.I)
_MONTH_ALONE = re.compile(
    rf"\b(?:(in|of|last|this|during|since|early|late|mid) )?({_MONTH})\b\.?,?(?: (\d{{4}}))?", re.I
)
_SEASON = re.compile(
    r"\b(?:in|of|last|this|during)(?: the)? (spring|summer|autumn|fall|winter)\b(?:,? (?:of )?(\d{4}))?", re.I
)
_YEAR = re.compile(r"\b(?:in|of|during|since) ((?:19|20)\d{2})\b", re.I)
_AGO = re.compile(r"\b(\d{1,3}|a|an|couple of|few|" + "|".join(_SMALL) + r") (day|week|month|year)s? ago\b", re.I)
_RELATIVE = re.compile(r"\b(last|this|past) (night|week|weekend|month|year)\b", re.I)
_WEEKDAY = re.compile(r"\b(?:last|on|this) (" + "|".join(_DAYS) + r")\b", re.I)
_DAY_WORD = re.compile(r"\b(today|tonight|yesterday|the day before yesterday)\b", re.I)
_SAYS_WHEN = """
yesterday today tonight tomorrow tmrw ago last next week weeks weekend month months year years yr yrs since recently
soon morning evening mon tue tues wed thur thurs fri sat sun
gestern heute morgen letzte letzten letzter letztes nächste nächsten nächster nächstes woche wochen monat jahr jahre
jahren montag dienstag mittwoch donnerstag freitag samstag sonntag
hier demain semaine mois dernier dernière prochain prochaine lundi mardi mercredi jeudi vendredi samedi dimanche
ayer hoy mañana semana mes año pasado pasada próximo próxima lunes martes miércoles jueves viernes sábado domingo
"""
_TIME_WORDS = frozenset([*_SAYS_WHEN.split(), *_DAYS, *_MONTHS]) - {"may"}
_CLOCK = re.compile(
    r"\d(?:st|nd|rd|th|am|pm|[:.]\d\d)(?!\w)|(?<!\d)(?:19|20)\d\d(?!\d)|[昨今明]日|[先来][週月]|[去来]年|曜日", re.I
)
_CALENDAR_SIGNS = "日週月年"
"""What matches `_CLOCK` without a digit has one of these."""
_SAYS_HOW_MANY = """
two three four five six seven eight nine ten eleven twelve dozen hundred thousand once twice both
zwei drei vier fünf sechs sieben acht neun zehn deux trois quatre cinq sept huit neuf dix
dos tres cuatro cinco seis siete ocho nueve diez
"""
_NUMBER_WORDS = frozenset(_SAYS_HOW_MANY.split())
_DIGIT = re.compile(r"\d")
_ANY_WORD = re.compile(r"\w+")
_LENGTH_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True)
class TimeSpan:
    """A stretch of time somebody may mean; `end` is no part of it."""

    start: datetime
    end: datetime


def extract_times(text: str, now: datetime) -> tuple[tuple[TimeSpan, ...], str]:
    """The stretches of time *text* names, and what is left of it without them."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    found: dict[TimeSpan, None] = {}
    is_odd = any(letter in text for letter in _TAKEN_FOR_OTHERS)
    words = set(_ANY_WORD.findall(text.lower()))
    if _DIGIT.search(text) is not None:
        words.add(_NUMBER)
    for pattern, read, needed, also in _READERS:  # "7 May 2023" is a day, and then no month and no year
        if not is_odd and (needed.isdisjoint(words) or also.isdisjoint(words)):
            continue
        kept: list[str] = []
        end = 0
        for match in pattern.finditer(text):
            try:
                span = read(match, midnight)
            except OverflowError:  # a day outside the calendar
                continue
            if span is not None:
                found[span] = None
                kept.append(text[end : match.start()])
                end = match.end()
        text = " ".join([*kept, text[end:]])
    return tuple(found), text


def share_in(times: Collection[TimeSpan], spans: Collection[TimeSpan]) -> float:
    """How much of one of *times* lies in one of *spans*, at best: 1 for all of it."""
    shares = (
        (min(time.end, span.end) - max(time.start, span.start)) / (time.end - time.start)
        for time in times
        for span in spans
        if time.start < time.end
    )
    return max(0.0, *shares, 0.0)


def tells_time(text: str, words: Collection[str]) -> bool:
    """Whether *text*, which holds these *words*, says when something was or will be."""
    if not _TIME_WORDS.isdisjoint(words):
        return True
    may_tell = _DIGIT.search(text) is not None or (not text.isascii() and any(sign in text for sign in _CALENDAR_SIGNS))
    return may_tell and _CLOCK.search(text) is not None


def tells_number(text: str, words: Collection[str]) -> bool:
    """Whether *text*, which holds these *words*, has a number in digits or as a small word."""
    return not _NUMBER_WORDS.isdisjoint(words) or _DIGIT.search(text) is not None


def _iso(match: re.Match[str], today: datetime) -> TimeSpan | None:
    if match[3] is None:
        return _month(today, int(match[1]), int(match[2]))
    return _day(today, int(match[1]), int(match[2]), int(match[3]))


def _day_month(match: re.Match[str], today: datetime) -> TimeSpan | None:
    return _date(today, match[3], _MONTHS[match[2].lower()], int(match[1]))


def _month_day(match: re.Match[str], today: datetime) -> TimeSpan | None:
    return _date(today, match[3], _MONTHS[match[1].lower()], int(match[2]))


def _month_alone(match: re.Match[str], today: datetime) -> TimeSpan | None:
    """A month; one that is also a word ("may", "march") needs "in" before it or a year after it."""
    if match[1] is None and match[3] is None:
        return None
    number = _MONTHS[match[2].lower()]
    year = int(match[3]) if match[3] else today.year - (number > today.month)
    return _month(today, year, number)


def _season(match: re.Match[str], today: datetime) -> TimeSpan | None:
    first = _SEASONS[match[1].lower()]
    year = int(match[2]) if match[2] else today.year - (first > today.month)
    start = _month(today, year, first)
    return start and TimeSpan(start.start, start.start + timedelta(days=92))


def _year(match: re.Match[str], today: datetime) -> TimeSpan | None:
    start = today.replace(year=int(match[1]), month=1, day=1)
    return TimeSpan(start, start.replace(year=start.year + 1))


def _ago(match: re.Match[str], today: datetime) -> TimeSpan | None:
    """That long ago, give or take a part of it."""
    amount = match[1].lower()
    number = int(amount) if amount.isdigit() else _NUMBERS[amount]
    unit = _LENGTH_DAYS[match[2].lower()]
    middle = today - timedelta(days=number * unit)
    return TimeSpan(middle - timedelta(days=unit / 2), middle + timedelta(days=max(1.0, unit / 2)))


def _relative(match: re.Match[str], today: datetime) -> TimeSpan | None:
    which, unit = match[1].lower(), match[2].lower()
    if unit == "night":
        return TimeSpan(today - timedelta(days=1), today + timedelta(hours=6))
    week = today - timedelta(days=today.weekday())
    starts = {"week": week, "weekend": week, "month": today.replace(day=1), "year": today.replace(month=1, day=1)}
    begin = starts[unit]
    tomorrow = today + timedelta(days=1)
    if which == "this":
        return TimeSpan(begin, tomorrow)
    if unit == "weekend":
        return TimeSpan(begin - timedelta(days=3), begin)
    previous = begin - timedelta(days=1)
    if unit == "year":
        return TimeSpan(previous.replace(month=1, day=1), begin)
    # "Last week" is loosely said: the seven days before today belong to it too.
    return TimeSpan(
        begin - timedelta(days=7) if unit == "week" else previous.replace(day=1), tomorrow if unit == "week" else begin
    )


def _weekday(match: re.Match[str], today: datetime) -> TimeSpan | None:
    back = (today.weekday() - _DAYS[match[1].lower()]) % 7 or 7
    return TimeSpan(today - timedelta(days=back), today - timedelta(days=back - 1))


def _day_word(match: re.Match[str], today: datetime) -> TimeSpan | None:
    back = {"today": 0, "tonight": 0, "yesterday": 1}.get(match[1].lower(), 2)
    return TimeSpan(today - timedelta(days=back), today - timedelta(days=back - 1))


def _date(today: datetime, year: str | None, month: int, day: int) -> TimeSpan | None:
    """One day; without a year the latest that is not to come."""
    if year:
        return _day(today, int(year), month, day)
    this = _day(today, today.year, month, day)
    return this if this is None or this.start <= today else _day(today, today.year - 1, month, day)


def _day(today: datetime, year: int, month: int, day: int) -> TimeSpan | None:
    try:
        start = today.replace(year=year, month=month, day=day)
    except ValueError:
        return None
    return TimeSpan(start, start + timedelta(days=1))


def _month(today: datetime, year: int, month: int) -> TimeSpan | None:
    start = _day(today, year, month, 1)
    if start is None:
        return None
    return TimeSpan(start.start, start.start + timedelta(days=calendar.monthrange(year, month)[1]))


_NUMBER = "#"
"""Stands among the words of a text for any number in it."""
_ANYTHING_NUMBERED, _ANY_MONTH, _ANY_SEASON, _ANY_DAY = map(frozenset, ({_NUMBER}, _MONTHS, _SEASONS, _DAYS))
_ANY_STRETCH = frozenset({"night", "week", "weekend", "month", "year"})
_ANY_DAY_WORD = frozenset({"today", "tonight", "yesterday"})
_BEFORE_A_MONTH = frozenset({"in", "of", "last", "this", "during", "since", "early", "late", "mid"})
_ANY_AGO = frozenset({"ago"})
_READERS = (
    (_ISO, _iso, _ANYTHING_NUMBERED, _ANYTHING_NUMBERED),
    (_DAY_MONTH, _day_month, _ANY_MONTH, _ANYTHING_NUMBERED),
    (_MONTH_DAY, _month_day, _ANY_MONTH, _ANYTHING_NUMBERED),
    (_MONTH_ALONE, _month_alone, _ANY_MONTH, _BEFORE_A_MONTH | _ANYTHING_NUMBERED),
    (_SEASON, _season, _ANY_SEASON, _ANY_SEASON),
    (_YEAR, _year, _ANYTHING_NUMBERED, _ANYTHING_NUMBERED),
    (_AGO, _ago, _ANY_AGO, _ANY_AGO),
    (_RELATIVE, _relative, _ANY_STRETCH, _ANY_STRETCH),
    (_WEEKDAY, _weekday, _ANY_DAY, _ANY_DAY),
    (_DAY_WORD, _day_word, _ANY_DAY_WORD, _ANY_DAY_WORD),
)
"""Patterns, what reads a match of each, and two sets of words: a text that holds none of one of these names no such
time, which is far quicker to see than that the pattern is nowhere."""
_TAKEN_FOR_OTHERS = "\u0130\u0131\u017f\u212a"
"""Letters that a pattern that heeds no case takes for i, s and k, though they are not those in lower case."""
