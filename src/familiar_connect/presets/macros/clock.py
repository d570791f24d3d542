"""Time macros: the clock that was handed in, written the way moment.js writes it in English.

Nothing here looks at the machine's clock or zone. A context without a clock stands at the epoch, in UTC.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

from familiar_connect.presets.macros.evaluation import Evaluation, Invocation, Macro

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
INVALID = "Invalid date"

_LONG = {
    "LTS": "h:mm:ss A",
    "LT": "h:mm A",
    "L": "MM/DD/YYYY",
    "LL": "MMMM D, YYYY",
    "LLL": "MMMM D, YYYY h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "l": "M/D/YYYY",
    "ll": "MMM D, YYYY",
    "lll": "MMM D, YYYY h:mm A",
    "llll": "ddd, MMM D, YYYY h:mm A",
}
_SHORTCUT = re.compile(r"\[[^\[]*\]|(\\)?(LTS|LT|LL?L?L?|l{1,4})")
_TOKEN = re.compile(
    r"\[([^\[]*)\]|\\(.)|([Hh]mm(?:ss)?|Mo|MM?M?M?|Do|DDDo|DD?D?D?|ddd?d?|do?|w[ow]?|W[oW]?|Qo?|N{1,5}|Y{4,6}|YY|Y|"
    r"yo|y{1,4}|gg(?:ggg?)?|GG(?:GGG?)?|e|E|a|A|hh?|HH?|kk?|mm?|ss?|S{1,9}|x|X|zz?|ZZ?)",
    re.DOTALL,
)
_ISO = re.compile(
    r"(\d{4})-?(\d\d)?(?:-?(\d\d))?(?:[T ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d\d:?\d\d)?)?",
    re.I,
)
_LOOSE = (
    *("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%m/%d/%Y", "%Y/%m/%d", "%B %d %Y", "%b %d %Y"),
    *("%Y-%m-%d", "%Y.%m.%d", "%Y-%j", "%Y%j", "%B %Y", "%b %Y"),
)
_LOOSE_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", ", %I:%M:%S %p", " %H:%M:%S %z")
_WEEK = re.compile(r"(\d{4})-?W(\d\d)(?:-?([1-7]))?")
_WEEKDAY = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+", re.I)
_UTC = re.compile(r"UTC([+-]\d{1,6})")
_MAX_DATE_CHARS = 64
_MAX_FORMAT_CHARS = 2000
_FORMAT_COST = 64


def now_of(run: Evaluation) -> datetime:
    now = run.ctx.now or EPOCH
    return now if now.tzinfo else now.replace(tzinfo=UTC)


def format_moment(when: datetime, pattern: str) -> str:
    """*when* by moment's tokens; `[brackets]` and a backslash keep letters as they are."""
    spread = _SHORTCUT.sub(lambda found: _LONG.get(found[2], found[0]) if not found[1] else found[0], pattern)
    return _TOKEN.sub(lambda found: _write(when, found), spread)


def _write(when: datetime, found: re.Match[str]) -> str:
    if found[1] is not None:
        return found[1]
    if found[2] is not None:
        return found[2]
    token = found[3]
    if token[0] == "S":
        return f"{when.microsecond:06d}000"[: len(token)]
    if token[0] == "N":
        return {4: "Anno Domini"}.get(len(token), "AD")
    return _TOKENS[token](when) if token in _TOKENS else token


def _ordinal(number: int) -> str:
    if number % 100 // 10 == 1:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _weekday(when: datetime) -> int:
    return when.isoweekday() % 7


def _week(when: datetime) -> tuple[int, int]:
    """Year and week where weeks begin on Sunday and the first holds the first of January."""
    year, day = when.year, when.timetuple().tm_yday

    def lead(of: int) -> int:
        return datetime(of, 1, 1).isoweekday() % 7

    week = (day - 1 + lead(year)) // 7 + 1
    days = 366 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 365
    if year < 9999 and day > days - lead(year + 1):
        return year + 1, 1
    return year, week


def _zone(when: datetime, colon: str) -> str:
    minutes = int((when.utcoffset() or timedelta()).total_seconds() // 60)
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02d}{colon}{abs(minutes) % 60:02d}"


def _hour12(when: datetime) -> int:
    return when.hour % 12 or 12


