"""OutboxRows: replies on their way out, and questions that still wait for one.

`outbox` has a row for each piece of a reply, written before the piece is posted. `owed_replies` has a row for each
message said to the familiar, written together with its turn and removed when it was answered or let pass. What an
earlier run of the program left in either is told apart from what this run writes by its number alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from uuid import uuid4

from familiar_connect.audience import Audience, parse_audience
from familiar_connect.history.rows import in_utc, parse_timestamp, text_or_none
from familiar_connect.history.types import HistoryTurn
from familiar_connect.support.clock import Clock
from familiar_connect.support.sqlite import Database, Row, storable_all

NONCE_CHARS = 25
"""The longest nonce that a network of ours takes."""
KEPT_FOR = timedelta(days=1)
"""How long the id of a recorded message is known, so that it is not taken for another of the same words."""
OWED_FOR = timedelta(days=30)
"""How long it is known that somebody waits; who asked longer ago is not told any more."""
WORDS, VIEW = "words", "view"
"""Under which a row's facts hold what the model wrote, and what prompts have of it."""
_PIECE = "id, text, nonce, state, platform_message_id"
_REPLY = "reply_id, channel_id, guild_id, answers, mode, facts, audience, created_at"


class PieceState(Enum):
    """How far a piece has come. `doubtful`: given up, and nobody knows whether it arrived."""

    pending = "pending"
    posted = "posted"
    doubtful = "doubtful"
    recorded = "recorded"


@dataclass(frozen=True, kw_only=True)
class OutboxReply:
    """A reply that is to be posted, with all its turn in the history takes."""

    reply_id: str
    channel_id: int
    guild_id: int | None
    answers: tuple[int, ...]
    """The turns it answers."""
    created_at: datetime
    mode: str | None = None
    facts: str | None = None
    audience: Audience | None = None
    words: str | None = None
    """What the model wrote, where scripts made something else of it."""
    view: str | None = None
    """What later prompts have of it; None: what was posted."""


@dataclass(frozen=True, kw_only=True)
class OutboxPiece:
    """One message of a reply."""

    id: int
    text: str
    nonce: str
    state: PieceState = PieceState.pending
    message_id: str | None = None
    """The platform's id, once it is known."""


