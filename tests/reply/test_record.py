"""Writing down what we got out."""

from __future__ import annotations

import pytest

from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import SaidMessage, Turn
from familiar_connect.config.types import ChannelMode
from familiar_connect.history.store import HistoryStore
from familiar_connect.reply.record import capture_short_term, record
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

    await capture_short_term(kept.notes, finished_turn(an_entry("hello")), "Hm.", scene=scene)

    assert kept.lines() == ["Ada: hello", "Wren: Hm."]
    assert kept.here().channel_name == "kitchen"


async def test_a_note_that_cannot_be_kept_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """G6: the turn goes on; the log says so without a word of what was said."""
    kept = NotesSetup()
    notes = kept.notes
    kept.history.close()

    await capture_short_term(notes, finished_turn(an_entry("a secret")), "Hm.")

    assert "short-term note could not be kept" in caplog.text
    assert "secret" not in caplog.text
