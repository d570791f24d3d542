"""PrivacyRegistry: what each person allows to be kept of them, in `privacy.toml`.

It errs on the side of the person: whoever is named with a level that cannot be read counts as FULL,
of two rows for one person the stricter holds, and a wish that cannot be written down still holds
until the program ends.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from familiar_connect.config.toml import format_rows, read_rows, write_text
from familiar_connect.identity import Author, Privacy, PrivacyLevel

_TABLE = "person"
_HEADER = "# What each person allows: minimal (everything is kept), partial, or full (they are not heard at all)."
_STRICTNESS = (PrivacyLevel.MINIMAL, PrivacyLevel.PARTIAL, PrivacyLevel.FULL)

_log = logging.getLogger(__name__)


class PrivacyRegistry(Privacy):
    """The levels people chose, in the file at *path*."""

    def __init__(self, path: Path) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._levels: dict[tuple[str, str], PrivacyLevel] = {}
        self._everywhere: frozenset[tuple[str, str]] = frozenset()
        self._unread: list[dict[str, object]] = []
        for count, row in enumerate(read_rows(self._path, _TABLE), start=1):
            self._take(row, count)

    def get(self, author: Author) -> PrivacyLevel:
        return self._levels.get(_key(author.platform, author.user_id), PrivacyLevel.MINIMAL)

    def set(self, author: Author, level: PrivacyLevel) -> None:
        """Write down what *author* allows. A stricter level holds at once, even if it cannot be written."""
        person = _key(author.platform, author.user_id)
        with self._lock:
            if _stricter(level, self.get(author)) is level:
                self._levels[person] = level
            levels = {**self._levels, person: level}
            self._write(levels, self._everywhere)
            self._levels = levels

    def set_everywhere(self, author: Author, *, follows: bool) -> None:
        """Write down whether *author*'s own words on a server follow them wherever they speak."""
        person = _key(author.platform, author.user_id)
        with self._lock:
            everywhere = self._everywhere - {person}
            if not follows:
                self._everywhere = everywhere  # holds at once, even if it cannot be written
            else:
                everywhere |= {person}
            levels = {person: PrivacyLevel.MINIMAL, **self._levels}
            self._write(levels, everywhere)
            self._levels, self._everywhere = levels, everywhere

    def everywhere_keys(self) -> frozenset[str]:
        return frozenset(f"{platform}:{user_id}" for platform, user_id in self._everywhere)

    def _write(self, levels: dict[tuple[str, str], PrivacyLevel], everywhere: frozenset[tuple[str, str]]) -> None:
        rows = [
            {"platform": platform, "user_id": user_id, "level": chosen.value}
            | ({"everywhere": True} if (platform, user_id) in everywhere else {})
            for (platform, user_id), chosen in levels.items()
        ]
        write_text(self._path, format_rows(_HEADER, _TABLE, [*rows, *self._unread]))

    def all(self) -> dict[str, PrivacyLevel]:
        """Everyone who chose, by canonical key."""
        return {f"{platform}:{user_id}": level for (platform, user_id), level in self._levels.copy().items()}

    def _take(self, row: object, count: int) -> None:
        person = _person(row)
        level = _level(row)
        if person is None:
            _log.warning("a privacy row names nobody and is skipped", extra={"file": str(self._path), "row": count})
            if isinstance(row, dict):
                self._unread.append(row)
            return
        if level is None:
            _log.warning(
                "a privacy row has no readable level and counts as full", extra={"file": str(self._path), "row": count}
            )
            level = PrivacyLevel.FULL
        self._levels[person] = _stricter(level, self._levels.get(person, level))
        if isinstance(row, dict) and row.get("everywhere") is True:
            self._everywhere |= {person}


def _person(row: object) -> tuple[str, str] | None:
    if not isinstance(row, dict):
        return None
    platform, user_id = row.get("platform"), row.get("user_id")
    if isinstance(user_id, int) and not isinstance(user_id, bool):
        user_id = str(user_id)
    if not isinstance(platform, str) or not isinstance(user_id, str):
        return None
    person = _key(platform, user_id)
    return person if all(person) else None


def _key(platform: str, user_id: str) -> tuple[str, str]:
    return platform.strip().lower(), user_id.strip()


def _level(row: object) -> PrivacyLevel | None:
    word = row.get("level") if isinstance(row, dict) else None
    return next(
        (level for level in PrivacyLevel if isinstance(word, str) and level.value == word.strip().lower()), None
    )


def _stricter(one: PrivacyLevel, other: PrivacyLevel) -> PrivacyLevel:
    return max(one, other, key=_STRICTNESS.index)
