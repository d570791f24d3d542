"""An index that an earlier version made is made again by itself, and nothing of it is left beside the new one."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.index.embeddings import INDEX_FILE, EmbeddingIndex
from familiar_connect.memory.index.turns import TURNS_FILE, TurnIndex
from familiar_connect.memory.store import MemoryStore
from tests.fakes.embedding import CountingEmbedder

_ALWAYS = (
    "CREATE TABLE migrations (name TEXT PRIMARY KEY, run_at TEXT)",
    "INSERT INTO migrations VALUES ('tables', '2026-01-01')",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)",
    "INSERT INTO meta VALUES ('model', 'counting'), ('dim', '512'), ('familiar', 'wren')",
)
_WORDS = "fts5(text, content='', tokenize='porter unicode61 remove_diacritics 2')"
FILES_BEFORE = (
    *_ALWAYS,
    "INSERT INTO meta VALUES ('version', '2')",
    "CREATE TABLE documents (rel_path TEXT PRIMARY KEY, mtime REAL, chunk_count INTEGER, doc INTEGER, ctime REAL,"
    " size INTEGER, digest TEXT)",
    "CREATE TABLE chunks (id INTEGER PRIMARY KEY AUTOINCREMENT, rel_path TEXT, heading_path TEXT,"
    " char_start INTEGER, char_end INTEGER, token_count INTEGER, text TEXT, vector BLOB)",
    "CREATE INDEX chunks_by_path ON chunks (rel_path)",
    "CREATE TABLE generation (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), number INTEGER, last_doc INTEGER)",
    "INSERT INTO generation VALUES (1, 3, 1)",
    "CREATE TABLE passages (id INTEGER PRIMARY KEY, doc INTEGER, rel_path TEXT, heading_path TEXT, char_start INTEGER,"
    " char_end INTEGER, label TEXT, said_at REAL, word_count INTEGER, asks INTEGER, text TEXT, digest BLOB)",
    "CREATE INDEX passages_by_doc ON passages (doc)",
    "CREATE INDEX passages_by_time ON passages (said_at)",
    "CREATE TABLE passage_vectors (id INTEGER PRIMARY KEY, vector BLOB)",
    f"CREATE VIRTUAL TABLE passage_words USING {_WORDS}",
    "INSERT INTO passages (id, doc, rel_path, text) VALUES (1048577, 1, 'bees.md', 'an old line')",
)
"""The tables of version 2."""
FILES_OF_VERSION_3 = (
    *_ALWAYS,
    "INSERT INTO meta VALUES ('version', '3')",
    "CREATE TABLE documents (rel_path TEXT PRIMARY KEY, mtime REAL, chunk_count INTEGER, doc INTEGER, ctime REAL,"
    " size INTEGER, digest BLOB, said_at REAL) WITHOUT ROWID",
    "CREATE TABLE chunks (id INTEGER PRIMARY KEY AUTOINCREMENT, rel_path TEXT, heading_path TEXT,"
    " char_start INTEGER, char_end INTEGER, token_count INTEGER, text TEXT, vector BLOB)",
    "CREATE INDEX chunks_by_path ON chunks (rel_path)",
    "CREATE TABLE generation (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), number INTEGER, last_doc INTEGER)",
    "INSERT INTO generation VALUES (1, 3, 1)",
    "CREATE TABLE passages (id INTEGER PRIMARY KEY, chunk INTEGER, start INTEGER, length INTEGER,"
    " word_count INTEGER, asks INTEGER, label TEXT, heading_path TEXT, text TEXT, vector BLOB)",
    f"CREATE VIRTUAL TABLE passage_words USING {_WORDS}",
    "INSERT INTO passages (id, chunk, text) VALUES (1048577, 1, 'an old line')",
)
FILES_OF_VERSION_4 = (
    *_ALWAYS,
    "INSERT INTO meta VALUES ('version', '4')",
    "CREATE TABLE documents (rel_path TEXT PRIMARY KEY, mtime REAL, chunk_count INTEGER, doc INTEGER,"
    " ctime REAL, size INTEGER, digest BLOB, said_at REAL, first_chunk INTEGER) WITHOUT ROWID",
    "CREATE TABLE chunks (id INTEGER PRIMARY KEY AUTOINCREMENT, rel_path TEXT, heading_path TEXT,"
    " char_start INTEGER, char_end INTEGER, token_count INTEGER, text TEXT, vector BLOB)",
    "CREATE TABLE generation (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), number INTEGER, last_doc INTEGER)",
    "INSERT INTO generation VALUES (1, 3, 1)",
    "CREATE TABLE passages (doc INTEGER PRIMARY KEY, count INTEGER, first_chunk INTEGER, facts BLOB, labels TEXT,"
    " apart TEXT, vectors BLOB)",
    "CREATE VIRTUAL TABLE passage_words USING fts5(text, content='', columnsize=0, detail=none,"
    " tokenize='porter unicode61 remove_diacritics 2')",
    "INSERT INTO chunks (rel_path, text, vector) VALUES ('bees.md', 'an old line', zeroblob(2048))",
)
FILES_OF_VERSION_5 = (
    *(statement for statement in FILES_OF_VERSION_4 if "'4'" not in statement and " chunks " not in statement),
    "INSERT INTO meta VALUES ('version', '5')",
    "CREATE TABLE stored_chunks (id INTEGER PRIMARY KEY AUTOINCREMENT, rel_path TEXT, heading_path TEXT,"
    " char_start INTEGER, char_end INTEGER, token_count INTEGER, text TEXT, step REAL, counts BLOB)",
    "INSERT INTO stored_chunks (rel_path, text, counts) VALUES ('bees.md', 'an old line', zeroblob(512))",
)
TURNS_BEFORE = (
    *_ALWAYS,
    "INSERT INTO meta VALUES ('version', '4')",
    "CREATE TABLE units (id INTEGER PRIMARY KEY, turn_id INTEGER, channel_id INTEGER, speaker TEXT, said_at REAL,"
    " word_count INTEGER, asks INTEGER, text TEXT)",
    "CREATE INDEX units_by_time ON units (said_at)",
    "CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB)",
    "CREATE TABLE sentence_vectors (id INTEGER PRIMARY KEY, vector BLOB)",
    "CREATE TABLE word_vectors (id INTEGER PRIMARY KEY, vector BLOB)",
    "CREATE TABLE unit_words (id INTEGER PRIMARY KEY, words BLOB)",
    "CREATE TABLE speakers (key TEXT PRIMARY KEY, names TEXT)",
    "CREATE TABLE stretches (channel_id INTEGER PRIMARY KEY, stretch INTEGER, next_place INTEGER, last_at REAL)",
    "CREATE TABLE totals (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), last_turn_id INTEGER, turns_seen INTEGER,"
    " units INTEGER, stretches INTEGER)",
    "INSERT INTO totals VALUES (1, 1, 1, 1, 1)",
    f"CREATE VIRTUAL TABLE words USING {_WORDS}",
    "INSERT INTO units VALUES (1048577, 1, 1, '', 0.0, 3, 0, 'an old line')",
)
"""The tables of version 4."""
TURNS_OF_VERSION_5 = (
    *_ALWAYS,
    "INSERT INTO meta VALUES ('version', '5')",
    "CREATE TABLE units (id INTEGER PRIMARY KEY, turn_id INTEGER, piece INTEGER, channel INTEGER, speaker INTEGER,"
    " said_at REAL, word_count INTEGER, asks INTEGER, mark INTEGER, words BLOB)",
    "CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB)",
    "CREATE TABLE sentence_vectors (id INTEGER PRIMARY KEY, vector BLOB)",
    "CREATE TABLE terms (word TEXT PRIMARY KEY, id INTEGER NOT NULL, units INTEGER NOT NULL, vector BLOB)"
    " WITHOUT ROWID",
    "CREATE TABLE channels (id INTEGER PRIMARY KEY, channel_id INTEGER UNIQUE)",
    "CREATE TABLE speakers (id INTEGER PRIMARY KEY, key TEXT UNIQUE, names TEXT)",
    "CREATE TABLE stretches (channel_id INTEGER PRIMARY KEY, stretch INTEGER, next_place INTEGER, last_at REAL)",
    "CREATE TABLE totals (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), last_turn_id INTEGER, turns_seen INTEGER,"
    " units INTEGER, stretches INTEGER, last_term INTEGER)",
    "INSERT INTO totals VALUES (1, 1, 1, 1, 1, 1)",
    f"CREATE VIRTUAL TABLE words USING {_WORDS}",
    "INSERT INTO terms VALUES ('an old line', 1, 1, NULL)",
    "INSERT INTO units VALUES (1048577, 1, 0, 1, 1, 0.0, 3, 0, 0, x'0100')",
)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory")


def leave_behind(path: Path, statements: tuple[str, ...]) -> None:
    """Make *path* as an earlier version left it."""
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)


@pytest.mark.parametrize(
    "before",
    [FILES_BEFORE, FILES_OF_VERSION_3, FILES_OF_VERSION_4, FILES_OF_VERSION_5],
    ids=["version 2", "version 3", "version 4", "version 5"],
)
def test_the_files_are_found_again(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, before: tuple[str, ...]
) -> None:
    """By words and by meaning, with one line in the log and no copy of the old index."""
    model, path = CountingEmbedder(512, "counting"), store.root / ".index" / INDEX_FILE
    leave_behind(path, before)
    store.write_file("bees.md", "# Bees\n\nAda keeps bees on the roof.\n")
    with caplog.at_level(logging.WARNING), EmbeddingIndex(path, dim=512, model_name="counting") as index:
        index.build_if_stale(store, model)

        assert len(index.passages.postings("roof")) == 1
        assert [hit.rel_path for hit in index.query(model.embed(["Ada keeps bees"])[0], 1)] == ["bees.md"]
    assert [record.message for record in caplog.records] == ["memory index is made anew"]
    assert [each.name for each in path.parent.iterdir()] == [INDEX_FILE]
    assert b"an old line" not in path.read_bytes()


@pytest.mark.parametrize("before", [TURNS_BEFORE, TURNS_OF_VERSION_5], ids=["version 4", "version 5"])
def test_what_was_said_is_found_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, before: tuple[str, ...]
) -> None:
    """Likewise; the history is where it always was."""
    path = tmp_path / "memory/.index" / TURNS_FILE
    leave_behind(path, before)
    with closing(HistoryStore(tmp_path / "history.db")) as history:
        history.append_turn(
            familiar_id="wren",
            channel_id=1,
            role="user",
            content="I keep bees on the roof",
            author=Author("discord", "1", "ada", "Ada"),
            timestamp=datetime(2026, 11, 1, tzinfo=UTC),
        )
        index = TurnIndex(path, history=history, familiar_id="wren", dim=512, model_name="counting")
        with caplog.at_level(logging.WARNING), closing(index):
            index.sync(CountingEmbedder(512, "counting"))

            assert len(index.postings("roof")) == len(index.vectors) == 1
    assert [record.message for record in caplog.records] == ["memory index is made anew"]
    assert [each.name for each in path.parent.iterdir()] == [TURNS_FILE]
    assert b"an old line" not in path.read_bytes()
