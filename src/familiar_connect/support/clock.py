"""Clock: the time, given as an argument so that a run can be repeated exactly; and this computer's time zone."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

LOCALTIME = Path("/etc/localtime")
UTC_NAME = "UTC"
_DATABASE = "zoneinfo/"


class Clock(Protocol):
    """What time it is. A part asks the one it was given, so that a test can say what it answers."""

    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...


class SystemClock:
    """The machine's own time, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock for tests: its time changes only when it is set or advanced."""

    def __init__(self, start: datetime) -> None:
        self._now = start
        self._elapsed = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._elapsed

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self._elapsed += seconds


def machine_zone(
    environ: Mapping[str, str] | None = None, *, localtime: Path = LOCALTIME, offset: timedelta | None = None
) -> str:
    """The zone's name: what `TZ` says, else what the system's link points at, else one with the *offset* of now."""
    told = (os.environ if environ is None else environ).get("TZ", "").lstrip(":")
    if told and (zone := _check_zone(told.rpartition(_DATABASE)[2])):
        return zone
    try:
        linked = os.path.realpath(localtime)
    except OSError:
        linked = ""
    if _DATABASE in linked and (zone := _check_zone(linked.rpartition(_DATABASE)[2])):
        return zone
    return _zone_with(datetime.now().astimezone().utcoffset() if offset is None else offset)


def _check_zone(name: str) -> str:
    """*name*, where it is a zone's; else nothing."""
    from zoneinfo import ZoneInfo  # it reads how Python was built, which takes long: most verbs need no zone

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return ""
    return name


def _zone_with(offset: timedelta | None) -> str:
    hours, rest = divmod(offset or timedelta(), timedelta(hours=1))
    if rest or not hours:
        return UTC_NAME
    return _check_zone(f"Etc/GMT{-hours:+d}") or UTC_NAME
