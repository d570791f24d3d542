"""Which channel a thread belongs to is still known after the platform has forgotten it."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.history.channel_readers import STANDS_ALONE
from familiar_connect.history.store import HistoryStore


def test_a_thread_is_found_by_its_channel_and_by_its_server_after_a_restart(tmp_path: Path) -> None:
    """And no other platform's channel of the same number."""
    history = HistoryStore(tmp_path / "history.db")
    history.channel_parents.note("discord", 21, 1, 20)
    history.channel_parents.note("discord", 20, 1, STANDS_ALONE)
    history.channel_parents.note("discord", 31, 2, 20)
    history.channel_parents.note("other", 21, 1, 99)
    history.close()

    again = HistoryStore(tmp_path / "history.db")
    assert again.channel_parents.threads_of("discord", 1, 20) == [21]
    assert again.channel_parents.of_servers("discord", [1, 2, 3]) == {1: {21: 20, 20: STANDS_ALONE}, 2: {31: 20}, 3: {}}
    assert again.channel_parents.of_channels("discord", [21, 31, 40]) == {21: 20, 31: 20}
    again.close()


def test_what_is_known_is_no_news_until_it_changes(tmp_path: Path) -> None:
    """A run writes each parent once."""
    history = HistoryStore(tmp_path / "history.db")
    parents = history.channel_parents
    assert parents.is_news("discord", 21, 20)
    parents.note("discord", 21, 1, 20)
    assert not parents.is_news("discord", 21, 20)
    assert parents.is_news("discord", 21, 22)
    parents.note("discord", 21, 1, 22)
    assert parents.of_channels("discord", [21]) == {21: 22}
    history.close()
