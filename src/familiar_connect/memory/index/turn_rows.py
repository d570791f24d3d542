"""The rows of the turn index: pieces of what was said, numbered so that neighbours in talk are neighbours in number."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.index.query import content_words, to_fts_text
from familiar_connect.memory.index.ranking import MAX_PLACE, unit_number

STRETCH_GAP_S = 3600.0
"""After this long a silence the next thing said in a channel begins another conversation."""
MAX_STRETCH = 200


def create_tables(connection: sqlite3.Connection) -> None:
    for statement in (
        "CREATE TABLE units (id INTEGER PRIMARY KEY, turn_id INTEGER, channel_id INTEGER, speaker TEXT,"
        " said_at REAL, word_count INTEGER, asks INTEGER, text TEXT)",
        "CREATE INDEX units_by_time ON units (said_at)",
        "CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB)",
        "CREATE TABLE speakers (key TEXT PRIMARY KEY, names TEXT)",
        "CREATE TABLE stretches (channel_id INTEGER PRIMARY KEY, stretch INTEGER, next_place INTEGER, last_at REAL)",
        "CREATE TABLE totals (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), last_turn_id INTEGER,"
        " turns_seen INTEGER, units INTEGER, stretches INTEGER)",
        "INSERT INTO totals VALUES (1, 0, 0, 0, 0)",
        "CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='porter unicode61 remove_diacritics 2')",
    ):
        connection.execute(statement)


def insert_unit(connection: sqlite3.Connection, unit: int, said: HistoryTurn, text: str) -> None:
    """One piece of what was said, under its number."""
    connection.execute(
        "INSERT INTO units VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            unit,
            said.id,
            said.channel_id,
            said.author.canonical_key if said.author else "",
            said.timestamp.timestamp(),
            sum(1 for _ in content_words(text)),
            text.rstrip().endswith("?"),
            text,
        ),
    )
    connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (unit, to_fts_text(text)))


def delete_units(connection: sqlite3.Connection, gone: Sequence[tuple[int, str]]) -> None:
    """Remove units, each given with the text it was taken in with."""
    connection.executemany(
        "INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)",
        [(unit, to_fts_text(text)) for unit, text in gone],
    )
    for table in ("units", "vectors"):
        connection.executemany(f"DELETE FROM {table} WHERE id = ?", [(unit,) for unit, _ in gone])
    connection.execute("UPDATE totals SET units = units - ?", (len(gone),))


def next_unit_number(connection: sqlite3.Connection, said: HistoryTurn) -> int:
    """The number after the last in the channel's conversation, or the first of a new one."""
    at = said.timestamp.timestamp()
    row = connection.execute(
        "SELECT stretch, next_place, last_at FROM stretches WHERE channel_id = ?", (said.channel_id,)
    ).fetchone()
    if row is None or at - row[2] > STRETCH_GAP_S or row[1] >= min(MAX_STRETCH, MAX_PLACE):
        stretch = connection.execute("UPDATE totals SET stretches = stretches + 1 RETURNING stretches").fetchone()[0]
        place = 1  # 0 stays free: the unit before the first is nobody's
    else:
        stretch, place = row[0], row[1]
    connection.execute(
        "INSERT OR REPLACE INTO stretches VALUES (?, ?, ?, ?)", (said.channel_id, stretch, place + 1, at)
    )
    connection.execute("UPDATE totals SET units = units + 1")
    return unit_number(stretch, place)
