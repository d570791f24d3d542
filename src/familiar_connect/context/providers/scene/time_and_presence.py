"""Time and presence: what time it is, in words, and what people are doing."""

from __future__ import annotations

from datetime import datetime, timedelta

from familiar_connect.context.participants import Participant
from familiar_connect.context.providers.scene.text import inline_safe

_HOURS = (
    (4, "late at night"),
    (7, "early in the morning"),
    (12, "in the morning"),
    (13, "around noon"),
    (17, "in the afternoon"),
    (20, "in the evening"),
    (24, "at night"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def clock_line(at: datetime) -> str:
    """The day, the time, how far it is from UTC, and what people call that time of day."""
    phrase = next(words for until, words in _HOURS if at.hour < until)
    offset = at.utcoffset() or timedelta()
    minutes = abs(int(offset.total_seconds() // 60))
    sign = "-" if offset < timedelta() else "+"
    zone = f"UTC{sign}{minutes // 60:02}:{minutes % 60:02}" if minutes else "UTC"
    day = f"{_DAYS[at.weekday()]}, {at.day} {_MONTHS[at.month - 1]} {at.year}"
    return f"It is {day}, {at:%H:%M} {zone}, {phrase}."


def presence_line(person: Participant) -> str:
    """Whether *person* is there and what they do, where they allow it to be told; else nothing."""
    member = person.member
    if member is None or not person.is_open:
        return ""
    does = ", ".join(filter(None, (inline_safe(member.presence or "", 40), inline_safe(member.activity or "", 80))))
    return f"{person.name} is {does}." if does else ""