_TOKENS: dict[str, Callable[[datetime], str]] = {
    "M": lambda t: str(t.month),
    "Mo": lambda t: _ordinal(t.month),
    "MM": lambda t: f"{t.month:02d}",
    "MMM": lambda t: MONTHS[t.month - 1][:3],
    "MMMM": lambda t: MONTHS[t.month - 1],
    "Q": lambda t: str((t.month + 2) // 3),
    "Qo": lambda t: _ordinal((t.month + 2) // 3),
    "D": lambda t: str(t.day),
    "Do": lambda t: _ordinal(t.day),
    "DD": lambda t: f"{t.day:02d}",
    "DDD": lambda t: str(t.timetuple().tm_yday),
    "DDDo": lambda t: _ordinal(t.timetuple().tm_yday),
    "DDDD": lambda t: f"{t.timetuple().tm_yday:03d}",
    "d": lambda t: str(_weekday(t)),
    "do": lambda t: _ordinal(_weekday(t)),
    "dd": lambda t: DAYS[_weekday(t)][:2],
    "ddd": lambda t: DAYS[_weekday(t)][:3],
    "dddd": lambda t: DAYS[_weekday(t)],
    "e": lambda t: str(_weekday(t)),
    "E": lambda t: str(t.isoweekday()),
    "w": lambda t: str(_week(t)[1]),
    "wo": lambda t: _ordinal(_week(t)[1]),
    "ww": lambda t: f"{_week(t)[1]:02d}",
    "W": lambda t: str(t.isocalendar().week),
    "Wo": lambda t: _ordinal(t.isocalendar().week),
    "WW": lambda t: f"{t.isocalendar().week:02d}",
    "gg": lambda t: f"{_week(t)[0] % 100:02d}",
    "gggg": lambda t: f"{_week(t)[0]:04d}",
    "ggggg": lambda t: f"{_week(t)[0]:05d}",
    "GG": lambda t: f"{t.isocalendar().year % 100:02d}",
    "GGGG": lambda t: f"{t.isocalendar().year:04d}",
    "GGGGG": lambda t: f"{t.isocalendar().year:05d}",
    "YY": lambda t: f"{t.year % 100:02d}",
    "Y": lambda t: f"{t.year:04d}",
    "YYYY": lambda t: f"{t.year:04d}",
    "YYYYY": lambda t: f"{t.year:05d}",
    "YYYYYY": lambda t: f"+{t.year:06d}",
    "y": lambda t: str(t.year),
    "yy": lambda t: f"{t.year:02d}",
    "yyy": lambda t: f"{t.year:03d}",
    "yyyy": lambda t: f"{t.year:04d}",
    "yo": lambda t: _ordinal(t.year),
    "H": lambda t: str(t.hour),
    "HH": lambda t: f"{t.hour:02d}",
    "h": lambda t: str(_hour12(t)),
    "hh": lambda t: f"{_hour12(t):02d}",
    "k": lambda t: str(t.hour or 24),
    "kk": lambda t: f"{t.hour or 24:02d}",
    "hmm": lambda t: f"{_hour12(t)}{t.minute:02d}",
    "hmmss": lambda t: f"{_hour12(t)}{t.minute:02d}{t.second:02d}",
    "Hmm": lambda t: f"{t.hour}{t.minute:02d}",
    "Hmmss": lambda t: f"{t.hour}{t.minute:02d}{t.second:02d}",
    "m": lambda t: str(t.minute),
    "mm": lambda t: f"{t.minute:02d}",
    "s": lambda t: str(t.second),
    "ss": lambda t: f"{t.second:02d}",
    "A": lambda t: "AM" if t.hour < 12 else "PM",
    "a": lambda t: "am" if t.hour < 12 else "pm",
    "Z": lambda t: _zone(t, ":"),
    "ZZ": lambda t: _zone(t, ""),
    "z": lambda t: "",
    "zz": lambda t: "",
    "X": lambda t: str(int(t.timestamp() // 1)),
    "x": lambda t: str(int(t.timestamp() * 1000 // 1)),
}


def humanize(duration: timedelta, *, with_side: bool = False) -> str:
    """A length of time in words people use; *with_side* tells before from after."""
    words = _length(abs(duration))
    if not with_side:
        return words
    return f"in {words}" if duration > timedelta() else f"{words} ago"


def _length(span: timedelta) -> str:
    days = span / timedelta(days=1)
    months = days * 4800 / 146097  # as many as 400 years have
    if _round(days * 86400) < 45:
        return "a few seconds"
    steps = (
        (_round(days * 1440), 45, "a minute", "minutes"),
        (_round(days * 24), 22, "an hour", "hours"),
        (_round(days), 26, "a day", "days"),
        (_round(months), 11, "a month", "months"),
    )
    for count, below, one, many in steps:
        if count <= 1:
            return one
        if count < below:
            return f"{count} {many}"
    years = _round(months / 12)
    return "a year" if years <= 1 else f"{years} years"


def _round(value: float) -> int:
    return math.floor(value + 0.5)


def read_date(text: str, zone: tzinfo | None) -> datetime | None:
    """A date people or programs write: ISO first, then the usual English orders. None when it is no date."""
    text = text.strip()
    if not text or len(text) > _MAX_DATE_CHARS:
        return None
    found = _ISO.fullmatch(text)
    try:
        if found is not None:
            return _iso(found, zone)
        if (week := _WEEK.fullmatch(text)) is not None:
            day = date.fromisocalendar(int(week[1]), int(week[2]), int(week[3] or 1))
            return datetime(day.year, day.month, day.day, tzinfo=zone)
    except ValueError:
        return None
    text = _WEEKDAY.sub("", text, count=1).replace(" GMT", " +0000")
    for day_form in _LOOSE:
        for hour in _LOOSE_TIMES:
            try:
                read = datetime.strptime(text, day_form + hour)
                return read if read.tzinfo else read.replace(tzinfo=zone)
            except ValueError:
                continue
    return None


def _iso(found: re.Match[str], zone: tzinfo | None) -> datetime:
    year, month, day, hour, minute, second = (
        int(found[index] or default) for index, default in enumerate((0, 1, 1, 0, 0, 0), 1)
    )
    micro = int((found[7] or "0").ljust(6, "0")[:6])
    offset = found[8]
    if offset and offset.upper() == "Z":
        zone = UTC
    elif offset:
        minutes = int(offset[1:3]) * 60 + int(offset[-2:])
        zone = timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes))
    return datetime(year, month, day, hour, minute, second, micro, tzinfo=zone)


def _time(run: Evaluation, called: Invocation) -> str:
    now = now_of(run)
    asked = _UTC.fullmatch(called.args[0]) if called.args else None
    if asked is not None:
        shift = int(asked[1])
        minutes = shift * 60 if abs(shift) < 16 else shift
        now = _shift(now, minutes)
    return format_moment(now, "LT")


def _shift(now: datetime, minutes: int) -> datetime:
    """*now* that many minutes from UTC, days away as well: an offset in a text has no bounds."""
    try:
        return now.astimezone(UTC) + timedelta(minutes=minutes)
    except OverflowError:
        return now


def _datetimeformat(run: Evaluation, called: Invocation) -> str:
    pattern = called.args[0][:_MAX_FORMAT_CHARS]
    run.spend(_FORMAT_COST * len(pattern))
    return format_moment(now_of(run), pattern or "YYYY-MM-DDTHH:mm:ssZ")


def _idle(run: Evaluation, called: Invocation) -> str:
    """Since the user's message before the newest one; the newest is what is being answered."""
    seen = False
    for line in reversed(run.ctx.chat):
        if line.is_hidden:
            continue
        if line.is_user and seen:
            if line.sent_at is None:
                break
            sent = line.sent_at if line.sent_at.tzinfo else line.sent_at.replace(tzinfo=UTC)
            return humanize(now_of(run) - sent)
        seen = True
    return "just now"


def _time_diff(run: Evaluation, called: Invocation) -> str:
    zone = now_of(run).tzinfo
    one, two = read_date(called.args[0], zone), read_date(called.args[1], zone)
    return INVALID if one is None or two is None else humanize(one - two, with_side=True)


def _write_as(name: str, pattern: str) -> Macro:
    return Macro(name, lambda run, called: format_moment(now_of(run), pattern))


MACROS = {
    "time": Macro("time", _time, most=1),
    "date": _write_as("date", "LL"),
    "weekday": _write_as("weekday", "dddd"),
    "isotime": _write_as("isotime", "HH:mm"),
    "isodate": _write_as("isodate", "YYYY-MM-DD"),
    "datetimeformat": Macro("datetimeformat", _datetimeformat, least=1, most=1),
    "idle_duration": Macro("idle_duration", _idle),
    "idleduration": Macro("idleDuration", _idle),
    "timediff": Macro("timeDiff", _time_diff, least=2, most=2),
}
