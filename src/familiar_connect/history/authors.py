"""Everything one person said: found, read in steps, and erased for good.

Erasing is one transaction. It also empties the summaries and short-term notes, which were made from what
was said and are rewritten from what is left. `compact` afterwards leaves no copy in free pages or in the
write-ahead log.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from familiar_connect.history.rows import (
    MAX_TURNS_READ,
    SUMMARY_TABLES,
    TURN_COLUMNS,
    author_from_columns,
    turn_from_row,
)
from familiar_connect.history.types import DELETED, HistoryTurn
from familiar_connect.history.withdrawal.quotations import drop_quotations
from familiar_connect.identity import Author
from familiar_connect.support.sqlite import Database

_PEOPLE = (
    "SELECT author_platform, author_user_id, author_username, author_display_name, COUNT(*), MAX(id) FROM turns"
    " WHERE familiar_id = ? AND author_platform IS NOT NULL AND author_user_id IS NOT NULL"
    " GROUP BY author_platform, author_user_id, author_username, author_display_name ORDER BY MAX(id) DESC"
)
_THEIRS = "familiar_id = ? AND author_platform = ? AND author_user_id = ?"
_ORDERS = (
    ("reminders", "id", "purpose", "1"),
    ("conditioning", "reason_key", "reason", "1"),
    ("outbox", "id", "text || char(10) || COALESCE(facts, '')", "(id <= ? OR state = 'doubtful')"),
)
"""Tables of what was asked for or is under way: the key of a row, where its words stand, and which rows are left."""
_MADE_FROM_TURNS = (*SUMMARY_TABLES, "summaries_without", "short_term_notes")


@dataclass(frozen=True)
class Speaker:
    """Someone who said something: under their newest names, every earlier one among the aliases."""

    author: Author
    turns: int
    last_id: int


class AuthorRows:
    """The turns of `history.db` by who said them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def speakers(self, familiar_id: str) -> list[Speaker]:
        """Everyone who ever spoke, most recently heard first, with how much. Reads the whole history."""
        found: dict[tuple[str, str], Speaker] = {}
        for platform, user_id, username, display_name, turns, last_id in self._database.read(_PEOPLE, (familiar_id,)):
            who = author_from_columns(platform, user_id, username, display_name)
            if who is None:
                continue
            known = found.setdefault((platform, user_id), Speaker(who, 0, last_id))
            names = known.author.aliases | who.all_known_names
            found[platform, user_id] = replace(
                known, author=replace(known.author, aliases=names), turns=known.turns + turns
            )
        return list(found.values())

    def turns_of(
        self, familiar_id: str, author: Author, after_id: int = 0, limit: int = MAX_TURNS_READ
    ) -> list[HistoryTurn]:
        """The next *limit* of their turns after *after_id*, ascending: one step of a walk."""
        rows = self._database.read(
            f"SELECT {TURN_COLUMNS} FROM turns WHERE {_THEIRS} AND id > ? ORDER BY id LIMIT ?",
            (familiar_id, author.platform, author.user_id, after_id, max(0, limit)),
        )
        return [turn_from_row(row) for row in rows]

    def ids_of(self, familiar_id: str, author: Author) -> list[int]:
        rows = self._database.read(
            f"SELECT id FROM turns WHERE {_THEIRS} ORDER BY id", (familiar_id, author.platform, author.user_id)
        )
        return [int(row[0]) for row in rows]

    def erase(self, familiar_id: str, who: Author, also: Collection[int] = ()) -> int:
        """Remove their turns, the words of those in *also*, and every summary, all or nothing; how many went."""
        self._database.write("PRAGMA secure_delete=ON")
        theirs = self.ids_of(familiar_id, who)
        with self._database.transaction() as connection:
            erase_turns(connection, familiar_id, theirs)
            for turn_id in also:
                connection.execute("UPDATE turns SET content = ?, facts = NULL WHERE id = ?", (DELETED, turn_id))
                for table in ("turn_revisions", "turn_versions"):
                    connection.execute(f"DELETE FROM {table} WHERE turn_id = ?", (turn_id,))
            # Somebody else's message may say that they reacted to it, or quote what was said before it was kept.
            connection.execute(
                "UPDATE turns SET facts = NULL WHERE familiar_id = ? AND facts IS NOT NULL AND instr(facts, ?) > 0",
                (familiar_id, who.user_id),
            )
            connection.execute(
                "UPDATE turn_revisions SET facts_before = NULL WHERE instr(facts_before, ?) > 0", (who.user_id,)
            )
            for table in ("conditioning", "reminders", "pending_speech"):
                connection.execute(f"DELETE FROM {table} WHERE {_THEIRS}", (familiar_id, who.platform, who.user_id))
            for table in _MADE_FROM_TURNS:
                connection.execute(f"DELETE FROM {table} WHERE familiar_id = ?", (familiar_id,))
            connection.execute("DELETE FROM channel_marks WHERE familiar_id = ? AND kind = 'compact'", (familiar_id,))
        return len(theirs)


def remove_reminders_and_posts(
    database: Database, familiar_id: str, is_meant: Callable[[str], bool], last_piece: int
) -> int:
    """Remove reminders, habits and what an earlier run left to post, where their words are meant; how many.

    Of this run a piece goes that may have arrived or not: by it the next run would take the words up again.
    """
    removed = 0
    with database.transaction() as connection:
        for table, key, column, is_left in _ORDERS:
            rows = connection.execute(
                f"SELECT {key}, {column} FROM {table} WHERE familiar_id = ? AND {is_left}",
                (familiar_id, last_piece)[: 1 + is_left.count("?")],
            ).fetchall()
            doomed = [row[0] for row in rows if is_meant(str(row[1]))]
            connection.executemany(
                f"DELETE FROM {table} WHERE familiar_id = ? AND {key} = ?", [(familiar_id, each) for each in doomed]
            )
            removed += len(doomed)
    return removed


def erase_turns(connection: sqlite3.Connection, familiar_id: str, turn_ids: Sequence[int]) -> None:
    """Remove turns for good, inside the caller's transaction: their versions, what they read before, quotations.

    How far their channels were heard stays known, so that a platform is not asked for them again.
    """
    ids = json.dumps(list(turn_ids))
    chosen = "familiar_id = ? AND id IN (SELECT value FROM json_each(?))"
    drop_quotations(connection, turn_ids, are_gone=True)
    heard: dict[int, str] = {}
    for channel_id, message_id in connection.execute(
        f"SELECT channel_id, platform_message_id FROM turns WHERE {chosen} AND role != 'assistant'"
        " AND platform_message_id IS NOT NULL AND mark IS NOT 'belated' ORDER BY id",
        (familiar_id, ids),
    ):
        heard[channel_id] = str(message_id)
    connection.executemany(
        "INSERT OR REPLACE INTO heard_up_to VALUES (?, ?, ?)",
        [(familiar_id, channel_id, message_id) for channel_id, message_id in heard.items()],
    )
    connection.execute(f"DELETE FROM turns WHERE {chosen}", (familiar_id, ids))
    # A number given to a change that went with its turn is given again: it must not count as looked at.
    connection.execute(
        "UPDATE memory_corrections SET last_change ="
        " MIN(last_change, (SELECT COALESCE(MAX(rowid), 0) FROM turn_revisions))"
    )
