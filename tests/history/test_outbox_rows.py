"""Replies on their way and questions that wait, as the history has them: whose they are, in which order, how long."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from familiar_connect.audience import hidden_channel
from familiar_connect.history.outbox import NONCE_CHARS, OutboxPiece, OutboxReply, PieceState
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author

WREN, ROOK, HERE, THERE = "wren", "rook", 7, 8
ADA = Author("discord", "11", "ada", "Ada")
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


class SetClock:
    """A clock that stands where it was set."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return 0.0


class Run:
    """The history of one run of the program after the other, on the same disk."""

    def __init__(self, path: Path) -> None:
        self._path, self.clock = path, SetClock()
        self.history = HistoryStore(path, clock=self.clock)

    def start_again(self) -> None:
        self.history.close()
        self.history = HistoryStore(self._path, clock=self.clock)

    def hear(self, *, familiar_id: str = WREN, channel_id: int = HERE, is_for_us: bool = True) -> HistoryTurn:
        turn = self.history.append_turn(
            familiar_id=familiar_id, channel_id=channel_id, role="user", content="Well?", author=ADA
        )
        self.history.outbox.add_owed(turn, familiar_id=familiar_id, is_for_us=is_for_us)
        return turn

    def plan(self, reply: OutboxReply, *pieces: str, familiar_id: str = WREN, first: int = 0) -> list[OutboxPiece]:
        return self.history.outbox.plan(familiar_id, reply, pieces, first=first)

    def left(self, familiar_id: str = WREN, channel_id: int = HERE) -> list[tuple[str, list[str]]]:
        found = self.history.outbox.leftovers(familiar_id, channel_id)
        return [(reply.reply_id, [piece.text for piece in pieces]) for reply, pieces in found]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path / "history.db")
    yield run
    run.history.close()


def a_reply(reply_id: str = "r", channel_id: int = HERE, *, answers: tuple[int, ...] = ()) -> OutboxReply:
    return OutboxReply(reply_id=reply_id, channel_id=channel_id, guild_id=1, answers=answers, created_at=NOW)


def test_a_reply_is_read_back_as_it_was_planned(run: Run) -> None:
    """With everything its turn in the history takes, its time in any zone."""
    whole = OutboxReply(
        reply_id="whole",
        channel_id=HERE,
        guild_id=None,
        answers=(3, 5),
        created_at=NOW.astimezone(timezone(timedelta(hours=9))),
        mode="full_rp",
        facts='{"a":1}',
        audience=hidden_channel("discord", HERE, 1),
    )
    planned = run.plan(whole, "One.", "Two.") + run.plan(a_reply("bare"), "Three.")
    run.start_again()

    assert run.history.outbox.leftovers(WREN, HERE) == [(whole, planned[:2]), (a_reply("bare"), planned[2:])]
    assert run.history.outbox.leftovers(WREN, HERE)[0][0].created_at.tzinfo == UTC
    assert len({piece.nonce for piece in planned}) == 3
    assert {len(piece.nonce) for piece in planned} == {NONCE_CHARS}
    assert {piece.state for piece in planned} == {PieceState.pending}


def test_pieces_are_numbered_through_the_reply(run: Run) -> None:
    """Also those that are planned later."""
    run.plan(a_reply(), "One.", "Two.")
    run.plan(a_reply(), "Three.", first=2)

    assert run.history.database.read("SELECT piece, text FROM outbox ORDER BY id") == [
        (0, "One."),
        (1, "Two."),
        (2, "Three."),
    ]


def test_what_is_left_is_that_familiars_and_that_channels(run: Run) -> None:
    """Oldest first; another familiar and another channel have their own."""
    run.plan(a_reply("first"), "One.")
    run.plan(a_reply("there", THERE), "There.")
    run.plan(a_reply("rooks"), "Caw.", familiar_id=ROOK)
    run.plan(a_reply("second"), "Two.")
    run.start_again()

    assert run.left() == [("first", ["One."]), ("second", ["Two."])]
    assert run.left(channel_id=THERE) == [("there", ["There."])]
    assert run.left(familiar_id=ROOK) == [("rooks", ["Caw."])]
    assert run.history.outbox.channels_with_leftovers(WREN) == {HERE, THERE}
    assert run.history.outbox.channels_with_leftovers(ROOK) == {HERE}


