"""Everything one person said: found, read in steps, and erased for good.

Erasing is one transaction. It also empties the summaries and short-term notes, which were made from what
was said and are made anew from what is left. `compact` afterwards leaves no copy in free pages or in the
write-ahead log.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from familiar_connect.history.rows import TURN_COLUMNS, author_from_columns, turn_from_row
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.support.sqlite import Database

_PEOPLE = (
    "SELECT author_platform, author_user_id, author_username, author_display_name, COUNT(*), MAX(id) FROM turns"
    " WHERE familiar_id = ? AND author_platform IS NOT NULL AND author_user_id IS NOT NULL"
    " GROUP BY author_platform, author_user_id, author_username, author_display_name ORDER BY MAX(id) DESC"
)
_THEIRS = "familiar_id = ? AND author_platform = ? AND author_user_id = ?"
_SUMMARIES = ("summaries", "cross_context_summaries")
_MADE_FROM_TURNS = (*_SUMMARIES, "summaries_without", "short_term_notes")


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
        """Everyone who ever spoke, most recently heard first."""
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

    def turns_of(self, familiar_id: str, who: Author, after_id: int, limit: int) -> list[HistoryTurn]:
        """The next *limit* of their turns after *after_id*, ascending: one step of a walk."""
        rows = self._database.read(
            f"SELECT {TURN_COLUMNS} FROM turns WHERE {_THEIRS} AND id > ? ORDER BY id LIMIT ?",
            (familiar_id, who.platform, who.user_id, after_id, max(0, limit)),
        )
        return [turn_from_row(row) for row in rows]

    def ids_of(self, familiar_id: str, who: Author) -> list[int]:
        rows = self._database.read(
            f"SELECT id FROM turns WHERE {_THEIRS} ORDER BY id", (familiar_id, who.platform, who.user_id)
        )
        return [int(row[0]) for row in rows]

    def count_summaries(self, familiar_id: str) -> int:
        """How many summaries are kept."""
        return sum(
            int(self._database.read(f"SELECT COUNT(*) FROM {table} WHERE familiar_id = ?", (familiar_id,))[0][0])
            for table in _SUMMARIES
        )

    def erase(self, familiar_id: str, who: Author) -> int:
        """Remove their turns and every summary, all or nothing; how many turns went."""
        self._database.write("PRAGMA secure_delete=ON")
        with self._database.transaction() as connection:
            gone = connection.execute(
                f"DELETE FROM turns WHERE {_THEIRS}", (familiar_id, who.platform, who.user_id)
            ).rowcount
            # Somebody else's message may quote theirs, or say that they reacted to it.
            connection.execute(
                "UPDATE turns SET facts = NULL WHERE familiar_id = ? AND facts IS NOT NULL AND instr(facts, ?) > 0",
                (familiar_id, who.user_id),
            )
            for table in ("conditioning", "reminders", "pending_speech"):
                connection.execute(f"DELETE FROM {table} WHERE {_THEIRS}", (familiar_id, who.platform, who.user_id))
            for table in _MADE_FROM_TURNS:
                connection.execute(f"DELETE FROM {table} WHERE familiar_id = ?", (familiar_id,))
            connection.execute("DELETE FROM channel_marks WHERE familiar_id = ? AND kind = 'compact'", (familiar_id,))
        return gone