class OutboxRows:
    """The rows of every familiar in one history. Synchronous, like the store they belong to."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        rows = database.read("SELECT (SELECT MAX(id) FROM outbox), (SELECT MAX(id) FROM turns)")
        self._last_piece, self._last_turn = (int(each or 0) for each in rows[0])
        """What has a greater number was written by this run."""
        self._taken: set[int] = set()

    @property
    def last_piece(self) -> int:
        """The newest piece that an earlier run left."""
        return self._last_piece

    # Questions that wait for a reply

    def add_owed(self, turn: HistoryTurn, *, familiar_id: str, is_for_us: bool) -> None:
        """*turn* is to be answered; *is_for_us*: beyond doubt, and not only by name."""
        self._database.write(
            "INSERT OR IGNORE INTO owed_replies VALUES (?, ?, ?, ?, ?)",
            (turn.id, familiar_id, turn.channel_id, int(is_for_us), in_utc(self._clock.now()).isoformat()),
        )

    def settle(self, turn_ids: Collection[int]) -> None:
        """Nobody waits for a reply to these turns any more."""
        marks = ", ".join("?" * len(turn_ids))
        self._database.write(f"DELETE FROM owed_replies WHERE turn_id IN ({marks})", tuple(turn_ids))

    def settle_earlier(self, familiar_id: str, channel_id: int) -> None:
        """Nobody waits any more for what an earlier run heard in a channel."""
        self._database.write(
            "DELETE FROM owed_replies WHERE familiar_id = ? AND channel_id = ? AND turn_id <= ?",
            (familiar_id, channel_id, self._last_turn),
        )

    def open_turns(self, familiar_id: str, channel_id: int) -> list[int]:
        """The turns of an earlier run that still wait, oldest first; nobody takes them by asking."""
        rows = self._database.read(
            "SELECT turn_id FROM owed_replies WHERE familiar_id = ? AND channel_id = ? AND turn_id <= ?"
            " ORDER BY turn_id",
            (familiar_id, channel_id, self._last_turn),
        )
        return [int(row[0]) for row in rows]

    def take_owed(self, familiar_id: str, channel_id: int) -> list[tuple[int, bool]]:
        """The turns of an earlier run that still wait, oldest first, and whether each is for us beyond doubt.

        Each is handed out once in a run: whoever takes it answers it.
        """
        rows = self._database.read(
            "SELECT turn_id, is_for_us FROM owed_replies"
            " WHERE familiar_id = ? AND channel_id = ? AND turn_id <= ? ORDER BY turn_id",
            (familiar_id, channel_id, self._last_turn),
        )
        found = [(int(turn_id), bool(is_for_us)) for turn_id, is_for_us in rows if turn_id not in self._taken]
        self._taken.update(turn_id for turn_id, _ in found)
        return found

    # Replies on their way

    def plan(self, familiar_id: str, reply: OutboxReply, pieces: Sequence[str], *, first: int = 0) -> list[OutboxPiece]:
        """Write down that *pieces* are to be posted, the first of them as number *first* of the reply."""
        planned = []
        with self._database.transaction():
            self._forget_old()
            for number, text in enumerate(pieces, first):
                nonce = uuid4().hex[:NONCE_CHARS]
                values = (familiar_id, number, text, nonce, PieceState.pending.value, *_reply_values(reply))
                done = self._database.write(
                    f"INSERT INTO outbox (familiar_id, piece, text, nonce, state, {_REPLY})"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    storable_all(values),
                )
                planned.append(OutboxPiece(id=int(done.lastrowid or 0), text=text, nonce=nonce))
        return planned

    def mark_posted(self, piece_id: int, message_id: str) -> None:
        self._database.write(
            "UPDATE outbox SET state = ?, platform_message_id = ? WHERE id = ?",
            (PieceState.posted.value, message_id, piece_id),
        )

    def mark_doubtful(self, piece_id: int) -> None:
        """It is about to be posted where nobody can look afterwards whether it arrived."""
        self._database.write("UPDATE outbox SET state = ? WHERE id = ?", (PieceState.doubtful.value, piece_id))

    def finish(
        self,
        reply: OutboxReply,
        append: Callable[[], HistoryTurn] | None,
        *,
        doubtful: Collection[int] = (),
        is_settled: bool = False,
    ) -> HistoryTurn | None:
        """End *reply* in one step: its turn is stored by *append*, its questions are answered, its rows are done.

        None for *append*: nothing of it arrived, and its questions still wait, unless *is_settled*. What is *doubtful*
        is looked up at the next start.
        """
        with self._database.transaction():
            turn = append() if append is not None else None
            marks = ", ".join("?" * len(doubtful))
            self._database.write(
                f"UPDATE outbox SET state = ? WHERE id IN ({marks})", (PieceState.doubtful.value, *doubtful)
            )
            self._database.write(
                f"DELETE FROM outbox WHERE reply_id = ? AND state IN (?, ?) AND id NOT IN ({marks})",
                (reply.reply_id, PieceState.pending.value, PieceState.doubtful.value, *doubtful),
            )
            self._database.write(
                "UPDATE outbox SET state = ?, text = '', facts = NULL WHERE reply_id = ? AND state = ?",
                (PieceState.recorded.value, reply.reply_id, PieceState.posted.value),
            )
            if turn is not None or is_settled:
                self.settle(reply.answers)
        return turn

    def leftovers(self, familiar_id: str, channel_id: int) -> list[tuple[OutboxReply, list[OutboxPiece]]]:
        """The replies of an earlier run that were not recorded, oldest first, each with its pieces in order."""
        rows = self._database.read(
            f"SELECT {_PIECE}, {_REPLY} FROM outbox"
            " WHERE familiar_id = ? AND channel_id = ? AND id <= ? AND state != ? ORDER BY id",
            (familiar_id, channel_id, self._last_piece, PieceState.recorded.value),
        )
        found: dict[str, tuple[OutboxReply, list[OutboxPiece]]] = {}
        for row in rows:
            reply = _reply_from_row(row[5:])
            found.setdefault(reply.reply_id, (reply, []))[1].append(_piece_from_row(row[:5]))
        return list(found.values())

    def platform_message_ids(self, familiar_id: str, channel_id: int) -> set[str]:
        """Messages that belong to a known piece already."""
        rows = self._database.read(
            "SELECT platform_message_id FROM outbox"
            " WHERE familiar_id = ? AND channel_id = ? AND platform_message_id IS NOT NULL",
            (familiar_id, channel_id),
        )
        return {str(row[0]) for row in rows}

    def channels_with_leftovers(self, familiar_id: str) -> set[int]:
        """Channels in which an earlier run left something unfinished."""
        rows = self._database.read(
            "SELECT channel_id, NULL FROM outbox WHERE familiar_id = ? AND id <= ? AND state != ?"
            " UNION SELECT channel_id, turn_id FROM owed_replies WHERE familiar_id = ? AND turn_id <= ?",
            (familiar_id, self._last_piece, PieceState.recorded.value, familiar_id, self._last_turn),
        )
        return {int(channel_id) for channel_id, turn_id in rows if turn_id not in self._taken}

    def _forget_old(self) -> None:
        before = in_utc(self._clock.now() - KEPT_FOR).isoformat()
        self._database.write(
            "DELETE FROM outbox WHERE state = ? AND created_at < ?", (PieceState.recorded.value, before)
        )
        forgotten = in_utc(self._clock.now() - OWED_FOR).isoformat()
        self._database.write("DELETE FROM owed_replies WHERE heard_at < ?", (forgotten,))


def _reply_values(reply: OutboxReply) -> tuple[object, ...]:
    return (
        reply.reply_id,
        reply.channel_id,
        reply.guild_id,
        json.dumps(reply.answers),
        reply.mode,
        _with_words(reply),
        str(reply.audience) if reply.audience is not None else None,
        in_utc(reply.created_at).isoformat(),
    )


def _reply_from_row(row: Row) -> OutboxReply:
    reply_id, channel_id, guild_id, answers, mode, stored, audience, created_at = row
    facts, words, view = _without_words(text_or_none(stored))
    return OutboxReply(
        reply_id=str(reply_id),
        channel_id=channel_id,
        guild_id=guild_id,
        answers=tuple(int(each) for each in json.loads(answers)),
        created_at=parse_timestamp(created_at),
        mode=text_or_none(mode),
        facts=facts,
        audience=parse_audience(audience) if audience is not None else None,
        words=words,
        view=view,
    )


def _with_words(reply: OutboxReply) -> str | None:
    """The facts of a row: those of the reply, and the model's words where others are posted."""
    if reply.words is None:
        return reply.facts
    facts = json.loads(reply.facts) if reply.facts else {}
    return json.dumps({**facts, WORDS: reply.words, VIEW: reply.view}, ensure_ascii=False)


def _without_words(stored: str | None) -> tuple[str | None, str | None, str | None]:
    """What `_with_words` was made of: the facts of the reply, the model's words and their view."""
    facts = json.loads(stored) if stored else None
    if not isinstance(facts, dict) or WORDS not in facts:
        return stored, None, None
    words, view = text_or_none(facts.pop(WORDS)), text_or_none(facts.pop(VIEW, None))
    return json.dumps(facts, ensure_ascii=False) if facts else None, words, view


def _piece_from_row(row: Row) -> OutboxPiece:
    piece_id, text, nonce, state, message_id = row
    return OutboxPiece(
        id=piece_id, text=text, nonce=nonce, state=PieceState(state), message_id=text_or_none(message_id)
    )
