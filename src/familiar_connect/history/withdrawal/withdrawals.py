"""Withdrawals: what was said and then taken back, and what is still to be done about it.

Taking back has two strengths. Withdrawn words stay beside their turn for the owner's eyes, with the reason, and the
turn reads as deleted. Erased turns go from the file. Either way the change is on disk first: `pending` tells what has
changed since everything that is made of turns was last brought level, so whoever is killed in between goes on later.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from familiar_connect.history.message_edits import drop_made_of, put_away
from familiar_connect.history.rows import TURN_COLUMNS, UNMARKED, in_utc, parse_timestamp, turn_from_row
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import DELETED, HistoryTurn, RemovalCause
from familiar_connect.identity import Author
from familiar_connect.support.clock import Clock, SystemClock

STEP = 500
"""Turns looked up at once."""
LONGEST_REPLY = timedelta(hours=1)
"""A reply is written down to go out no later than so long after its prompt was made."""
MOST_ASKED = 40
"""Words looked for in one reading of the history; for more, all of it is read once."""
_SEEN = f"({UNMARKED} OR mark = 'belated') AND content != '{DELETED}'"
_SAID_WITH = ("embeds", "attachments", "forwards", "poll")
_WORDS_IN = ("text", "title", "description", "filename", "transcript", "question")


@dataclass(frozen=True, kw_only=True)
class WithdrawnTurn:
    """One turn that reads otherwise now, or not at all."""

    id: int
    said_at: datetime
    texts: tuple[str, ...]
    """What it read, and what came with it, before each change."""
    stands: str
    """What it reads now; empty where it is shown to no model."""
    is_ours: bool = False


@dataclass(frozen=True, kw_only=True)
class PendingWithdrawals:
    """What has changed since everything made of turns was last brought level."""

    newest: int
    """The number of the newest change."""
    turns: tuple[WithdrawnTurn, ...]


class Withdrawals:
    """What was taken back of one familiar's turns. Synchronous, like the store it stands beside."""

    def __init__(self, store: HistoryStore, familiar_id: str, *, clock: Clock | None = None) -> None:
        self._store = store
        self._database = store.database
        self._familiar_id = familiar_id
        self._clock = clock or SystemClock()

    def withdraw(self, turn_ids: Collection[int], cause: RemovalCause) -> list[int]:
        """Let turns read as deleted, all or none; those for which that is new."""
        with self._database.transaction() as connection:
            changed = self._standing(connection, turn_ids)
            if changed:
                put_away(connection, changed, self._clock, cause)
        return changed

    def turns_with(self, person: Author) -> list[int]:
        """The turns that still read as they were said by *person*, and ours said to them alone."""
        rows = self._database.read(
            f"SELECT id FROM turns WHERE familiar_id = ? AND {_SEEN} AND ((author_platform = ? AND author_user_id = ?)"
            " OR (role = 'assistant' AND audience LIKE 'people:%' AND instr(audience, ?) > 0)) ORDER BY id",
            (self._familiar_id, person.platform, person.user_id, person.canonical_key),
        )
        return [int(row[0]) for row in rows]

    def turns_on_server(self, person: Author, guild_id: int, since: datetime) -> list[tuple[int, int]]:
        """Channel and number of what *person* said on a server since then."""
        rows = self._database.read(
            f"SELECT channel_id, id, timestamp FROM turns WHERE familiar_id = ? AND {_SEEN} AND guild_id = ?"
            " AND author_platform = ? AND author_user_id = ? ORDER BY id",
            (self._familiar_id, guild_id, person.platform, person.user_id),
        )
        return [(int(where), int(turn_id)) for where, turn_id, at in rows if parse_timestamp(at) >= in_utc(since)]

    def describe(self, turn_ids: Collection[int]) -> tuple[WithdrawnTurn, ...]:
        """Turns that are about to be erased, with everything they ever read."""
        rows = self._database.read(
            "SELECT id, timestamp, content, view, facts, role FROM turns WHERE +familiar_id = ?"
            " AND id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (self._familiar_id, json.dumps(sorted(set(turn_ids)))),
        )
        earlier: dict[int, list[str]] = {}
        for turn_id, said, view in self._database.read(
            "SELECT turn_id, said_before, view_before FROM turn_revisions"
            " WHERE turn_id IN (SELECT value FROM json_each(?)) UNION ALL"
            " SELECT turn_id, content, view FROM turn_versions WHERE turn_id IN (SELECT value FROM json_each(?))",
            (json.dumps([row[0] for row in rows]),) * 2,
        ):
            earlier.setdefault(turn_id, []).extend(_words_in(said, view))
        return tuple(
            WithdrawnTurn(
                id=turn_id,
                said_at=parse_timestamp(at),
                texts=tuple(
                    dict.fromkeys(
                        text
                        for text in (*_words_in(content, view), *earlier.get(turn_id, ()), *_words_beside(facts))
                        if text != DELETED
                    )
                ),
                stands="",
                is_ours=role == "assistant",
            )
            for turn_id, at, content, view, facts, role in rows
        )

    # What is still to be done

    def newest_change(self) -> int:
        """The number of the newest change of any turn; 0 for none."""
        return int(self._database.read("SELECT COALESCE(MAX(rowid), 0) FROM turn_revisions")[0][0])

    def pending(self, since: int | None = None) -> PendingWithdrawals | None:
        """What has changed *since* that change, or since `mark_done`; None where nothing has."""
        newest = self.newest_change()
        done = self._done() if since is None else since
        if newest <= done:
            return None
        rows = self._database.read(
            "SELECT turn_id, said_before, view_before, facts_before, timestamp, content, view, mark, role"
            " FROM turn_revisions"
            " JOIN turns ON turns.id = turn_id WHERE familiar_id = ? AND turn_revisions.rowid > ?"
            " AND turn_revisions.rowid <= ? ORDER BY turn_revisions.rowid",
            (self._familiar_id, done, newest),
        )
        said: dict[int, dict[str, None]] = {}
        turns: dict[int, tuple[datetime, str, bool]] = {}
        for turn_id, before, view_before, facts, at, content, view, mark, role in rows:
            is_shown = mark in (None, "belated") and content != DELETED
            is_ours = role == "assistant"
            stands = (view if is_ours and view is not None else content) if is_shown else ""
            turns[turn_id] = (parse_timestamp(at), str(stands), is_ours)
            texts = [*_words_in(before, view_before), *(_words_beside(facts) if not is_shown else ())]
            said.setdefault(turn_id, {}).update((text, None) for text in texts if text and text != DELETED)
        found = tuple(
            WithdrawnTurn(id=turn_id, said_at=at, texts=tuple(said[turn_id]), stands=stands, is_ours=ours)
            for turn_id, (at, stands, ours) in turns.items()
        )
        return PendingWithdrawals(newest=newest, turns=found)

    def mark_done(self, newest: int) -> None:
        """Everything made of turns is level with every change up to *newest*."""
        self._database.write(
            "INSERT INTO memory_corrections VALUES (?, ?)"
            " ON CONFLICT (familiar_id) DO UPDATE SET last_change = excluded.last_change",
            (self._familiar_id, newest),
        )

    def reopen_since(self, moment: datetime) -> bool:
        """Look again at what changed since *moment*, for something made before has been kept only now; if anything."""
        rows = self._database.read("SELECT rowid, changed_at FROM turn_revisions ORDER BY rowid DESC LIMIT ?", (STEP,))
        late = [int(number) for number, at in rows if parse_timestamp(at) >= in_utc(moment)]
        if late and min(late) <= self._done():
            self.mark_done(min(late) - 1)
        return bool(late)

    def reopen_for_unfinished_replies(self) -> None:
        """Look again at what changed while replies were made that an earlier run left on their way out."""
        rows = self._database.read(
            "SELECT created_at FROM outbox WHERE familiar_id = ? AND state != 'recorded' AND id <= ?",
            (self._familiar_id, self._store.outbox.last_piece),
        )
        if rows:
            self.reopen_since(min(parse_timestamp(row[0]) for row in rows) - LONGEST_REPLY)

    def drop_made_of(self, turn_ids: Iterable[int]) -> None:
        """Drop summaries and notes again that may have been made of these turns meanwhile."""
        with self._database.transaction() as connection:
            drop_made_of(connection, list(turn_ids))

    # What is still said

    def standing_texts(self, words: Sequence[str], *, before_id: int, but: Set[int]) -> Iterator[str]:
        """What people still say anywhere, and we said before turn *before_id*, where one of *words* may stand in it.

        Turns in *but* are left out. SQLite folds the case of plain letters alone: other words are looked for in every
        text.
        """
        where, values = "", []
        if len(words) <= MOST_ASKED and all(word.isascii() for word in words):
            said = "lower(content || char(10) || COALESCE(view, ''))"
            where = f" AND ({' OR '.join([f'instr({said}, ?) > 0'] * len(words))})"
            values = list(words)
        after = 0
        while True:
            rows = self._database.read(
                f"SELECT id, content, view FROM turns WHERE familiar_id = ? AND id > ? AND {_SEEN}"
                f" AND (role != 'assistant' OR id < ?){where} ORDER BY id LIMIT ?",
                (self._familiar_id, after, before_id, *values, STEP),
            )
            yield from (text for row in rows if row[0] not in but for text in _words_in(row[1], row[2]))
            if len(rows) < STEP:
                return
            after = rows[-1][0]

    def texts_of(self, turn_ids: Iterable[int]) -> dict[int, str]:
        """What turns read that are still shown."""
        rows = self._database.read(
            f"SELECT id, content, view FROM turns WHERE +familiar_id = ? AND {_SEEN}"
            " AND id IN (SELECT value FROM json_each(?))",
            (self._familiar_id, json.dumps(sorted(set(turn_ids)))),
        )
        return {int(turn_id): "\n".join(_words_in(content, view)) for turn_id, content, view in rows}

    def own_turns_after(self, turn_id: int) -> Iterator[HistoryTurn]:
        """What we said after a turn and that is still shown."""
        after = turn_id
        while True:
            rows = self._database.read(
                f"SELECT {TURN_COLUMNS} FROM turns WHERE familiar_id = ? AND id > ? AND role = 'assistant' AND {_SEEN}"
                " ORDER BY id LIMIT ?",
                (self._familiar_id, after, STEP),
            )
            yield from map(turn_from_row, rows)
            if len(rows) < STEP:
                return
            after = rows[-1][0]

    def own_earlier_words(self) -> Iterator[tuple[int, str]]:
        """What turns of ours read before they were changed or taken back."""
        rows = self._database.read(
            "SELECT turn_id, said_before, view_before FROM turn_revisions JOIN turns ON turns.id = turn_id"
            " WHERE familiar_id = ? AND role = 'assistant'",
            (self._familiar_id,),
        )
        return ((int(turn_id), text) for turn_id, said, view in rows for text in _words_in(said, view))

    def _standing(self, connection: sqlite3.Connection, turn_ids: Collection[int]) -> list[int]:
        rows = connection.execute(
            f"SELECT id FROM turns WHERE familiar_id = ? AND content != '{DELETED}'"
            " AND id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (self._familiar_id, json.dumps(sorted(set(turn_ids)))),
        )
        return [int(row[0]) for row in rows]

    def _done(self) -> int:
        rows = self._database.read(
            "SELECT last_change FROM memory_corrections WHERE familiar_id = ?", (self._familiar_id,)
        )
        return int(rows[0][0]) if rows else 0


def _words_in(content: object, view: object) -> list[str]:
    """What a turn read, and what scripts made of it for prompts."""
    return [str(content)] if view is None or view == content else [str(content), str(view)]


def _words_beside(facts: str | None) -> list[str]:
    """Words that came with a message besides its own: of its links, its files, what it passed on."""
    try:
        stored = json.loads(facts) if facts else {}
    except ValueError:
        return []
    beside = [stored.get(name) for name in _SAID_WITH] if isinstance(stored, Mapping) else []
    return list(_texts_in(beside))


def _texts_in(plain: Any) -> Iterator[str]:
    if isinstance(plain, list):
        for each in plain:
            yield from _texts_in(each)
    elif isinstance(plain, dict):
        for name, value in plain.items():
            if isinstance(value, str) and name in _WORDS_IN:
                yield value
            else:
                yield from _texts_in(value if isinstance(value, list | dict) else None)
