"""When a familiar was last talked with, and how much, whatever state its history is in."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from familiar_connect.history.chats import NEVER, count_turns, last_talk
from familiar_connect.history.message_edits import count_undone
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import TurnMark
from familiar_connect.history.versions import TurnVersionStore
from familiar_connect.support.clock import ManualClock


def test_the_last_message_tells(tmp_path: Path) -> None:
    """Not the file: it is written to for other reasons, too."""
    clock = ManualClock(datetime(2026, 3, 1, tzinfo=UTC))
    assert last_talk(tmp_path) == NEVER
    with closing(HistoryStore(tmp_path / "history.db", clock=clock)) as history:
        assert last_talk(tmp_path) == NEVER
        history.append_turn(familiar_id="ember", channel_id=1, role="user", content="hi")
        assert last_talk(tmp_path) == clock.now().timestamp()
    assert last_talk(tmp_path) == clock.now().timestamp()


def test_a_history_that_cannot_be_read_is_as_old_as_its_file(tmp_path: Path) -> None:
    """One of an older version, or a damaged one."""
    (tmp_path / "history.db").write_bytes(b"no database")
    os.utime(tmp_path / "history.db", (300, 300))

    assert last_talk(tmp_path) == 300


def test_turns_are_counted_by_looking_as_the_open_history_counts_them(tmp_path: Path) -> None:
    """Without those that were taken back, and while somebody writes."""
    root = tmp_path / "ember"
    root.mkdir()
    assert count_turns(root) == 0
    with closing(HistoryStore(root / "history.db")) as history:
        for text in ("one", "two", "three"):
            last = history.append_turn(familiar_id="ember", channel_id=1, role="user", content=text)
        history.append_turn(familiar_id="wren", channel_id=1, role="user", content="another's")
        TurnVersionStore(history, "ember").mark_turns([last.id], TurnMark.undone)

        assert history.count(familiar_id="ember") - count_undone(history, familiar_id="ember") == count_turns(root) == 2
    assert count_turns(root) == 2


def test_what_is_no_history_of_ours_is_not_counted_by_looking(tmp_path: Path) -> None:
    """A damaged one, one of before there were edits, and one whose turns are a view: opening it says what it is."""
    for number, makes in enumerate(("", "CREATE TABLE turns (id)", "CREATE VIEW turns AS SELECT 1")):
        root = tmp_path / str(number)
        root.mkdir()
        if not makes:
            (root / "history.db").write_bytes(b"no database")
        else:
            with closing(sqlite3.connect(root / "history.db")) as database:
                database.execute(makes)
                database.execute("CREATE TABLE turn_revisions (turn_id)")

        assert count_turns(root) is None
