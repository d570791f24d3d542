"""Chats: the several conversations of one place, each a channel of the history.

A place is where people talk: the terminal, a direct message, a channel of a server. Its first chat has the place's own
channel id, so a place that never had another needs no entry. Every further chat gets a channel id of its own, and with
it everything that is kept by channel: turns, settings, the last prompt. What a familiar remembers is not kept by
channel and is the same in all of them. Kept in `chats.toml`; each call reads it. `last_talk` asks the history itself.

Branches: a chat that begins as another one was up to a line, and goes its own way from there.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.toml import format_rows, format_value, read_rows, read_text, write_text
from familiar_connect.errors import HomeError
from familiar_connect.history.types import IMPORT_PREFIX
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.files import open_locked
from familiar_connect.support.no_follow import LinkRefused
from familiar_connect.support.sqlite import connect_unlinked

if TYPE_CHECKING:
    from familiar_connect.history.store import HistoryStore

FIRST_CHAT = "main"
"""The name of a place's first chat."""
MAX_NAME_CHARS = 64
MAX_CHATS = 10_000
LOWEST_OWN_ID, HIGHEST_OWN_ID = 10**12, 10**16
"""Channel ids of chats are milliseconds since 1970: above what platforms keep and below every snowflake."""

NEVER = 0.0
_LAST_SAID_HERE = (
    "SELECT timestamp FROM turns WHERE platform_message_id IS NULL OR platform_message_id NOT GLOB ?"
    " ORDER BY id DESC LIMIT 1"
)
_HAS_TABLES = "SELECT COUNT(*) = 2 FROM sqlite_master WHERE type = 'table' AND name IN ('turns', 'turn_revisions')"
"""A view of that name may be anything."""
_STANDING_TURNS = (
    "SELECT (SELECT COUNT(*) FROM turns WHERE familiar_id = :familiar) - (SELECT COUNT(*) FROM turns"
    " WHERE id IN (SELECT turn_id FROM turn_revisions) AND familiar_id = :familiar AND mark = 'undone')"
)
_TABLE = "chat"
_HEADER = (
    "# The chats of this familiar's places. Written by the program; a name may be changed while it is not running."
)


@dataclass(frozen=True, kw_only=True)
class Chat:
    """One conversation of a place."""

    name: str
    place_id: int
    """Channel id of the place, which is that of its first chat."""
    channel_id: int
    started: str | None = None
    """When, as ISO 8601; None for the first one."""
    is_current: bool = False
    is_pinned: bool = False
    """Whether lists of chats begin with it."""
    folder: str = ""
    """Under which heading lists show it."""

    @property
    def is_first(self) -> bool:
        return self.channel_id == self.place_id


