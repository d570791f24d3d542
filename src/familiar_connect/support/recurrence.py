"""Recurrence: what comes again and again, as people say it: "every weekday at 9", "every 2 hours", "daily".

`parse_recurrence` reads the rule that words begin or end with; `Recurrence.words` writes it so that it is read back as
it was. A rule of days keeps to the clock on the wall when that is put forward or back; one of hours and minutes counts
time that passes. A day alone means nine in the morning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache

from familiar_connect.support.future_time import CLOCK, EVENING, MAX_CHARS, MORNING, NUMBER_WORDS, WEEKDAYS, read_clock

MAX_DAYS = 366
_MINUTES_A_DAY = 1440
_NAMES = "|".join(WEEKDAYS)
_AND = r"(?:\s*,\s*(?:and\s+)?|\s+and\s+)"
_COUNT = rf"(?:other|\d{{1,4}}|half\s+an|an|a|{'|'.join(NUMBER_WORDS)})"
_RULES = (
    rf"(?:every|each)\s+(?P<span>(?:{_COUNT}\s+)?(?:minutes?|mins?|hours?|hrs?|days?|weeks?))",
    rf"(?:every|each)\s+(?P<named>weekdays?|weekends?|mornings?|evenings?|(?:{_NAMES})s?(?:{_AND}(?:{_NAMES})s?){{0,6}})",
    rf"(?:on\s+)?(?P<plural>weekdays|weekends|(?:{_NAMES})s(?:{_AND}(?:{_NAMES})s){{0,6}})",
    r"(?P<adverb>hourly|daily|weekly)",
)
_AT = r"(?:at\s+|(?=\d{1,2}[:.]\d\d|\d{1,2}\s*[ap]\.?m\b))"
"""What tells a time of day from a number of things: "every day 2 pills" names none."""
_FORMS = tuple(
    form
    for rule in _RULES
    for form in (
        rf"{rule}(?![\w-])(?:\s*,?\s+{_AT}{CLOCK.format(0)})?",
        rf"at\s+{CLOCK.format(1)}\s*,?\s+{rule}(?![\w-])",
    )
)
_LEAD = re.compile(r"\s*(?:to|that|about)\s+", re.IGNORECASE)
_WORKING, _FREE = (0, 1, 2, 3, 4), (5, 6)


@cache
def _begins() -> tuple[re.Pattern[str], ...]:
    """Compiled when first asked for: whoever starts a chat need not wait for it."""
    return tuple(re.compile(rf"\s*{form}[\s,:]*", re.IGNORECASE) for form in _FORMS)


@cache
def _ends() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"(?:^|[\s,]){form}[\s.!]*$", re.IGNORECASE) for form in _FORMS)


@dataclass(frozen=True, kw_only=True)
class Recurrence:
    """A rule. One of the first three says how far apart; with *days* or *step_days* it is *at* a time of day."""

    minutes: int = 0
    step_days: int = 0
    days: tuple[int, ...] = ()
    """Days of the week, Monday is 0."""
    at: time = MORNING

    @property
    def words(self) -> str:
        """The rule as it is shown, kept and read back."""
        if self.minutes:
            hours, rest = divmod(self.minutes, 60)
            count, unit = (self.minutes, "minute") if rest else (hours, "hour")
            return f"every {unit}" if count == 1 else f"every {count} {unit}s"
        if self.step_days:
            apart = "every day" if self.step_days == 1 else f"every {self.step_days} days"
        elif self.days in (_WORKING, _FREE):
            apart = "every weekday" if self.days == _WORKING else "every weekend"
        else:
            apart = "every " + " and ".join(WEEKDAYS[each] for each in self.days)
        return f"{apart} at {self.at:%H:%M}"

    @property
    def shortest(self) -> timedelta:
        """The least that lies between two times."""
        return timedelta(minutes=self.minutes) if self.minutes else timedelta(days=1)

    def next_after(self, now: datetime, zone: tzinfo, *, last: datetime | None = None) -> datetime:
        """The first time after *now*, in UTC; *last* is when it came before, and None that it never did."""
        now = now.astimezone(UTC)
        if self.minutes:
            apart = timedelta(minutes=self.minutes)
            begin = (last or now).astimezone(UTC)
            return begin + apart * max(1, (now - begin) // apart + 1)
        today = now.astimezone(zone).date()
        if self.days:
            candidates = [today + timedelta(days=ahead) for ahead in range(8)]
            candidates = [each for each in candidates if each.weekday() in self.days]
        elif last is None:
            candidates = [today, today + timedelta(days=1)]
        else:
            begun = last.astimezone(zone).date()
            steps = max(1, (today - begun).days // self.step_days)
            candidates = [begun + timedelta(days=self.step_days * (steps + more)) for more in range(2)]
        moments = [self._moment(each, zone) for each in candidates]
        return next(each for each in moments if each > now)

    def _moment(self, day: date, zone: tzinfo) -> datetime:
        return datetime.combine(day, self.at, zone).astimezone(UTC)


@dataclass(frozen=True, kw_only=True)
class RecurringTime:
    """A rule that was named, its first time, in UTC, and the words beside it."""

    rule: Recurrence
    at: datetime
    rest: str


def parse_recurrence(words: str, now: datetime, zone: tzinfo) -> RecurringTime | None:
    """The rule that *words* begin or end with, counted from *now* in *zone*; None where there is none."""
    words = words[:MAX_CHARS]
    for patterns, begins in ((_begins(), True), (_ends(), False)):
        for pattern in patterns:
            found = pattern.match(words) if begins else pattern.search(words)
            read = _read(found) if found is not None else None
            if found is not None and read is not None:
                rest = words[found.end() :] if begins else words[: found.start()]
                rule, clock = read
                first = _first(rule, clock, now, zone)
                return RecurringTime(rule=rule, at=first, rest=_LEAD.sub("", rest, count=1).strip())
    return None


def read_recurrence(words: str) -> Recurrence | None:
    """The rule that `Recurrence.words` wrote; None for anything else."""
    for pattern in _begins():
        found = pattern.fullmatch(words[:MAX_CHARS])
        read = _read(found) if found is not None else None
        if read is not None:
            return read[0]
    return None


def _first(rule: Recurrence, clock: time | None, now: datetime, zone: tzinfo) -> datetime:
    if rule.minutes and clock is not None:  # from that time of day on
        return Recurrence(step_days=1, at=clock).next_after(now, zone)
    return rule.next_after(now, zone)


def _read(found: re.Match[str]) -> tuple[Recurrence, time | None] | None:
    """The rule and the time of day that was said; None where there is no such time or rule."""
    given = {key: value.lower() for key, value in found.groupdict().items() if value is not None}
    try:
        clock = read_clock(given)
    except ValueError:
        return None
    if "adverb" in given:
        given["span"] = {"hourly": "hour", "daily": "day", "weekly": "week"}[given["adverb"]]
    rule = _space(given["span"], clock) if "span" in given else _name(given.get("named") or given["plural"], clock)
    return (rule, clock) if rule is not None else None


def _space(words: str, clock: time | None) -> Recurrence | None:
    *count, unit = words.split()
    number = _count(" ".join(count))
    if unit[0] in "mh":
        minutes = int(number * (1 if unit[0] == "m" else 60))
        return Recurrence(minutes=minutes) if 0 < minutes <= MAX_DAYS * _MINUTES_A_DAY else None
    days = number * (7 if unit[0] == "w" else 1)
    if days != int(days) or not 0 < days <= MAX_DAYS:
        return None
    return Recurrence(step_days=int(days), at=clock or MORNING)


def _count(word: str) -> float:
    if word.isdigit():
        return float(word)
    if word == "other":
        return 2.0
    if word.startswith("half"):
        return 0.5
    return float(NUMBER_WORDS.index(word) + 1) if word in NUMBER_WORDS else 1.0


def _name(words: str, clock: time | None) -> Recurrence:
    if words.startswith(("morning", "evening")):
        usual = MORNING if words.startswith("morning") else EVENING
        return Recurrence(step_days=1, at=clock or usual)
    if words.startswith("week"):
        return Recurrence(days=_WORKING if words.startswith("weekday") else _FREE, at=clock or MORNING)
    days = {number for number, name in enumerate(WEEKDAYS) if name in words}
    return Recurrence(days=tuple(sorted(days)), at=clock or MORNING)
