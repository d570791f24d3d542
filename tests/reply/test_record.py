"""Writing down what we got out."""

from __future__ import annotations

from familiar_connect.chat.types import SaidMessage, Turn
from familiar_connect.config.types import ChannelMode
from familiar_connect.history.store import HistoryStore
from familiar_connect.reply.record import record
from tests.fakes.house import ANA, NOON

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
