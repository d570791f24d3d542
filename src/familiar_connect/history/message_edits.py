"""Message edits: messages that were changed or deleted after they were stored.

A turn always reads as its message reads now, so every prompt shows the newest. What it read before is kept
beside it for the owner and is never shown to a model. Of a deleted message only the fact remains in the turn.
Summaries and short-term notes that may hold the earlier words are dropped, to be made anew, and what others quoted of
the message is not told from their quotation any more. `withdrawals` tells what is to be done beyond this file.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from familiar_connect.history.rows import MAX_METADATA_CHARS, in_utc, parse_timestamp, where_shown
from familiar_connect.history.types import DELETED, RemovalCause, TurnMark
from familiar_connect.history.withdrawal.quotations import drop_quotations
from familiar_connect.identity import Author
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.serialize import canonical_json
from familiar_connect.support.text import without_surrogates

if TYPE_CHECKING:
    from familiar_connect.history.store import HistoryStore

LOOKED_THROUGH = 20_000
"""Turns among which one of several messages of a reply is looked for."""
_PLAIN_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
"""A platform's id of a message, with nothing in it that a pattern would read otherwise."""

_MADE_OF_TURN = {
    "summaries": "last_summarised_id >= turns.id AND (summaries.channel_id IN (0, turns.channel_id) OR"
    " summaries.channel_id IN (SELECT -id FROM audiences WHERE audience = COALESCE(turns.audience, 'owner')))",
    "cross_context_summaries": "source_channel_id = turns.channel_id AND source_last_id >= turns.id",
    "short_term_notes": "short_term_notes.channel_id = turns.channel_id",
    "channel_marks": "channel_marks.channel_id = turns.channel_id AND kind = 'compact' AND after_id >= turns.id",
}
"""Tables made of what was said, and which of their rows a turn may be in."""


@dataclass(frozen=True, kw_only=True)
class MessageEdit:
    """What a turn read until it was changed."""

    turn_id: int
    said_before: str
    changed_at: datetime
    was_deleted: bool
    removed_by: str = ""
    """A `RemovalCause`; empty for changes from before causes were kept."""