def test_ending_a_reply_leaves_every_other_as_it_was(run: Run) -> None:
    """What was posted of it is known by its id for a day, its words are gone, what was not posted is forgotten."""
    one, two = run.plan(a_reply("ended"), "One.", "Two.")
    other_one, _ = run.plan(a_reply("other"), "Three.", "Four.")
    run.history.outbox.mark_posted(one.id, "901")
    run.history.outbox.mark_posted(other_one.id, "902")
    run.history.outbox.finish(a_reply("ended"), None)
    rows = run.history.database.read("SELECT reply_id, text, state, platform_message_id FROM outbox ORDER BY id")
    run.start_again()

    assert rows == [
        ("ended", "", "recorded", "901"),
        ("other", "Three.", "posted", "902"),
        ("other", "Four.", "pending", None),
    ]
    assert two.id not in {piece.id for _, pieces in run.history.outbox.leftovers(WREN, HERE) for piece in pieces}
    assert run.left() == [("other", ["Three.", "Four."])]


def test_a_reply_that_stands_settles_its_questions_and_no_others(run: Run) -> None:
    """One of which nothing arrived settles none."""
    asked, other = run.hear(), run.hear()
    reply = a_reply(answers=(asked.id,))
    run.plan(reply, "One.")
    assert run.history.outbox.finish(reply, None) is None
    nothing_settled = run.history.database.read("SELECT turn_id FROM owed_replies ORDER BY turn_id")
    said = run.history.outbox.finish(
        reply,
        lambda: run.history.append_turn(familiar_id=WREN, channel_id=HERE, role="assistant", content="One."),
    )
    run.start_again()

    assert nothing_settled == [(asked.id,), (other.id,)]
    assert said is not None
    assert said.content == "One."
    assert run.history.outbox.take_owed(WREN, HERE) == [(other.id, True)]


def test_what_is_doubtful_waits_for_the_next_start_and_is_dropped_alone(run: Run) -> None:
    """Of that reply; a posted piece beside it stays known."""
    one, two = run.plan(a_reply("doubt"), "One.", "Two.")
    (three,) = run.plan(a_reply("other doubt"), "Three.")
    run.history.outbox.mark_posted(one.id, "901")
    run.history.outbox.finish(a_reply("doubt"), None, doubtful=[two.id])
    run.history.outbox.finish(a_reply("other doubt"), None, doubtful=[three.id])
    run.start_again()
    left = [(p.text, p.state) for _, pieces in run.history.outbox.leftovers(WREN, HERE) for p in pieces]
    run.history.outbox.finish(a_reply("doubt"), None)

    assert left == [("Two.", PieceState.doubtful), ("Three.", PieceState.doubtful)]
    assert run.left() == [("other doubt", ["Three."])]
    assert run.history.outbox.platform_message_ids(WREN, HERE) == {"901"}


def test_ids_are_known_for_the_channel_they_stand_in(run: Run) -> None:
    """Of pieces that have one."""
    for number, (familiar_id, channel_id) in enumerate([(WREN, HERE), (WREN, THERE), (ROOK, HERE)]):
        posted, _ = run.plan(a_reply(str(number), channel_id), "One.", "Two.", familiar_id=familiar_id)
        run.history.outbox.mark_posted(posted.id, f"90{number}")

    assert run.history.outbox.platform_message_ids(WREN, HERE) == {"900"}


