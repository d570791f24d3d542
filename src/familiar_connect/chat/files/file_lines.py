"""read_lines and parse_object: the lines of a chat file, and the JSON object in one, each within a size.

What is wrong is an `UnreadableFileError` that says in which line; who knows the file's name puts it before that.

Dates of messages in the ways chat files write them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from typing import IO, Any

from familiar_connect.errors import UnreadableFileError

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 100


def read_lines(file: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Each line of *file* with its number, counted from 1."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        where = f"line {number}"
        if len(line) > MAX_LINE_BYTES:
            raise UnreadableFileError(f"is longer than {MAX_LINE_BYTES:,} bytes; shorten it", where=where)
        try:
            yield number, (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).decode("utf-8")
        except UnicodeDecodeError:
            raise UnreadableFileError("is not UTF-8 text; save the file as UTF-8", where=where) from None


def parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object that *text* is; None when it is none, or nested deeper than anybody writes."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and not _is_deep(found, text) else None


def read_objects(file: IO[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON object in each line of *file* that is not blank, with the number of the line."""
    for number, text in read_lines(file):
        if not text.strip():
            continue
        row = parse_object(text)
        if row is None:
            raise UnreadableFileError("is not a JSON object; fix that line or take it out", where=f"line {number}")
        yield number, row


def _is_deep(value: object, text: str) -> bool:
    return text.count("{") + text.count("[") > MAX_DEPTH and _depth_of(value) > MAX_DEPTH


def _depth_of(value: object, depth: int = 1) -> int:
    """How deep *value* is nested, counted no further than is allowed."""
    if depth > MAX_DEPTH or not isinstance(value, dict | list):
        return depth
    inner = value.values() if isinstance(value, dict) else value
    return max((_depth_of(each, depth + 1) for each in inner), default=depth)


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


def parse_send_date(value: object, zone: tzinfo | None = UTC) -> datetime | None:
    """When a message was sent; without an offset it is a time in *zone*. None where nothing says when.

    Where the zone is not known either, it may be None: the time then has none.
    """
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
