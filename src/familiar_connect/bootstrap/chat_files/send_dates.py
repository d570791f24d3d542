"""Dates of messages in the ways chat files write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

FORMATS = (
    "%B %d, %Y %I:%M%p",
    "%b %d, %Y %I:%M%p",
    "%B %d, %Y %I:%M:%S%p",
    "%Y-%m-%d @%Hh %Mm %Ss %fms",
    "%Y-%m-%d@%Hh%Mm%Ss%fms",
    "%Y-%m-%d@%Hh%Mm%Ss",
    "%Y-%m-%d @%Hh %Mm %Ss",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d, %H:%M",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%d.%m.%Y, %H:%M",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%y, %H:%M",
    "%m/%d/%y, %I:%M%p",
    "%m/%d/%Y, %I:%M%p",
    "%m/%d/%Y %I:%M%p",
    "%d/%m/%Y, %H:%M",
)
SECONDS_BELOW = 10**11
"""A smaller number counts seconds since 1970, a larger one milliseconds."""
LATEST_MS = 10**14
FIRST_YEAR, LAST_YEAR = 1970, 5000
_BEFORE_HALF = re.compile(r"(\d)\s(am|pm)$", re.IGNORECASE)


def parse_send_date(value: object, zone: tzinfo = UTC) -> datetime | None:
    """When a message was sent; without an offset it is a time in *zone*. None where nothing says when."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < LATEST_MS:
        return datetime.fromtimestamp(value if value < SECONDS_BELOW else value / 1000, UTC)
    if not isinstance(value, str) or not 3 < len(value) < 64:
        return None
    text = " ".join(value.split())
    if text.isdigit():
        return parse_send_date(int(text), zone)
    found: datetime | None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = _parse_written(text)
    if found is None or not FIRST_YEAR <= found.year <= LAST_YEAR:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)


def _parse_written(text: str) -> datetime | None:
    if not any(character.isdigit() for character in text):
        return None
    plain = _BEFORE_HALF.sub(r"\1\2", text)
    for form in FORMATS:
        try:
            return datetime.strptime(plain, form)
        except ValueError:
            continue
    return None