class ChatRegistry:
    """The chats of one familiar, in its folder."""

    def __init__(self, folder: FamiliarFolder, *, clock: Clock | None = None) -> None:
        self._folder = folder
        self._file = folder.chats_file
        self._clock = clock or SystemClock()

    def all(self, place_id: int) -> list[Chat]:
        """The chats of a place, the first one first; exactly one of them is current."""
        found = [chat for chat in self._rows() if chat.place_id == place_id]
        if not any(chat.is_first for chat in found):
            found.insert(0, Chat(name=FIRST_CHAT, place_id=place_id, channel_id=place_id))
        current = next((chat for chat in found if chat.is_current), found[0])
        return [_with_current(chat, is_current=chat is current) for chat in found]

    def place_of(self, channel_id: int) -> int:
        """Channel id of the place that the chat *channel_id* belongs to."""
        return next((chat.place_id for chat in self._rows() if chat.channel_id == channel_id), channel_id)

    def is_deleted(self, channel_id: int) -> bool:
        """Whether that is the id of a chat which no list has any more."""
        is_own = LOWEST_OWN_ID <= channel_id < HIGHEST_OWN_ID
        return is_own and all(chat.channel_id != channel_id for chat in self._rows())

    def siblings(self, channel_id: int) -> frozenset[int]:
        """Channel ids of the other chats of the place that the chat *channel_id* belongs to."""
        rows = self._rows()
        place_id = next((chat.place_id for chat in rows if chat.channel_id == channel_id), channel_id)
        here = {chat.channel_id for chat in rows if chat.place_id == place_id}
        return frozenset({place_id, *here} - {channel_id})

    def find(self, place_id: int, name: str) -> Chat | None:
        wanted = name.strip().casefold()
        return next((chat for chat in self.all(place_id) if chat.name.casefold() == wanted), None)

    def current(self, place_id: int) -> Chat:
        """The chat that was talked in last."""
        return next(chat for chat in self.all(place_id) if chat.is_current)

    def select(self, place_id: int, name: str) -> Chat:
        """Make the chat *name* the current one."""
        with self._locked():
            chat = self.find(place_id, name)
            if chat is None:
                names = ", ".join(each.name for each in self.all(place_id)[:20])
                raise HomeError(f"there is no chat called {format_value(name)}; there are: {names}")
            return chat if chat.is_current else self._save(place_id, chat)

    def start(self, place_id: int, name: str | None = None, *, make_current: bool = True) -> Chat:
        """Begin a chat; without a *name* it is called by the next number.

        Settings of the chat that was current hold in it too.
        """
        with self._locked():
            there = self.all(place_id)
            if len(there) >= MAX_CHATS:
                raise HomeError(f"{self._file} holds {MAX_CHATS} chats of one place already; name one of them")
            names = {chat.name.casefold() for chat in there}
            name = _next_number(names) if name is None else check_chat_name(name)
            if name.casefold() in names:
                raise HomeError(f"there is a chat called {format_value(name)} already; choose another name")
            now = self._clock.now()
            taken = {chat.channel_id for chat in self._rows()}
            channel_id = max(LOWEST_OWN_ID, min(int(now.timestamp() * 1000), HIGHEST_OWN_ID - MAX_CHATS - 1))
            while channel_id in taken:
                channel_id += 1
            chat = Chat(name=name, place_id=place_id, channel_id=channel_id, started=_moment(now))
            self._copy_settings(self.current(place_id), chat)
            return self._save(place_id, chat, make_current=make_current)

    def change(self, chat: Chat, *, name: str, folder: str, is_pinned: bool) -> Chat:
        """Let a chat be called *name*, and stand in lists under *folder*, at their beginning where it *is_pinned*."""
        name = check_chat_name(name)
        folder = check_chat_name(folder) if folder.strip() else ""
        with self._locked():
            there = self.all(chat.place_id)
            known = next((each for each in there if each.channel_id == chat.channel_id), None)
            if known is None:
                raise HomeError(f"there is no chat called {format_value(chat.name)} any more")
            others = {each.name.casefold() for each in there if each.channel_id != chat.channel_id}
            if name.casefold() in others:
                raise HomeError(f"there is a chat called {format_value(name)} already; choose another name")
            changed = replace(known, name=name, folder=folder, is_pinned=is_pinned)
            return self._save(chat.place_id, changed, make_current=known.is_current)

    def remove(self, chat: Chat) -> None:
        """Take a chat off the list; the place's first one stays, for it is the place itself."""
        with self._locked():
            self._write([each for each in self._rows() if each.channel_id != chat.channel_id])

    def _copy_settings(self, source: Chat, target: Chat) -> None:
        text = read_text(self._folder.channel_file(source.channel_id))
        if text is not None:
            write_text(self._folder.channel_file(target.channel_id), text)

    def _save(self, place_id: int, chat: Chat, *, make_current: bool = True) -> Chat:
        """Write *chat* among the others, as the place's current one or beside it; *chat* as it is kept."""
        kept = [each for each in self._rows() if (each.place_id, each.channel_id) != (place_id, chat.channel_id)]
        if make_current:
            kept = [_with_current(each, is_current=False) if each.place_id == place_id else each for each in kept]
        saved = _with_current(chat, is_current=make_current)
        self._write([*kept, saved])
        return saved

    def _write(self, chats: list[Chat]) -> None:
        rows = [
            {
                "name": each.name,
                "place": each.place_id,
                "channel_id": each.channel_id,
                "started": each.started,
                "current": each.is_current or None,
                "pinned": each.is_pinned or None,
                "folder": each.folder or None,
            }
            for each in sorted(chats, key=lambda each: (each.place_id, each.channel_id))
        ]
        write_text(self._file, format_rows(_HEADER, _TABLE, rows))

    def _rows(self) -> list[Chat]:
        found: list[Chat] = []
        for count, row in enumerate(read_rows(self._file, _TABLE), start=1):
            chat = _chat_from(row)
            if chat is None:
                raise HomeError(
                    f"{self._file}: [[{_TABLE}]] number {count} needs a name, a place and a channel_id; fix that row"
                )
            found.append(chat)
        return found

    def _locked(self) -> AbstractContextManager[int]:
        """Nobody else changes the file meanwhile."""
        return open_locked(self._folder.root, os.O_RDONLY)