class MessageEdits:
    """Changes to the turns of one familiar. Synchronous, like the store it stands beside."""

    def __init__(self, store: HistoryStore, familiar_id: str, *, clock: Clock | None = None) -> None:
        self._database = store.database
        self._familiar_id = familiar_id
        self._clock = clock or SystemClock()

    def record_edit(self, *, channel_id: int, message_id: str, text: str, view: str | None = None) -> int | None:
        """The message reads *text* now; its turn, or None where it was never stored or reads so already.

        *view* is what prompts show in place of *text*.
        """
        return self._change(channel_id, message_id, without_surrogates(text), was_deleted=False, view=view)

    def record_deletions(
        self, *, channel_id: int, message_ids: Collection[str], cause: RemovalCause = RemovalCause.deleted
    ) -> list[int]:
        """The messages are gone; the turns that said them."""
        changed = [self._change(channel_id, each, DELETED, was_deleted=True, cause=cause) for each in message_ids]
        return [turn_id for turn_id in changed if turn_id is not None]

    def record_purge(self, *, channel_id: int, since: datetime, of: Author | None = None, ours: bool) -> list[int]:
        """All that was said in a channel since then is gone, or all that *of* said; our own words where *ours*."""
        with self._database.transaction() as connection:
            rows = connection.execute(
                "SELECT id, role, author_platform, author_user_id, timestamp FROM turns WHERE familiar_id = ?"
                " AND channel_id = ? AND content != ? AND id > (SELECT MAX(id) FROM turns) - ? ORDER BY id",
                (self._familiar_id, channel_id, DELETED, LOOKED_THROUGH),
            ).fetchall()
            gone = [
                int(turn_id)
                for turn_id, role, platform, user_id, said_at in rows
                if parse_timestamp(said_at) >= in_utc(since)
                and (ours if role == "assistant" else of is None or (platform, user_id) == (of.platform, of.user_id))
            ]
            put_away(connection, gone, self._clock, RemovalCause.purged)
        return gone

    def record_edit_of_turn(self, turn_id: int, text: str, view: str | None = None) -> bool:
        """The turn reads *text* now, and *view* in prompts; False where there is none or it reads so already."""
        with self._database.transaction() as connection:
            found = connection.execute(
                "SELECT content, view FROM turns WHERE familiar_id = ? AND id = ?", (self._familiar_id, turn_id)
            ).fetchone()
            text = without_surrogates(text)
            if found is None or found == (text, view):
                return False
            record_change(connection, turn_id, self._clock, was_deleted=False)
            set_words(connection, turn_id, text, view)
        return True

    def find_turn(self, channel_id: int, message_id: str) -> int | None:
        """The turn of the platform's message; None: it was never stored."""
        rows = self._database.read(
            "SELECT id FROM turns WHERE familiar_id = ? AND channel_id = ? AND platform_message_id = ? LIMIT 1",
            (self._familiar_id, channel_id, message_id),
        )
        return int(rows[0][0]) if rows else None

    def change_facts(self, *, channel_id: int, message_id: str, change: Callable[[dict[str, Any]], None]) -> bool:
        """What came with a message is another now, such as its previews: no word changed, so nothing is made anew.

        *change* is given the facts as plain data, to change. False: nothing changed, or nobody knows the message.
        """
        with self._database.transaction() as connection:
            found = connection.execute(
                "SELECT id, facts FROM turns WHERE familiar_id = ? AND channel_id = ? AND platform_message_id = ?"
                " AND role != 'assistant' AND content != ?",
                (self._familiar_id, channel_id, message_id, DELETED),
            ).fetchone()
            try:
                stored = json.loads(found[1] or "{}") if found is not None else None
            except ValueError:
                return False
            if not isinstance(stored, dict):
                return False
            before = canonical_json(stored)
            change(stored)
            facts = canonical_json(stored)
            if facts == before or len(facts) > MAX_METADATA_CHARS:
                return False
            connection.execute("UPDATE turns SET facts = ? WHERE id = ?", (facts, found[0]))
        return True

    def set_posts(self, turn_id: int, message_id: str | None, facts: str | None) -> None:
        """The messages in which a turn of ours stands are others now, as its facts say."""
        self._database.write(
            "UPDATE turns SET platform_message_id = ?, facts = ? WHERE familiar_id = ? AND id = ?",
            (message_id, facts, self._familiar_id, turn_id),
        )

    def edits_of_turn(self, turn_id: int) -> list[MessageEdit]:
        """Everything a turn read before, oldest first."""
        rows = self._database.read(
            "SELECT turn_id, said_before, changed_at, was_deleted, removed_by FROM turn_revisions"
            " WHERE turn_id = ? ORDER BY rowid",
            (turn_id,),
        )
        return [
            MessageEdit(
                turn_id=id_,
                said_before=before,
                changed_at=parse_timestamp(when),
                was_deleted=bool(deleted),
                removed_by=by or "",
            )
            for id_, before, when, deleted, by in rows
        ]

    def newest_message_id(self, channel_id: int) -> str | None:
        """The platform's id of the message heard last in a channel."""
        rows = self._database.read(
            "SELECT platform_message_id FROM turns WHERE familiar_id = ? AND channel_id = ?"
            " AND platform_message_id IS NOT NULL AND role != 'assistant' AND mark IS NOT 'belated'"
            " ORDER BY id DESC LIMIT 1",
            (self._familiar_id, channel_id),
        )
        last = self._database.read(
            "SELECT platform_message_id FROM heard_up_to WHERE familiar_id = ? AND channel_id = ?",
            (self._familiar_id, channel_id),
        )
        found = [str(row[0]) for row in (*rows, *last)]
        return max(found, key=lambda each: (len(each), each)) if last and rows else found[0] if found else None

    def find_changed_messages(self, channel_id: int, message_ids: Collection[str]) -> set[str]:
        """Those of the platform's messages that read otherwise now than when they were heard."""
        rows = self._database.read(
            "SELECT platform_message_id FROM turns WHERE familiar_id = ? AND channel_id = ?"
            " AND platform_message_id IN (SELECT value FROM json_each(?))"
            " AND EXISTS (SELECT 1 FROM turn_revisions WHERE turn_id = turns.id)",
            (self._familiar_id, channel_id, json.dumps(sorted(message_ids))),
        )
        return {str(row[0]) for row in rows}

    def direct_channels(self, platform: str, *, limit: int) -> list[int]:
        """Conversations outside any server that somebody of *platform* spoke in, the latest first."""
        rows = self._database.read(
            "SELECT channel_id FROM turns WHERE familiar_id = ? AND guild_id IS NULL AND author_platform = ?"
            " GROUP BY channel_id ORDER BY MAX(id) DESC LIMIT ?",
            (self._familiar_id, platform, limit),
        )
        return [int(row[0]) for row in rows]

    def _change(
        self,
        channel_id: int,
        message_id: str,
        text: str,
        *,
        was_deleted: bool,
        view: str | None = None,
        cause: RemovalCause = RemovalCause.edited,
    ) -> int | None:
        with self._database.transaction() as connection:
            found = connection.execute(
                "SELECT id, content, facts FROM turns"
                " WHERE familiar_id = ? AND channel_id = ? AND platform_message_id = ?",
                (self._familiar_id, channel_id, message_id),
            ).fetchone()
            if found is None and was_deleted:
                found = self._find_piece(connection, channel_id, message_id)
            if found is None or found[1] == text or found[1] == DELETED:
                return None
            turn_id = int(found[0])
            left = _without_piece(found[2], message_id) if was_deleted else None
            if was_deleted and (left is None or left[0] == DELETED):
                put_away(connection, [turn_id], self._clock, cause)
                return turn_id
            record_change(connection, turn_id, self._clock, was_deleted=was_deleted, cause=cause)
            text, facts = left or (text, found[2])
            connection.execute("UPDATE turns SET facts = ? WHERE id = ?", (facts, turn_id))
            set_words(connection, turn_id, text, view)
        return turn_id

    def _find_piece(
        self, connection: sqlite3.Connection, channel_id: int, message_id: str
    ) -> tuple[int, str, str] | None:
        """The turn of ours that stands in several messages, one of which is *message_id*."""
        if _PLAIN_ID.fullmatch(message_id) is None:
            return None
        found = connection.execute(
            "SELECT id, content, facts FROM turns WHERE familiar_id = ? AND channel_id = ? AND role = 'assistant'"
            " AND id > (SELECT MAX(id) FROM turns) - ? AND facts LIKE ? ORDER BY id DESC LIMIT 1",
            (self._familiar_id, channel_id, LOOKED_THROUGH, f'%"message_id":"{message_id}"%'),
        ).fetchone()
        return found if found is None else (int(found[0]), str(found[1]), str(found[2]))


