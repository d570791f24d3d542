"""Writing down what we got out."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import SaidMessage, Turn
from familiar_connect.config.types import ChannelMode
from familiar_connect.errors import HistoryError
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.short_term import ShortTermNotes
from familiar_connect.reply.record import record
from tests.fakes.scripted_familiar import ANA, NOON
from tests.fakes.short_term import NotesSetup, an_entry, finished_turn

TURN = Turn(
    familiar_id="wren",
    channel_id=7,
    guild_id=9,
    said=(SaidMessage(author=ANA, text="hi", timestamp=NOON, history_id=1),),
)


async def test_what_went_out_is_one_assistant_turn() -> None:
    """With the channel, the guild and the mode it was said in."""
    history = HistoryStore(":memory:")

    stored = await record(history, TURN, "One.\n\nTwo.", mode=ChannelMode.full_rp)

    rows = history.recent(familiar_id="wren", channel_id=7, limit=9)
    assert rows == [stored]
    assert stored is not None
    assert (stored.role, stored.content, stored.author, stored.guild_id, stored.mode) == (
        "assistant",
        "One.\n\nTwo.",
        None,
        9,
        "full_rp",
    )
    history.close()


async def test_nothing_sent_leaves_no_row() -> None:
    """Silence is not recorded as something said."""
    history = HistoryStore(":memory:")

    assert await record(history, TURN, "  ") is None
    assert history.count(familiar_id="wren") == 0
    history.close()


async def test_how_the_conversation_stands_is_noted_for_a_day() -> None:
    """G1, G2: with the reply, under the channel's name."""
    kept = NotesSetup()
    scene = Scene(channel=ChannelContext("kitchen", ChannelKind.text))

    turn = finished_turn(an_entry("hello"))
    await record(kept.history, turn, "Hm.", note=partial(kept.notes.capture, turn, "Hm.", scene=scene))

    assert kept.lines() == ["Ada: hello", "Wren: Hm."]
    assert kept.here().channel_name == "kitchen"


async def test_a_reply_and_its_note_reach_the_disk_in_one_step(tmp_path: Path) -> None:
    """The disk is asked for one flush, not for two."""
    history = HistoryStore(tmp_path / "history.db")
    notes, turn = ShortTermNotes(history), finished_turn(an_entry("hello"))
    before = commits(tmp_path / "history.db-wal")

    await record(history, turn, "Hm.", note=partial(notes.capture, turn, "Hm."))

    assert commits(tmp_path / "history.db-wal") == before + 1
    assert history.database.read("SELECT COUNT(*) FROM short_term_notes") != [(0,)]
    history.close()


@pytest.mark.parametrize("error", [RuntimeError("a secret"), HistoryError("a secret")])
async def test_a_note_that_cannot_be_kept_breaks_nothing(caplog: pytest.LogCaptureFixture, error: Exception) -> None:
    """G6: the reply is stored, nothing of the note is, and the log says so without a word of what was said."""
    kept = NotesSetup()
    turn = finished_turn(an_entry("a secret"))

    def capture() -> None:
        kept.notes.capture(turn, "Hm.")
        raise error

    stored = await record(kept.history, turn, "Hm.", note=capture)

    assert kept.history.recent(familiar_id="wren", channel_id=turn.channel_id, limit=9) == [stored]
    assert kept.history.database.read("SELECT COUNT(*) FROM short_term_notes") == [(0,)]
    assert "short-term note could not be kept" in caplog.text
    assert "secret" not in caplog.text


async def test_a_reply_is_stored_where_the_step_it_shares_with_the_note_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Such as on a disk that has room for one of them."""
    kept = NotesSetup()
    turn = finished_turn(an_entry("hello"))

    def capture() -> None:
        kept.history.database.write("ROLLBACK")  # what SQLite does when the disk is full
        raise HistoryError("the disk is full")

    stored = await record(kept.history, turn, "Hm.", note=capture)

    assert kept.history.recent(familiar_id="wren", channel_id=turn.channel_id, limit=9) == [stored]
    assert "short-term note could not be kept" in caplog.text


def commits(log: Path) -> int:
    """Steps in a write-ahead log: its frames that end one say how large the database is then."""
    data = log.read_bytes() if log.exists() else b""
    frame = 24 + int.from_bytes(data[8:12], "big")
    return sum(1 for at in range(32, len(data), frame) if any(data[at + 4 : at + 8]))
