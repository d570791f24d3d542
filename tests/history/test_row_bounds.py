"""The rows at their edges: what is read at once, what an empty word means, and whose rows a change takes along."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.audience import OWNER, hidden_channel
from familiar_connect.history.dialogue_starts import StartKind
from familiar_connect.history.rows import mode_value, text_or_none
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author

ADA = Author("discord", "1", "ada", "Ada")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    store = HistoryStore(tmp_path / "history.db")
    yield store
    store.close()


def say(store: HistoryStore, text: str, *, channel_id: int = 1, familiar_id: str = "sage") -> int:
    return store.append_turn(
        familiar_id=familiar_id, channel_id=channel_id, role="user", content=text, author=ADA, guild_id=9
    ).id


def test_a_channel_that_is_hidden_takes_its_own_summaries_along_and_no_others(store: HistoryStore) -> None:
    """Resets tell nothing and stay; other channels and other familiars keep what they have."""
    for familiar_id, channel_id in (("sage", 1), ("sage", 2), ("moss", 1)):
        last = say(store, "words", channel_id=channel_id, familiar_id=familiar_id)
        for kind in (StartKind.reset, StartKind.compact):
            store.start_dialogue(
                familiar_id=familiar_id, channel_id=channel_id, kind=kind, after_id=last, summary="They spoke."
            )
    store.change_audience(familiar_id="sage", channel_id=1, audience=hidden_channel("discord", 1, 9))

    assert store.database.read("SELECT familiar_id, channel_id, kind FROM channel_marks ORDER BY 1, 2, 3") == [
        ("moss", 1, "compact"),
        ("moss", 1, "reset"),
        ("sage", 1, "reset"),
        ("sage", 2, "compact"),
        ("sage", 2, "reset"),
    ]


def test_whoever_asks_for_no_turns_gets_none_and_whoever_names_no_number_gets_ten_thousand(store: HistoryStore) -> None:
    """A history of years is read in parts."""
    say(store, "first")
    columns = "familiar_id, channel_id, role, content, timestamp, audience"
    store.database.write(
        f"INSERT INTO turns ({columns}) WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number"
        f" WHERE n < 10001) SELECT {columns} FROM turns, number"
    )

    for limit in (0, -1):
        assert store.watermarks.next_unwritten(familiar_id="sage", limit=limit) == []
        assert store.turns_since_watermark(familiar_id="sage", limit=limit) == []
    assert len(store.watermarks.next_unwritten(familiar_id="sage", limit=2)) == 2
    assert len(store.turns_since_watermark(familiar_id="sage")) == 10_000
    assert [store.watermarks.count_unwritten(familiar_id="sage", most=most) for most in (-1, 0, 3)] == [10_002, 0, 3]


def test_what_another_program_wrote_reads_as_text() -> None:
    """Bytes and numbers too; an empty mode is none."""
    assert [text_or_none(each) for each in (None, "a", b"\xc3\xa9\xff", 7)] == [None, "a", "é\ufffd", "7"]
    assert [mode_value(each) for each in (None, "", "text")] == [None, None, "text"]


@pytest.mark.parametrize(("level", "last", "is_kept"), [(-1, 2, True), (0, 2, False), (0, 1, True), (1, 2, True)])
def test_a_summary_of_words_that_were_changed_meanwhile_is_not_kept(
    store: HistoryStore, level: int, last: int, is_kept: bool
) -> None:
    """Also where the change was the very first one; a change of a later turn, or one known before, costs nothing."""
    say(store, "one")
    changed = say(store, "two")
    store.database.write(
        "INSERT INTO turn_revisions (turn_id, said_before, changed_at, was_deleted) VALUES (?, ?, ?, ?)",
        (changed, "two!", "2026-01-01T00:00:00+00:00", 0),
    )
    store.put_summary(familiar_id="sage", last_summarised_id=last, summary_text="They counted.", level=level)
    store.summaries.put_cross_context("sage", None, 1, last, "They counted.", level)

    assert (store.get_summary(familiar_id="sage") is not None) is is_kept
    assert (store.summaries.get_cross_context("sage", None, 1) is not None) is is_kept


def test_the_writer_may_be_done_where_nothing_was_said(store: HistoryStore) -> None:
    """Its mark stands before the first turn."""
    store.watermarks.put_for(familiar_id="sage", audience=OWNER, turn_range=(1, 1))
    mark = store.get_writer_watermark(familiar_id="sage")

    assert mark is not None
    assert mark.last_written_id == 0