def _without_piece(facts: object, message_id: str) -> tuple[str, str] | None:
    """Words and facts of a turn that stood in several messages, without one; None: it stood in no such message."""
    try:
        stored = json.loads(str(facts or "{}"))
        pieces = stored.get("pieces") or []
        left = [each for each in pieces if each["message_id"] != message_id]
        words = "\n\n".join(str(each["text"]) for each in left).strip()
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    if len(left) == len(pieces):
        return None
    return words or DELETED, canonical_json({**stored, "pieces": left})


def set_words(connection: sqlite3.Connection, turn_id: int, text: str, view: str | None = None) -> None:
    """Let a turn read *text*, and *view* in prompts; a change of the words alone clears the view (see `schema`)."""
    connection.execute("UPDATE turns SET content = ? WHERE id = ?", (text, turn_id))
    if view is not None:
        connection.execute("UPDATE turns SET view = ? WHERE id = ?", (without_surrogates(view), turn_id))


def record_change(
    connection: sqlite3.Connection,
    turn_ids: int | Sequence[int],
    clock: Clock,
    *,
    was_deleted: bool,
    cause: RemovalCause | None = None,
) -> None:
    """Keep what turns read, just before they are changed, and drop what was made of them.

    Whatever follows the history, such as the index of turns, finds the change by this row.
    """
    by = cause or (RemovalCause.undone if was_deleted else RemovalCause.edited)
    ids = [turn_ids] if isinstance(turn_ids, int) else list(turn_ids)
    connection.executemany(
        "INSERT INTO turn_revisions (turn_id, said_before, view_before, changed_at, was_deleted, facts_before,"
        " removed_by) SELECT id, content, view, ?, ?, facts, ? FROM turns WHERE id = ?",
        [(in_utc(clock.now()).isoformat(), int(was_deleted), by.value, turn_id) for turn_id in ids],
    )
    drop_made_of(connection, ids)
    drop_quotations(connection, ids, are_gone=was_deleted)


