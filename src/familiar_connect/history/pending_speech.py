"""PendingSpeechRows: words that were said aloud and whose turn in the conversation has not come yet.

A row is written as soon as the words are understood, and removed in the step that stores them as a turn. What a
process that has ended left there becomes turns at the next start: a crash loses no word.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from familiar_connect.audience import Audience, parse_audience
from familiar_connect.history.rows import author_from_columns, in_utc, parse_timestamp, text_or_none
from familiar_connect.identity import Author
from familiar_connect.support.sqlite import Database, Row, storable_all

SPEECH_TABLE = """
CREATE TABLE IF NOT EXISTS pending_speech (
    key TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    familiar_id TEXT NOT NULL,
    channel_id INTEGER NOT NULL,
    guild_id INTEGER,
    author_platform TEXT NOT NULL,
    author_user_id TEXT NOT NULL,
    author_username TEXT,
    author_display_name TEXT,
    content TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    mode TEXT,
    facts TEXT,
    audience TEXT NOT NULL
)
"""
_COLUMNS = (
    "familiar_id, channel_id, guild_id, author_platform, author_user_id, author_username, author_display_name, content,"
    " timestamp, mode, facts, audience"
)


@dataclass(frozen=True, kw_only=True)
class PendingSpeech:
    """Some words of one person, with all that their turn in the history takes."""

    familiar_id: str
    channel_id: int
    guild_id: int | None
    author: Author
    content: str
    timestamp: datetime
    mode: str | None
    facts: str | None
    audience: Audience


class PendingSpeechRows:
    """The rows of every familiar in one history. Synchronous, like the store they belong to."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: str, said: PendingSpeech) -> None:
        """Keep *said* under *key*, which is nobody else's, until it is removed."""
        who = said.author
        values = (
            key,
            os.getpid(),
            said.familiar_id,
            said.channel_id,
            said.guild_id,
            who.platform,
            who.user_id,
            who.username,
            who.display_name,
            said.content,
            in_utc(said.timestamp).isoformat(),
            said.mode,
            said.facts,
            str(said.audience),
        )
        marks = ", ".join("?" * len(values))
        self._database.write(
            f"INSERT OR IGNORE INTO pending_speech (key, pid, {_COLUMNS}) VALUES ({marks})", storable_all(values)
        )

    def remove(self, keys: Collection[str]) -> None:
        """These words are stored as a turn, or are to be forgotten."""
        marks = ", ".join("?" * len(keys))
        self._database.write(f"DELETE FROM pending_speech WHERE key IN ({marks})", tuple(keys))

    def recover(self, familiar_id: str, append: Callable[..., object]) -> int:
        """Make turns by *append* of what processes that have ended left, in one step; how many there were.

        To be called before anything is heard.
        """
        with self._database.transaction():
            rows = self._database.read(
                f"SELECT key, pid, {_COLUMNS} FROM pending_speech WHERE familiar_id = ? ORDER BY timestamp, rowid",
                (familiar_id,),
            )
            left = [row for row in rows if not _is_another_running(row[1])]
            for row in left:
                append(**_turn_of(row))
            if left:
                self.remove([row[0] for row in left])
        return len(left)


def _turn_of(row: Row) -> dict[str, Any]:
    """What `HistoryStore.append_turn` takes."""
    _, _, familiar_id, channel_id, guild_id, *who, content, timestamp, mode, facts, audience = row
    return {
        "familiar_id": familiar_id,
        "channel_id": channel_id,
        "role": "user",
        "content": text_or_none(content) or "",
        "author": author_from_columns(*who),
        "guild_id": guild_id,
        "mode": text_or_none(mode),
        "timestamp": parse_timestamp(timestamp),
        "facts": text_or_none(facts),
        "audience": parse_audience(text_or_none(audience)),
    }


def _is_another_running(pid: object) -> bool:
    """Whether *pid* is a process beside ours, which stores its words itself; where that cannot be told, it is none."""
    if not isinstance(pid, int) or pid <= 0 or pid == os.getpid() or os.name == "nt":
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
