"""Where a channel's dialogue begins: resets and compacts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.history.dialogue_starts import StartKind
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author

ADA = Author("discord", "1", "ada", "Ada")
BEN = Author("discord", "2", "ben", "Ben")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    store = HistoryStore(tmp_path / "history.db")
    yield store
    store.close()


def say(store: HistoryStore, text: str, *, author: Author = ADA, channel_id: int = 1) -> int:
    return store.append_turn(
        familiar_id="sage", channel_id=channel_id, role="user", content=text, author=author, guild_id=9
    ).id


def mark(store: HistoryStore, kind: StartKind, after_id: int, summary: str = "") -> None:
    store.start_dialogue(familiar_id="sage", channel_id=1, kind=kind, after_id=after_id, summary=summary)


async def shown(store: HistoryStore) -> list[str]:
    return [each.text for each in await StoredMessages(store, "sage", 1, platform="discord").recent(20)]


async def test_the_newest_mark_counts_and_taking_it_back_brings_the_one_before(store: HistoryStore) -> None:
    """E3: after a reset nothing from before is given; a compact gives its summary in place of it."""
    first, second = say(store, "one"), say(store, "two")
    mark(store, StartKind.reset, first)
    assert await shown(store) == ["The conversation begins anew.", "two"]
    mark(store, StartKind.compact, second, "They counted.")
    say(store, "three")

    assert await shown(store) == ["Summary of what was said before: They counted.", "three"]
    assert not store.take_back_start(familiar_id="sage", channel_id=1, kind=StartKind.reset)
    assert store.take_back_start(familiar_id="sage", channel_id=1, kind=StartKind.compact)
    assert await shown(store) == ["The conversation begins anew.", "two", "three"]
    assert store.take_back_start(familiar_id="sage", channel_id=1, kind=StartKind.reset)
    assert await shown(store) == ["one", "two", "three"]


async def test_a_reset_drops_the_summaries_of_its_own_talk_alone(store: HistoryStore) -> None:
    """A summary may tell what is hidden now; another server's tells nothing of it."""
    last = say(store, "one")
    here = store.channel_audience(familiar_id="sage", channel_id=1)
    assert here is not None
    store.append_turn(familiar_id="sage", channel_id=2, role="user", content="x", author=BEN, guild_id=10)
    there = store.channel_audience(familiar_id="sage", channel_id=2)
    assert there is not None
    for audience in (here, there):
        row = store.summaries.row_of(audience)
        store.put_summary(familiar_id="sage", last_summarised_id=last, summary_text="told", channel_id=row)

    mark(store, StartKind.reset, last)

    assert store.get_summary(familiar_id="sage", channel_id=store.summaries.row_of(here)) is None
    assert store.get_summary(familiar_id="sage", channel_id=store.summaries.row_of(there)) is not None


@pytest.mark.parametrize("what", ["edited", "erased", "private", "hidden"])
async def test_a_summary_that_may_hold_words_not_to_be_told_is_gone(store: HistoryStore, what: str) -> None:
    """The lines that are left are shown in its place; a reset stays."""
    first, last = say(store, "one"), say(store, "two", author=BEN)
    mark(store, StartKind.compact, last, "Ada said one, Ben said two.")
    if what == "edited":
        MessageEdits(store, "sage").record_edit_of_turn(first, "uno")
    elif what == "erased":
        store.erase_author(familiar_id="sage", author=ADA)
    elif what == "private":
        store.summaries.leave_out(familiar_id="sage", people=[ADA.canonical_key])
    else:
        audience = store.channel_audience(familiar_id="sage", channel_id=1)
        assert audience is not None
        store.change_audience(familiar_id="sage", channel_id=1, audience=audience)

    assert not any("Summary" in text for text in await shown(store))


async def test_a_line_after_the_mark_may_change_without_costing_it(store: HistoryStore) -> None:
    """Only what the summary was made of counts."""
    mark(store, StartKind.compact, say(store, "one"), "They counted.")
    MessageEdits(store, "sage").record_edit_of_turn(say(store, "two"), "deux")

    assert await shown(store) == ["Summary of what was said before: They counted.", "deux"]
