"""IgnoreList: people the owner does not want answered, in `ignored.toml`.

The file is read again when another program has changed it, so that the command line reaches a familiar that runs.
"""

from __future__ import annotations

import logging
import re
import threading
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.config.built_in import EXAMPLE_PLATFORM
from familiar_connect.config.toml import format_rows, read_rows, write_text
from familiar_connect.errors import FamiliarError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.maintenance.person_lookup import find_person
from familiar_connect.memory.store import MemoryStore

_TABLE = "person"
_MENTION = re.compile(r"<@!?(\d+)>")
_LISTED = re.compile(r".* \((\w+:\S+)\)")
"""As somebody is shown in the list: a name, and behind it the id."""
_HEADER = "# People who are not answered. `/ignore`, `/unignore` and `familiar ignore` change it."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class IgnoredPerson:
    """One person by their platform's id; the name is as it was when they were put on the list."""

    platform: str
    user_id: str
    name: str = ""

    @property
    def key(self) -> str:
        return f"{self.platform}:{self.user_id}"

    def __str__(self) -> str:
        return f"{self.name} ({self.key})" if self.name else self.key


class IgnoreList:
    """The list in the file at *path*. Reads the disk: callers on a loop run it in a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._people: dict[str, IgnoredPerson] = {}
        self._read_at: tuple[int, int] | None = None
        self._load()

    def all(self) -> list[IgnoredPerson]:
        with self._lock:
            self._load_if_changed()
            return list(self._people.values())

    def is_ignored(self, author: Author) -> bool:
        with self._lock:
            self._load_if_changed()
            return _key(author.platform, author.user_id) in self._people

    def add(self, author: Author) -> IgnoredPerson:
        """Answer *author* no more. Holds at once, even if it cannot be written."""
        platform, _, user_id = _key(author.platform, author.user_id).partition(":")
        name = author.label if author.label != author.user_id else ""
        person = IgnoredPerson(platform=platform, user_id=user_id, name=name)
        with self._lock:
            self._load_if_changed()
            self._people[person.key] = person
            self._save()
        return person

    def remove(self, author: Author) -> bool:
        """Answer *author* again; False: they were not on the list."""
        key = _key(author.platform, author.user_id)
        with self._lock:
            self._load_if_changed()
            if key not in self._people:
                return False
            removed = self._people.pop(key)
            try:
                self._save()
            except BaseException:
                self._people[key] = removed
                raise
        return True

    def _save(self) -> None:
        rows = [{"platform": p.platform, "user_id": p.user_id, "name": p.name} for p in self._people.values()]
        write_text(self._path, format_rows(_HEADER, _TABLE, rows))
        self._read_at = self._stamp()

    def _load_if_changed(self) -> None:
        stamp = self._stamp()
        if stamp == self._read_at:
            return
        try:
            self._load()
        except FamiliarError as error:  # somebody is at it by hand: what was read before holds
            self._read_at = stamp
            logger.warning("the list of ignored people cannot be read", extra={"error": str(error)})

    def _load(self) -> None:
        stamp = self._stamp()
        people = [_person(row) for row in read_rows(self._path, _TABLE)]
        if None in people:
            logger.warning("a row names nobody and is skipped", extra={"file": str(self._path)})
        self._people = {person.key: person for person in people if person is not None}
        self._read_at = stamp

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size


def find_author(
    words: str,
    ignored: IgnoreList,
    *,
    familiar_id: str,
    history: HistoryStore,
    store: MemoryStore,
    platform: str = EXAMPLE_PLATFORM,
) -> Author:
    """Who is meant by a mention on *platform*, platform:id or a name; raises where that is nobody or several people.

    Somebody on the list is found by the name they have there, too.
    """
    words = words.strip()
    mention, listed_as = _MENTION.fullmatch(words), _LISTED.fullmatch(words)
    words = listed_as[1] if listed_as else words
    meant = f"{platform}:{mention[1]}" if mention else words.removeprefix("@")
    listed = [one for one in ignored.all() if meant == one.key or meant.casefold() == one.name.casefold()]
    if len(listed) == 1:
        return Author(listed[0].platform, listed[0].user_id, listed[0].name or None, listed[0].name or None)
    return find_person(meant, familiar_id=familiar_id, history=history, store=store).author


def _person(row: object) -> IgnoredPerson | None:
    if not isinstance(row, dict):
        return None
    platform, user_id, name = row.get("platform"), row.get("user_id"), row.get("name", "")
    if isinstance(user_id, int) and not isinstance(user_id, bool):
        user_id = str(user_id)
    if not isinstance(platform, str) or not isinstance(user_id, str) or not platform.strip() or not user_id.strip():
        return None
    platform, _, user_id = _key(platform, user_id).partition(":")
    return IgnoredPerson(platform=platform, user_id=user_id, name=name if isinstance(name, str) else "")


def _key(platform: str, user_id: str) -> str:
    return f"{platform.strip().lower()}:{user_id.strip()}"
