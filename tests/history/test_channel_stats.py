"""Side tables: their answers equal a plain look through all turns, whatever happened to the turns."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from familiar_connect.history.channel_stats import FOLD_EVERY
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.support.clock import ManualClock

FAMILIARS = ("sage", "moth")
CHANNELS = (1, 2)
MODES = (None, "full_rp", "imitate_voice")


class Conversation(RuleBasedStateMachine):
    """Turns come, some twice, some go; the store is compared with a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.store = HistoryStore(":memory:", clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
        self.turns: dict[int, tuple[str, HistoryTurn]] = {}

    @rule(
        familiar_id=st.sampled_from(FAMILIARS),
        channel_id=st.sampled_from(CHANNELS),
        mode=st.sampled_from(MODES),
        user_id=st.sampled_from([None, "1", "2", "3"]),
        name=st.sampled_from([None, "Ada", "Ida"]),
        message_id=st.sampled_from([None, None, "m1", "m2"]),
    )
    def hear(
        self,
        familiar_id: str,
        channel_id: int,
        mode: str | None,
        user_id: str | None,
        name: str | None,
        message_id: str | None,
    ) -> None:
        said = self.store.append_turn(
            familiar_id=familiar_id,
            channel_id=channel_id,
            role="user",
            content="x",
            author=Author("discord", user_id, name, name) if user_id else None,
            mode=mode,
            platform_message_id=message_id,
        )
        known = [
            turn
            for whose, turn in self.turns.values()
            if whose == familiar_id and turn.channel_id == channel_id and turn.platform_message_id == message_id
        ]
        if message_id is not None and known:
            assert [said] == known
        else:
            assert said.id > max(self.turns, default=0)
            self.turns[said.id] = (familiar_id, said)

    @rule(pick=st.integers(0, 50))
    def lose(self, pick: int) -> None:
        """Someone deletes a turn by hand."""
        if self.turns:
            turn_id = sorted(self.turns)[pick % len(self.turns)]
            self.store.database.write("DELETE FROM turns WHERE id = ?", (turn_id,))
            del self.turns[turn_id]

    @rule()
    def fold(self) -> None:
        self.store.channel_stats.fold()

    @rule()
    def rebuild(self) -> None:
        self.store.channel_stats.rebuild()

    @invariant()
    def channels_agree(self) -> None:
        for familiar_id in FAMILIARS:
            theirs = [turn for whose, turn in self.turns.values() if whose == familiar_id]
            assert self.store.count(familiar_id=familiar_id) == len(theirs)
            assert self.store.latest_id(familiar_id=familiar_id) == max((turn.id for turn in theirs), default=None)
            for channel_id in CHANNELS:
                self._channel_agrees(familiar_id, channel_id, [t for t in theirs if t.channel_id == channel_id])

    def _channel_agrees(self, familiar_id: str, channel_id: int, turns: list[HistoryTurn]) -> None:
        store = self.store
        authors = list({t.author.user_id: t.author for t in reversed(turns) if t.author}.values())
        newest_names = {t.author.user_id: t.author for t in turns if t.author}
        people = store.recent_distinct_authors(familiar_id=familiar_id, channel_id=channel_id, limit=2)
        assert people == [newest_names[author.user_id] for author in authors][:2]
        assert store.count(familiar_id=familiar_id, channel_id=channel_id) == len(turns)
        assert store.latest_id(familiar_id=familiar_id, channel_id=channel_id) == (turns[-1].id if turns else None)
        assert store.recent(familiar_id=familiar_id, channel_id=channel_id, limit=3) == turns[-3:]
        counted = store.count_before(familiar_id=familiar_id, channel_id=channel_id, before_id=None, mode="full_rp")
        assert counted == sum(turn.mode == "full_rp" for turn in turns)
        others = store.distinct_other_channels(familiar_id=familiar_id, exclude_channel_id=sum(CHANNELS) - channel_id)
        assert [(i.mode, i.latest_id, i.latest_timestamp) for i in others] == [
            (turn.mode, turn.id, turn.timestamp) for turn in turns[-1:]
        ]

    def teardown(self) -> None:
        self.store.close()


TestConversation = pytest.mark.slow(Conversation.TestCase)
TestConversation.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)


@pytest.fixture
def store() -> Iterator[HistoryStore]:
    store = HistoryStore(":memory:")
    yield store
    store.close()