def check_chat_name(name: str) -> str:
    """*name* as it is kept; a `HomeError` where it cannot name a chat."""
    kept = name.strip()
    if not kept or len(kept) > MAX_NAME_CHARS or not kept.isprintable():
        raise HomeError(f"{format_value(name)} cannot name a chat; use at most {MAX_NAME_CHARS} letters on one line")
    return kept


def _next_number(names: set[str]) -> str:
    return next(str(number) for number in range(2, MAX_CHATS + 3) if str(number) not in names)


def _with_current(chat: Chat, *, is_current: bool) -> Chat:
    return replace(chat, is_current=is_current)


def _chat_from(row: object) -> Chat | None:
    if not isinstance(row, dict):
        return None
    name, place, channel, started = (row.get(key) for key in ("name", "place", "channel_id", "started"))
    if not isinstance(name, str) or not name.strip() or type(place) is not int or type(channel) is not int:
        return None
    return Chat(
        name=name.strip(),
        place_id=place,
        channel_id=channel,
        started=started if isinstance(started, str) else None,
        is_current=row.get("current") is True,
        is_pinned=row.get("pinned") is True,
        folder=folder.strip() if isinstance(folder := row.get("folder"), str) else "",
    )


def _moment(when: datetime) -> str:
    return when.isoformat(timespec="seconds")


def last_talk(root: Path) -> float:
    """Time of the last message that was said with the familiar of *root*; that of a file that does not tell it.

    Chats that were brought in are no talk, whatever dates they have: nobody said anything here.
    """
    folder = FamiliarFolder(root)
    files = [path for path in (folder.history_db, folder.history_wal) if path.exists()]
    if folder.history_db not in files:
        return NEVER
    with suppress(sqlite3.Error, TypeError, ValueError, LinkRefused):
        with _open_to_look(folder) as database:
            row = database.execute(_LAST_SAID_HERE, (f"{IMPORT_PREFIX}*",)).fetchone()
        return NEVER if row is None else datetime.fromisoformat(row[0]).timestamp()
    return max(path.stat().st_mtime for path in files)


def count_turns(root: Path) -> int | None:
    """How many turns the familiar of *root* has, without those taken back; None: whoever opens the history can tell.

    Nothing of the store is loaded for it: an older file is not changed, and nothing foreign in one is looked for.
    """
    folder = FamiliarFolder(root)
    if not folder.history_db.exists():
        return 0
    with suppress(sqlite3.Error, LinkRefused), _open_to_look(folder) as database:
        if database.execute(_HAS_TABLES).fetchone()[0]:
            return int(database.execute(_STANDING_TURNS, {"familiar": root.name}).fetchone()[0])
    return None


def list_standing_turns(history: HistoryStore, familiar_id: str, channel_id: int) -> list[int]:
    """The turns of a chat, hidden ones too, without those taken back."""
    rows = history.database.read(
        "SELECT id FROM turns WHERE familiar_id = ? AND channel_id = ? AND (mark IS NULL OR mark <> 'undone')"
        " ORDER BY id",
        (familiar_id, channel_id),
    )
    return [int(row[0]) for row in rows]


def _open_to_look(folder: FamiliarFolder) -> AbstractContextManager[sqlite3.Connection]:
    # A reader cannot take away the files that it makes beside a database in peace, so it is told to make none.
    access = "mode=ro" if folder.history_wal.exists() else "mode=ro&immutable=1"
    return closing(connect_unlinked(folder.history_db, access))


_COPIED = (
    "guild_id, role, author_platform, author_user_id, author_username, author_display_name, content, timestamp,"
    " mode, facts, audience, mark, view"
)


def copy_turns(history: HistoryStore, *, familiar_id: str, channel_id: int, up_to_id: int, new_channel_id: int) -> int:
    """Repeat the turns of a chat up to one of them in another, with all their versions; how many there are.

    What was undone is left out. Each knows which turn it repeats, so that nothing is remembered or found twice.
    """
    with history.database.transaction() as connection:
        copied = connection.execute(
            f"INSERT INTO turns (familiar_id, channel_id, copy_of, {_COPIED})"
            f" SELECT familiar_id, ?, id, {_COPIED} FROM turns"
            " WHERE familiar_id = ? AND channel_id = ? AND id <= ? AND (mark IS NULL OR mark <> 'undone') ORDER BY id",
            (new_channel_id, familiar_id, channel_id, up_to_id),
        ).rowcount
        connection.execute(
            "INSERT INTO turn_versions SELECT turns.id, number, turn_versions.content, is_chosen, turn_versions.view"
            " FROM turns JOIN turn_versions ON turn_id = copy_of WHERE familiar_id = ? AND channel_id = ?",
            (familiar_id, new_channel_id),
        )
    return copied