def put_away(connection: sqlite3.Connection, turn_ids: Sequence[int], clock: Clock, cause: RemovalCause) -> None:
    """Let turns read as deleted. What they read, in all their versions, stays beside them for the owner alone."""
    at = in_utc(clock.now()).isoformat()
    connection.executemany(
        "INSERT INTO turn_revisions (turn_id, said_before, view_before, changed_at, was_deleted, removed_by)"
        " SELECT turn_id, content, view, ?, 1, ? FROM turn_versions WHERE turn_id = ? AND is_chosen = 0",
        [(at, cause.value, turn_id) for turn_id in turn_ids],
    )
    record_change(connection, turn_ids, clock, was_deleted=True, cause=cause)
    for table in ("turn_versions", "owed_replies"):
        connection.executemany(f"DELETE FROM {table} WHERE turn_id = ?", [(turn_id,) for turn_id in turn_ids])
    connection.executemany(
        "UPDATE turns SET content = ?, facts = NULL WHERE id = ?", [(DELETED, turn_id) for turn_id in turn_ids]
    )


def drop_made_of(connection: sqlite3.Connection, turn_ids: Sequence[int]) -> None:
    """Drop the summaries and notes that these turns may be in."""
    for table, condition in _MADE_OF_TURN.items():
        connection.execute(
            f"DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM turns WHERE turns.id IN (SELECT value FROM json_each(?))"
            f" AND turns.familiar_id = {table}.familiar_id AND {condition})",
            (json.dumps(list(turn_ids)),),
        )


def count_with_words(history: HistoryStore, *, familiar_id: str, channel_id: int, with_hidden: bool) -> int:
    """How many turns of a channel `turns_after` shows that were not deleted since. Reads all of them."""
    rows = history.database.read(
        f"SELECT COUNT(*) FROM turns WHERE familiar_id = ? AND channel_id = ? AND {where_shown(with_hidden)}"
        " AND content != ?",
        (familiar_id, channel_id, DELETED),
    )
    return int(rows[0][0])


def count_undone(history: HistoryStore, *, familiar_id: str, channel_id: int | None = None) -> int:
    """How many turns were taken back. Reads only those that were ever changed, of which each of them is one."""
    here, values = ("", ()) if channel_id is None else (" AND channel_id = ?", (channel_id,))
    rows = history.database.read(
        "SELECT COUNT(*) FROM turns WHERE id IN (SELECT turn_id FROM turn_revisions)"
        f" AND familiar_id = ? AND mark = ?{here}",
        (familiar_id, TurnMark.undone.value, *values),
    )
    return int(rows[0][0])
