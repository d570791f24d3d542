"""StoredRecent: stored turns told as messages."""

from __future__ import annotations

from datetime import UTC, datetime

from familiar_connect.chat.types import InboundMessage
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author
from familiar_connect.support.clock import ManualClock

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ADA = Author("terminal", "1", "ada", "Ada")
SAGE = Author("terminal", "sage", None, "Sage")


async def test_recent_messages_come_from_the_store() -> None:
    """People as themselves, our own words as ours, oldest first, only this channel, only before the exchange."""
    store = HistoryStore(":memory:", clock=ManualClock(NOON))
    store.append_turn(
        familiar_id="sage",
        channel_id=1,
        role="user",
        content="hi",
        author=ADA,
        guild_id=5,
        platform_message_id="m1",
    )
    store.append_turn(familiar_id="sage", channel_id=2, role="user", content="elsewhere", author=ADA)
    store.append_turn(familiar_id="sage", channel_id=1, role="assistant", content="hello")
    now = store.append_turn(familiar_id="sage", channel_id=1, role="user", content="and now?", author=ADA)
    recent = StoredMessages(store, "sage", 1, platform="terminal", me=SAGE, before_id=now.id)

    assert list(await recent.recent(5)) == [
        InboundMessage(
            platform="terminal",
            channel_id=1,
            author=ADA,
            text="hi",
            timestamp=NOON,
            message_id="m1",
            guild_id=5,
            history_id=1,
            mode="",
        ),
        InboundMessage(
            platform="terminal",
            channel_id=1,
            author=SAGE,
            text="hello",
            timestamp=NOON,
            is_bot=True,
            is_self=True,
            history_id=3,
            mode="",
        ),
    ]
    assert list(await recent.recent(0)) == []
    store.close()


async def test_a_turn_by_nobody_in_particular_is_told_too() -> None:
    """Someone unknown on this platform said it; our own words need no name of ours."""
    store = HistoryStore(":memory:")
    store.append_turn(familiar_id="sage", channel_id=1, role="user", content="hi")
    store.append_turn(familiar_id="sage", channel_id=1, role="assistant", content="hello")

    told = await StoredMessages(store, "sage", 1, platform="terminal").recent(5)
    assert [message.author.canonical_key for message in told] == ["terminal:unknown", "terminal:sage"]
    store.close()


async def test_a_turn_that_was_changed_is_told_as_it_reads_now() -> None:
    """One that was not is the very message of before."""
    store = HistoryStore(":memory:", clock=ManualClock(NOON))
    first = store.append_turn(familiar_id="sage", channel_id=1, role="user", content="soup", author=ADA)
    store.append_turn(familiar_id="sage", channel_id=1, role="user", content="bread", author=ADA)
    recent = StoredMessages(store, "sage", 1)
    before = await recent.recent(5)
    MessageEdits(store, "sage").record_edit_of_turn(first.id, "stew")
    after = await recent.recent(5)

    assert [message.text for message in before] == ["soup", "bread"]
    assert [message.text for message in after] == ["stew", "bread"]
    assert after[1] is before[1]