def test_questions_are_handed_out_once_oldest_first_to_whom_they_were_asked(run: Run) -> None:
    """Only those of an earlier run; a channel that has nothing else is then done with."""
    first, second = run.hear(), run.hear(is_for_us=False)
    there, rooks = run.hear(channel_id=THERE), run.hear(familiar_id=ROOK)
    run.start_again()
    run.hear()
    outbox = run.history.outbox

    assert outbox.channels_with_leftovers(WREN) == {HERE, THERE}
    assert outbox.take_owed(WREN, HERE) == [(first.id, True), (second.id, False)]
    assert outbox.take_owed(WREN, HERE) == []
    assert outbox.channels_with_leftovers(WREN) == {THERE}
    assert (outbox.take_owed(WREN, THERE), outbox.take_owed(ROOK, HERE)) == ([(there.id, True)], [(rooks.id, True)])


def test_a_question_heard_twice_waits_once_and_is_settled_with_others(run: Run) -> None:
    """Whoever settles none settles none."""
    turns = [run.hear() for _ in range(3)]
    run.history.outbox.add_owed(turns[0], familiar_id=WREN, is_for_us=False)
    run.history.outbox.settle([])
    run.history.outbox.settle([turns[1].id, turns[2].id])
    run.start_again()

    assert run.history.outbox.take_owed(WREN, HERE) == [(turns[0].id, True)]


def test_only_what_an_earlier_run_heard_in_that_chat_is_let_go(run: Run) -> None:
    """Somebody goes on talking there; what they ask now is still owed."""
    run.hear()
    there, rooks = run.hear(channel_id=THERE), run.hear(familiar_id=ROOK)
    run.start_again()
    now = run.hear()
    run.history.outbox.settle_earlier(WREN, HERE)
    run.start_again()
    outbox = run.history.outbox

    assert outbox.take_owed(WREN, HERE) == [(now.id, True)]
    assert (outbox.take_owed(WREN, THERE), outbox.take_owed(ROOK, HERE)) == ([(there.id, True)], [(rooks.id, True)])


def test_what_an_earlier_run_left_can_be_looked_at_without_being_taken(run: Run) -> None:
    """The questions of one familiar in one channel, oldest first, and the number of the newest piece."""
    run.hear(channel_id=THERE)
    open_here = [run.hear().id for _ in range(2)]
    run.hear(familiar_id=ROOK)
    pieces = run.plan(a_reply(), "One.", "Two.")
    assert (run.history.outbox.open_turns(WREN, HERE), run.history.outbox.last_piece) == ([], 0)
    run.start_again()
    run.hear()
    run.plan(a_reply("later"), "Three.")

    for _ in range(2):
        assert run.history.outbox.open_turns(WREN, HERE) == open_here
    assert run.history.outbox.last_piece == pieces[-1].id
    assert [turn_id for turn_id, _ in run.history.outbox.take_owed(WREN, HERE)] == open_here


def test_a_question_that_was_the_last_thing_heard_still_waits(run: Run) -> None:
    """Nothing came after it before the program ended."""
    asked = run.hear()
    run.start_again()

    assert run.history.outbox.open_turns(WREN, HERE) == [asked.id]


def test_recorded_ids_are_forgotten_after_a_day_and_questions_after_a_month(run: Run) -> None:
    """Not before, and never what is still to be posted."""
    recorded, waiting = a_reply("recorded"), a_reply("waiting")
    (piece,) = run.plan(recorded, "One.")
    run.history.outbox.mark_posted(piece.id, "901")
    run.history.outbox.finish(recorded, None)
    run.plan(waiting, "Two.")
    run.hear()
    seen = []
    for after in (timedelta(days=1), timedelta(days=1, seconds=1), timedelta(days=30, seconds=1)):
        run.clock.time = NOW + after
        run.plan(a_reply("new"), "Three.")
        seen.append(
            (
                run.history.database.read("SELECT reply_id FROM outbox WHERE reply_id != 'new' ORDER BY id"),
                run.history.database.read("SELECT COUNT(*) FROM owed_replies"),
            )
        )

    assert seen == [([("recorded",), ("waiting",)], [(1,)]), ([("waiting",)], [(1,)]), ([("waiting",)], [(0,)])]
