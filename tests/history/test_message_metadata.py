"""What a message held besides its words, stored and told again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from familiar_connect.chat.message_parts import (
    Attachment,
    Embed,
    EmbedField,
    ForwardedMessage,
    Reaction,
    ReferencedMessage,
    Sticker,
    WebhookIdentity,
)
from familiar_connect.chat.types import InboundMessage
from familiar_connect.chat.window import window_start
from familiar_connect.history.message_metadata import encode_metadata, with_metadata
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.stored_messages import StoredMessages, StoredWindow
from familiar_connect.identity import Author

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ADA = Author("discord", "1001", "ada", "Ada")
BO = Author("discord", "2002", "bo", "Bo")
PLAIN = InboundMessage(platform="discord", channel_id=1, author=ADA, text="hi", timestamp=NOON)
RICH = replace(
    PLAIN,
    edited_at=NOON,
    reply_to=ReferencedMessage(message_id="9", author=BO, text="tea?", attachments=(Attachment(url="u"),)),
    reactions=(Reaction(label="❤", count=2, users=(BO,)), Reaction(label="x", count=1, users=None)),
    forwards=(ForwardedMessage(author=BO, forwards=(ForwardedMessage(text="deep", timestamp=NOON),)),),
    embeds=(Embed(title="t", fields=(EmbedField(name="a", value="b"),)),),
    stickers=(Sticker(name="wave"),),
    mentions=(BO,),
    webhook=WebhookIdentity(webhook_id="7", name="Hook"),
)


def test_what_came_with_a_message_survives_the_store() -> None:
    """Replies, reactions, forwards, embeds, stickers: all of it."""
    assert with_metadata(PLAIN, encode_metadata(RICH)) == RICH


def test_most_messages_store_nothing_more() -> None:
    """Words alone need no facts."""
    assert encode_metadata(PLAIN) is None


@pytest.mark.parametrize("facts", ["", "{", "[]", "null", '{"reply_to": 5}', '{"unknown": 1}', "[" * 20_000])
def test_facts_that_cannot_be_read_count_as_none(facts: str) -> None:
    """The words are shown all the same."""
    assert with_metadata(PLAIN, facts) == PLAIN


def test_facts_far_too_large_are_not_kept() -> None:
    """A message is words first."""
    assert encode_metadata(replace(PLAIN, embeds=(Embed(description="x" * 200_000),))) is None


async def test_stored_messages_come_back_with_what_they_held() -> None:
    """For platforms that cannot look back."""
    store = HistoryStore(":memory:")
    store.append_turn(
        familiar_id="sage",
        channel_id=1,
        role="user",
        content="hi",
        author=ADA,
        timestamp=NOON,
        facts=encode_metadata(RICH),
    )
    told = (await StoredMessages(store, "sage", 1).recent(5))[0]

    assert (told.reply_to, told.reactions, told.forwards) == (RICH.reply_to, RICH.reactions, RICH.forwards)
    store.close()


def test_whoever_is_erased_goes_from_others_facts_too() -> None:
    """A quote of theirs, or their reaction, is not left behind in somebody else's turn."""
    store = HistoryStore(":memory:")
    store.append_turn(
        familiar_id="sage", channel_id=1, role="user", content="hi", author=ADA, facts=encode_metadata(RICH)
    )
    store.append_turn(familiar_id="sage", channel_id=1, role="user", content="tea?", author=BO)
    store.erase_author(familiar_id="sage", author=BO)

    assert [(turn.content, turn.facts) for turn in store.recent(familiar_id="sage", channel_id=1, limit=9)] == [
        ("hi", None)
    ]
    store.close()


async def test_the_window_starts_at_a_stored_turn() -> None:
    """By the absolute count of the channel and mode before the exchange."""
    store = HistoryStore(":memory:")
    for number in range(30):
        store.append_turn(
            familiar_id="sage", channel_id=1, role="user", content="x", author=ADA, platform_message_id=f"m{number}"
        )
    start = await StoredWindow(store).window(
        familiar_id="sage", channel_id=1, before_id=26, mode=None, first=lambda count: window_start(count, 10, 10)
    )
    none = await StoredWindow(store).window(
        familiar_id="sage", channel_id=2, before_id=None, mode="full_rp", first=lambda count: count
    )

    assert (start.stored, start.history_id, start.message_id) == (25, 11, "m10")
    assert (none.stored, none.history_id) == (0, None)
    store.close()
