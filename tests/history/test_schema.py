"""Older files open, keep every turn, and behave like new ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from familiar_connect.history.schema import MIGRATIONS
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author

WITH_SPEAKER = """
CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT, familiar_id TEXT NOT NULL, channel_id INTEGER NOT NULL, guild_id INTEGER,
    role TEXT NOT NULL, speaker TEXT, content TEXT NOT NULL, timestamp TEXT NOT NULL);
CREATE INDEX idx_turns_channel ON turns (familiar_id, channel_id, id);
CREATE TABLE summaries (
    familiar_id TEXT PRIMARY KEY, last_summarised_id INTEGER NOT NULL, summary_text TEXT NOT NULL,
    created_at TEXT NOT NULL);
INSERT INTO summaries VALUES ('sage', 1, 'long ago', '2025-01-01T00:00:00+00:00');
"""

BEFORE_SIDE_TABLES = """
CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT, familiar_id TEXT NOT NULL, channel_id INTEGER NOT NULL, guild_id INTEGER,
    role TEXT NOT NULL, author_platform TEXT, author_user_id TEXT, author_username TEXT, author_display_name TEXT,
    content TEXT NOT NULL, timestamp TEXT NOT NULL);
INSERT INTO turns (familiar_id, channel_id, role, author_platform, author_user_id, author_username, content, timestamp)
VALUES ('sage', 1, 'user', 'discord', '1', 'ada', 'hi', '2025-01-01T00:00:00+00:00'),
       ('sage', 1, 'assistant', NULL, NULL, NULL, 'hello', '2025-01-01T00:00:01+00:00');
"""


def make(path: Path, script: str, turns: Sequence[tuple[str | None, str]] = ()) -> None:
    with closing(sqlite3.connect(path)) as old:
        old.executescript(script)
        for speaker, content in turns:
            old.execute(
                "INSERT INTO turns (familiar_id, channel_id, role, speaker, content, timestamp)"
                " VALUES ('sage', 1, 'user', ?, ?, '2025-01-01T00:00:00+00:00')",
                (speaker, content),
            )
        old.commit()


def columns(path: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def test_a_new_file_has_the_promised_layout(tmp_path: Path) -> None:
    """Tables, columns and keys other programs may rely on."""
    path = tmp_path / "history.db"
    HistoryStore(path).close()

    assert columns(path, "turns")[:12] == [
        "id",
        "familiar_id",
        "channel_id",
        "guild_id",
        "role",
        "author_platform",
        "author_user_id",
        "author_username",
        "author_display_name",
        "content",
        "timestamp",
        "mode",
    ]
    assert columns(path, "summaries") == [
        "familiar_id",
        "channel_id",
        "last_summarised_id",
        "summary_text",
        "created_at",
    ]
    assert columns(path, "cross_context_summaries") == [
        "familiar_id",
        "viewer_mode",
        "source_channel_id",
        "source_last_id",
        "summary_text",
        "created_at",
    ]
    assert columns(path, "memory_writer_watermark") == ["familiar_id", "last_written_id", "created_at"]


def test_a_speaker_becomes_an_author(tmp_path: Path) -> None:
    """A bare name is an author of the legacy platform; no name is no author; the column is gone."""
    path = tmp_path / "history.db"
    make(path, WITH_SPEAKER, [("Ada", "hi"), (None, "who?")])
    store = HistoryStore(path)
    turns = store.recent(familiar_id="sage", channel_id=1, limit=9)

    assert [turn.author for turn in turns] == [Author("legacy-discord", "Ada", None, "Ada"), None]
    assert [turn.content for turn in turns] == ["hi", "who?"]
    assert store.recent_distinct_authors(familiar_id="sage", channel_id=1, limit=9) == [turns[0].author]
    assert "speaker" not in columns(path, "turns")
    store.close()


def test_ids_go_on_where_an_older_file_stopped(tmp_path: Path) -> None:
    """An id given once is not given again, even if its turn was deleted before the move."""
    path = tmp_path / "history.db"
    make(path, WITH_SPEAKER, [("Ada", "one"), ("Ada", "two"), ("Ada", "three")])
    with closing(sqlite3.connect(path)) as old:
        old.execute("DELETE FROM turns WHERE id = 3")
        old.commit()
    store = HistoryStore(path)

    assert store.append_turn(familiar_id="sage", channel_id=1, role="user", content="four").id == 4
    store.close()


def test_columns_we_do_not_know_are_carried_along(tmp_path: Path) -> None:
    """Moving away from the speaker column loses nothing else."""
    path = tmp_path / "history.db"
    make(path, WITH_SPEAKER + "ALTER TABLE turns ADD COLUMN \"odd one\" TEXT DEFAULT 'kept';", [("Ada", "hi")])
    HistoryStore(path).close()

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute('SELECT "odd one" FROM turns').fetchall() == [("kept",)]


def test_old_summaries_are_made_anew(tmp_path: Path) -> None:
    """They are a cache: the old one is dropped, a new one is kept per channel."""
    path = tmp_path / "history.db"
    make(path, WITH_SPEAKER)
    store = HistoryStore(path)

    assert store.get_summary(familiar_id="sage") is None
    store.put_summary(familiar_id="sage", last_summarised_id=1, summary_text="now", channel_id=4)
    assert store.get_summary(familiar_id="sage", channel_id=4) is not None
    store.close()


def test_a_file_without_mode_and_side_tables_gains_them(tmp_path: Path) -> None:
    """Its turns are counted and its people known at once."""
    path = tmp_path / "history.db"
    make(path, BEFORE_SIDE_TABLES)
    store = HistoryStore(path)

    assert "mode" in columns(path, "turns")
    assert store.count(familiar_id="sage", channel_id=1) == 2
    assert store.recent_distinct_authors(familiar_id="sage", channel_id=1, limit=5) == [
        Author("discord", "1", "ada", None)
    ]
    store.close()


@pytest.mark.parametrize("script", [WITH_SPEAKER, BEFORE_SIDE_TABLES], ids=["speaker", "no side tables"])
def test_every_step_may_run_again(tmp_path: Path, script: str) -> None:
    """Forgetting which steps ran changes no turn."""
    path = tmp_path / "history.db"
    make(path, script)
    seen = []
    for _ in range(2):
        store = HistoryStore(path)
        seen.append((store.older_than(familiar_id="sage", max_id=99), columns(path, "turns")))
        names = [row[0] for row in store.database.read("SELECT name FROM migrations ORDER BY rowid")]
        store.database.write("DELETE FROM migrations")
        store.close()

    assert seen[0] == seen[1]
    assert names == [migration.name for migration in MIGRATIONS]
