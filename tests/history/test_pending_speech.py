"""Words that were said aloud and are no turn yet, as they are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from familiar_connect.audience import whole_server
from familiar_connect.history.pending_speech import PendingSpeech, PendingSpeechRows
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author

ADA = Author("discord", "1", "ada", "Ada")
BEN = Author("discord", "2", "ben", "Ben")
NOW = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    store = HistoryStore(tmp_path / "history.db")
    yield store
    store.close()


def words(text: str, *, author: Author = ADA, seconds: float = 0.0, familiar_id: str = "wren") -> PendingSpeech:
    return PendingSpeech(
        familiar_id=familiar_id,
        channel_id=7,
        guild_id=5,
        author=author,
        content=text,
        timestamp=NOW + timedelta(seconds=seconds),
        mode="imitate_voice",
        facts=None,
        audience=whole_server("discord", 5),
    )


def recover(store: HistoryStore) -> int:
    return PendingSpeechRows(store.database).recover("wren", store.append_turn)


def turns(store: HistoryStore) -> list[tuple[str, str]]:
    found = store.recent(familiar_id="wren", channel_id=7, limit=100)
    return [(turn.author.label if turn.author else "", turn.content) for turn in found]


def test_what_was_left_becomes_turns_once_in_the_order_it_was_said(store: HistoryStore) -> None:
    """With author, audience and moment; another familiar's words stay where they are."""
    rows = PendingSpeechRows(store.database)
    rows.add("b", words("and then", author=BEN, seconds=2))
    rows.add("a", words("first \ud83d"))
    rows.add("other", words("not mine", familiar_id="robin"))

    assert recover(store) == 2
    assert [who for who, _ in turns(store)] == ["Ada", "Ben"]
    assert turns(store)[1] == ("Ben", "and then")
    [turn, _] = store.recent(familiar_id="wren", channel_id=7, limit=2)
    assert (turn.timestamp, turn.audience, turn.guild_id) == (NOW, whole_server("discord", 5), 5)
    assert recover(store) == 0
    assert PendingSpeechRows(store.database).recover("robin", store.append_turn) == 1


def test_what_is_removed_is_not_recovered(store: HistoryStore) -> None:
    """It has become a turn by itself."""
    rows = PendingSpeechRows(store.database)
    rows.add("a", words("one"))
    rows.add("b", words("two"))
    rows.remove(["a", "nobody's"])
    assert recover(store) == 1
    assert turns(store) == [("Ada", "two")]


@pytest.mark.skipif(os.name == "nt", reason="which processes run is not asked there")
def test_the_words_of_a_process_that_still_runs_are_left_to_it(store: HistoryStore) -> None:
    """It stores them itself; once it has ended they are put into the history."""
    PendingSpeechRows(store.database).add("a", words("still talking"))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        store.database.write("UPDATE pending_speech SET pid = ?", (other.pid,))
        assert recover(store) == 0
        other.communicate(b"\n")
    assert recover(store) == 1
    assert turns(store) == [("Ada", "still talking")]


def test_whoever_is_erased_leaves_no_words_there(store: HistoryStore) -> None:
    """Others keep theirs."""
    rows = PendingSpeechRows(store.database)
    rows.add("a", words("mine"))
    rows.add("b", words("his", author=BEN))
    store.erase_author(familiar_id="wren", author=ADA)
    recover(store)
    assert turns(store) == [("Ben", "his")]
