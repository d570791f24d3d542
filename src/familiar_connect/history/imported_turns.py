"""Imported turns: the messages of a chat file as turns of one channel, stored in steps and taken back as a whole.

Each has `import:<number>:<place>:<fingerprint>` for the platform's id of its message: which import it came with, the
how manyth of it, and what it was in the file. So the history itself knows what it holds of a file, also after a process
was ended in the middle.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from familiar_connect.audience import OWNER
from familiar_connect.history.message_edits import record_change, set_words
from familiar_connect.history.rows import Mode, in_utc, mode_value
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import IMPORT_PREFIX, TurnMark
from familiar_connect.history.versions import TurnVersions, TurnVersionStore
from familiar_connect.identity import Author
from familiar_connect.support.clock import Clock, SystemClock

_INSERT = (
    "INSERT INTO turns (familiar_id, channel_id, role, author_platform, author_user_id, author_username,"
    " author_display_name, content, timestamp, platform_message_id, facts, audience, mark, mode, view)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_UPDATE = (
    "UPDATE turns SET role = ?, author_platform = ?, author_user_id = ?, author_username = ?, author_display_name = ?,"
    " content = ?, timestamp = ?, platform_message_id = ?, facts = ?, audience = ?, mark = ?, mode = ? WHERE id = ?"
)
_MADE_FROM_TURNS = ("summaries", "cross_context_summaries", "short_term_notes")


@dataclass(frozen=True, kw_only=True)
class NewTurn:
    """A turn as a file has it."""

    place: int
    """The how manyth of its import it is, from 0."""
    fingerprint: str
    role: str
    author: Author | None
    content: str
    timestamp: datetime
    facts: str | None = None
    is_hidden: bool = False
    versions: tuple[str, ...] = ()
    chosen: int = 0
    view: str | None = None
    """What scripts had made of it, and of each version, where the file tells."""
    views: tuple[str | None, ...] = ()

    def versions_of(self, turn_id: int) -> TurnVersions:
        """Its versions, as those of the turn that it became."""
        return TurnVersions(turn_id=turn_id, texts=self.versions, chosen=self.chosen, views=self.views)


@dataclass(frozen=True)
class ImportedTurn:
    """A turn that is there, and what it was in its file."""

    turn_id: int
    place: int
    fingerprint: str


class ImportedTurns:
    """The turns of one import in one channel."""

    def __init__(
        self,
        store: HistoryStore,
        *,
        familiar_id: str,
        channel_id: int,
        number: int,
        mode: Mode = None,
        clock: Clock | None = None,
    ) -> None:
        """*mode* is that of the channel: a prompt shows what was said in the mode it is made in."""
        self._database = store.database
        self._versions = TurnVersionStore(store, familiar_id, clock=clock)
        self._familiar_id = familiar_id
        self._channel_id = channel_id
        self._prefix = f"{IMPORT_PREFIX}{number}:"
        self._mode = mode_value(mode)
        self._clock = clock or SystemClock()

    def all(self) -> list[ImportedTurn]:
        """What is there of the file, in its order; what was taken back since is left out."""
        rows = self._database.read(
            "SELECT id, platform_message_id FROM turns WHERE familiar_id = ?"
            " AND channel_id = ? AND platform_message_id GLOB ? AND mark IS NOT ? ORDER BY id",
            (self._familiar_id, self._channel_id, f"{self._prefix}*", TurnMark.undone.value),
        )
        return list(_read_imported(rows))

    def append(self, turns: Sequence[NewTurn]) -> int:
        """Store *turns* after everything else in the channel, all or none; how many are new."""
        added: list[TurnVersions] = []
        count = 0
        with self._database.transaction() as connection:
            for turn in turns:
                stored = connection.execute(
                    _INSERT, (self._familiar_id, self._channel_id, *self._values(turn), turn.view)
                )
                if stored.rowcount:
                    count += 1
                    if len(turn.versions) > 1:
                        added.append(turn.versions_of(int(stored.lastrowid or 0)))
            self._versions.add_versions(added)
        return count

    def change(self, turn_id: int, turn: NewTurn) -> None:
        """Let a stored turn read as its file does now; what it read before is kept as with any edit."""
        with self._database.transaction() as connection:
            record_change(connection, turn_id, self._clock, was_deleted=turn.is_hidden)
            connection.execute(_UPDATE, (*self._values(turn), turn_id))
            set_words(connection, turn_id, turn.content, turn.view)
            if len(turn.versions) > 1:
                self._versions.add_versions([turn.versions_of(turn_id)])

    def take_back(self, turn_ids: Sequence[int]) -> None:
        """The file no longer has them: kept, and shown nowhere."""
        self._versions.mark_turns(turn_ids, TurnMark.undone)

    def next_place(self) -> int:
        """A number that no turn of the import has yet."""
        rows = self._database.read(
            "SELECT platform_message_id FROM turns WHERE familiar_id = ? AND channel_id = ?"
            " AND platform_message_id GLOB ?",
            (self._familiar_id, self._channel_id, f"{self._prefix}*"),
        )
        return max((found[1] for row in rows if (found := parse_import_id(str(row[0])))), default=-1) + 1

    def ids(self) -> list[int]:
        """Every turn that came with the import, taken back or not."""
        rows = self._database.read(
            "SELECT id FROM turns WHERE familiar_id = ? AND channel_id = ? AND platform_message_id GLOB ? ORDER BY id",
            (self._familiar_id, self._channel_id, f"{self._prefix}*"),
        )
        return [int(row[0]) for row in rows]

    def remove(self) -> int:
        """Take out every turn of the import, and what was made from turns; how many went."""
        with self._database.transaction() as connection:
            gone = connection.execute(
                "DELETE FROM turns WHERE familiar_id = ? AND channel_id = ? AND platform_message_id GLOB ?",
                (self._familiar_id, self._channel_id, f"{self._prefix}*"),
            ).rowcount
            self._forget_summaries(connection)
        return gone

    def _forget_summaries(self, connection: sqlite3.Connection) -> None:
        for table in _MADE_FROM_TURNS:
            connection.execute(f"DELETE FROM {table} WHERE familiar_id = ?", (self._familiar_id,))

    def _values(self, turn: NewTurn) -> tuple[object, ...]:
        author = turn.author
        who = (author.platform, author.user_id, author.username, author.display_name) if author else (None,) * 4
        mark = TurnMark.hidden.value if turn.is_hidden else None
        message_id = f"{self._prefix}{turn.place}:{turn.fingerprint}"
        moment = in_utc(turn.timestamp).isoformat()
        return (turn.role, *who, turn.content, moment, message_id, turn.facts, str(OWNER), mark, self._mode)


def parse_import_id(message_id: str | None) -> tuple[int, int, str] | None:
    """Number of the import, place and fingerprint; None for a message that came with none."""
    parts = message_id.split(":") if message_id and message_id.startswith(IMPORT_PREFIX) else []
    if len(parts) != 4 or not (parts[1].isdigit() and parts[2].isdigit()):
        return None
    return int(parts[1]), int(parts[2]), parts[3]


def _read_imported(rows: Sequence[Sequence[object]]) -> Iterator[ImportedTurn]:
    for turn_id, message_id in rows:
        found = parse_import_id(str(message_id))
        if found is not None and isinstance(turn_id, int):
            yield ImportedTurn(turn_id, found[1], found[2])