def folded_to(store: HistoryStore) -> int:
    return int(store.database.read("SELECT folded_to FROM side_tables")[0][0])


def hear(store: HistoryStore, times: int) -> None:
    for _ in range(times):
        store.append_turn(familiar_id="sage", channel_id=1, role="user", content="x", author=Author("t", "1", "a", "A"))


def test_turns_are_folded_in_as_they_come(store: HistoryStore) -> None:
    """No more than a handful is ever left to read one by one."""
    hear(store, FOLD_EVERY * 3 + 1)

    assert store.latest_id(familiar_id="sage") == FOLD_EVERY * 3 + 1
    assert folded_to(store) == FOLD_EVERY * 3


def test_turns_added_by_other_hands_are_counted(store: HistoryStore) -> None:
    """Straight into the table, many at once: the answer is right, and the next one is quick."""
    columns = "familiar_id, channel_id, role, content, timestamp"
    for _ in range(FOLD_EVERY + 1):
        store.database.write(f"INSERT INTO turns ({columns}) VALUES ('sage', 1, 'user', 'x', '2026-01-01T00:00:00Z')")

    assert store.count(familiar_id="sage", channel_id=1) == FOLD_EVERY + 1
    assert folded_to(store) == FOLD_EVERY + 1


def test_a_turn_changed_by_other_hands_is_seen(store: HistoryStore) -> None:
    """Moved to another channel, it is counted there."""
    hear(store, FOLD_EVERY)
    store.database.write("UPDATE turns SET channel_id = 2 WHERE id = 1")

    counts = [store.count(familiar_id="sage", channel_id=channel_id) for channel_id in (1, 2)]
    assert counts == [FOLD_EVERY - 1, 1]


def test_a_fold_that_fails_does_not_fail_the_append(store: HistoryStore, caplog: pytest.LogCaptureFixture) -> None:
    """The turn is stored; the caches can wait."""
    store.database.write(
        "CREATE TRIGGER no_room BEFORE INSERT ON channel_stats BEGIN SELECT * FROM nowhere_to_be_found; END"
    )

    with caplog.at_level(logging.WARNING):
        hear(store, FOLD_EVERY)
    assert store.count(familiar_id="sage") == FOLD_EVERY
    assert "side tables of the history could not be folded" in caplog.messages


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM side_tables",
        "UPDATE side_tables SET folded_to = 'x'",
        "UPDATE side_tables SET folded_to = NULL",
        "UPDATE side_tables SET folded_to = 1000000",
        "DROP TABLE side_tables",
        "DROP TABLE channel_stats",
        "ALTER TABLE channel_stats RENAME COLUMN turn_count TO turns",
    ],
)
def test_damaged_caches_are_made_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str, reopened: bool
) -> None:
    """Whatever was done to them: the answers are right, and one line tells of it."""
    store = HistoryStore(tmp_path / "history.db")
    hear(store, FOLD_EVERY + 1)
    store.database.write(damage)
    if reopened:
        store.close()
        store = HistoryStore(tmp_path / "history.db")
    for _ in range(2):
        assert store.count(familiar_id="sage") == FOLD_EVERY + 1
        assert [who.user_id for who in store.recent_distinct_authors(familiar_id="sage", channel_id=1, limit=5)] == [
            "1"
        ]
        assert [
            other.channel_id for other in store.distinct_other_channels(familiar_id="sage", exclude_channel_id=2)
        ] == [1]
    store.close()

    assert caplog.messages == ["side tables of the history were damaged and are made anew"]


def test_numbers_that_are_none_are_counted_anew_at_the_next_start(tmp_path: Path) -> None:
    """Nobody compares an id with a word."""
    store = HistoryStore(tmp_path / "history.db")
    hear(store, FOLD_EVERY)
    store.database.write("UPDATE channel_stats SET last_id = 'x'")
    store.close()
    store = HistoryStore(tmp_path / "history.db")
    others = store.distinct_other_channels(familiar_id="sage", exclude_channel_id=2)
    store.close()

    assert [other.latest_id for other in others] == [FOLD_EVERY]


def test_a_turn_is_stored_beside_damaged_caches(store: HistoryStore) -> None:
    """The fold that falls due with it makes them anew."""
    hear(store, FOLD_EVERY - 1)
    store.database.write("DELETE FROM side_tables")
    hear(store, 1)

    assert folded_to(store) == FOLD_EVERY
