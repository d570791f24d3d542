"""Messages that were changed or taken back after they were stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import DELETED
from familiar_connect.history.withdrawal.withdrawals import Withdrawals
from familiar_connect.identity import Author
from familiar_connect.support.clock import ManualClock
from tests.fakes.writer_setup import ALICE, BOB, EVENING, FAMILIAR


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    with_clock = HistoryStore(tmp_path / "history.db", clock=ManualClock(EVENING))
    yield with_clock
    with_clock.close()


def say(store: HistoryStore, text: str, message_id: str, *, channel_id: int = 7) -> int:
    return store.append_turn(
        familiar_id=FAMILIAR,
        channel_id=channel_id,
        role="user",
        content=text,
        author=ALICE,
        platform_message_id=message_id,
    ).id


def test_a_turn_reads_what_its_message_reads_now(store: HistoryStore) -> None:
    """And remembers everything it read before, in order."""
    revisions = MessageEdits(store, FAMILIAR, clock=ManualClock(EVENING))
    turn_id = say(store, "one", "m1")
    for text in ("two", "three"):
        revisions.record_edit(channel_id=7, message_id="m1", text=text)

    assert [turn.content for turn in store.recent(familiar_id=FAMILIAR, channel_id=7, limit=5)] == ["three"]
    assert [(each.said_before, each.changed_at) for each in revisions.edits_of_turn(turn_id)] == [
        ("one", EVENING),
        ("two", EVENING),
    ]


def test_what_is_unknown_or_unchanged_stays_as_it_is(store: HistoryStore) -> None:
    """Another channel's message of the same id, too."""
    revisions = MessageEdits(store, FAMILIAR)
    turn_id = say(store, "one", "m1")

    assert revisions.record_edit(channel_id=7, message_id="m1", text="one") is None
    assert revisions.record_edit(channel_id=7, message_id="m9", text="x") is None
    assert revisions.record_edit(channel_id=8, message_id="m1", text="x") is None
    assert revisions.edits_of_turn(turn_id) == []


def test_a_deleted_message_cannot_be_edited_back(store: HistoryStore) -> None:
    """Events may arrive in any order; gone is gone, and counts stay right."""
    revisions = MessageEdits(store, FAMILIAR)
    turn_id = say(store, "a secret", "m1")

    assert revisions.record_deletions(channel_id=7, message_ids=["m1", "m2"]) == [turn_id]
    assert revisions.record_edit(channel_id=7, message_id="m1", text="a secret again") is None
    assert [turn.content for turn in store.recent(familiar_id=FAMILIAR, channel_id=7, limit=5)] == [DELETED]
    assert store.count(familiar_id=FAMILIAR, channel_id=7) == 1


def test_a_purge_takes_what_one_person_said_since_then(store: HistoryStore) -> None:
    """Or everybody, with our own words; not what another channel or an earlier day heard."""
    revisions = MessageEdits(store, FAMILIAR, clock=ManualClock(EVENING))

    def add(text: str, author: Author | None, *, hours_ago: int = 0, channel_id: int = 7) -> int:
        return store.append_turn(
            familiar_id=FAMILIAR,
            channel_id=channel_id,
            role="user" if author else "assistant",
            content=text,
            author=author,
            timestamp=EVENING - timedelta(hours=hours_ago),
        ).id

    add("old", ALICE, hours_ago=30)
    add("elsewhere", ALICE, channel_id=8)
    spam = [add("one", ALICE, hours_ago=2), add("two", ALICE)]
    rest = [add("three", BOB), add("ours", None)]
    since = EVENING - timedelta(days=1)

    assert revisions.record_purge(channel_id=7, since=since, of=ALICE, ours=False) == spam
    assert revisions.record_purge(channel_id=7, since=since, ours=True) == rest
    assert revisions.record_purge(channel_id=7, since=since, ours=True) == []
    shown = store.recent(familiar_id=FAMILIAR, channel_id=7, limit=9)
    assert [turn.content for turn in shown] == ["old", *[DELETED] * 4]
    pending = Withdrawals(store, FAMILIAR).pending()
    assert pending is not None
    assert [each.id for each in pending.turns] == [*spam, *rest]


def test_forgetting_a_person_takes_earlier_words_along(store: HistoryStore) -> None:
    """No row of theirs is left anywhere."""
    revisions = MessageEdits(store, FAMILIAR)
    turn_id = say(store, "one", "m1")
    revisions.record_edit(channel_id=7, message_id="m1", text="two")
    store.erase_author(familiar_id=FAMILIAR, author=ALICE)
    store.erase_author(familiar_id=FAMILIAR, author=BOB)

    assert revisions.edits_of_turn(turn_id) == []


def test_the_newest_message_is_known_per_channel(store: HistoryStore) -> None:
    """What we say ourselves has no id and does not count."""
    revisions = MessageEdits(store, FAMILIAR)
    say(store, "one", "11")
    say(store, "two", "12")
    say(store, "elsewhere", "13", channel_id=8)
    store.append_turn(familiar_id=FAMILIAR, channel_id=7, role="assistant", content="hi")

    assert revisions.newest_message_id(7) == "12"
    assert revisions.newest_message_id(9) is None


def test_a_direct_message_is_known_whoever_spoke_last_in_it(store: HistoryStore) -> None:
    """A reply that was cut and finished later stands there as several turns of ours; the latest talk comes first."""
    revisions = MessageEdits(store, FAMILIAR)
    say(store, "one", "11", channel_id=7)
    say(store, "two", "12", channel_id=8)
    for _ in range(3):
        store.append_turn(familiar_id=FAMILIAR, channel_id=7, role="assistant", content="hi")
    store.append_turn(familiar_id=FAMILIAR, channel_id=9, role="user", content="there", author=ALICE, guild_id=5)

    assert revisions.direct_channels(ALICE.platform, limit=10) == [8, 7]
    assert revisions.direct_channels(ALICE.platform, limit=1) == [8]
    assert revisions.direct_channels("twitch", limit=10) == []
