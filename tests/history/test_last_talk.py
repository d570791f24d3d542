"""When a familiar was last talked with, whatever state its history is in."""

from __future__ import annotations

import os
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from familiar_connect.history.chats import NEVER, last_talk
from familiar_connect.history.store import HistoryStore
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
