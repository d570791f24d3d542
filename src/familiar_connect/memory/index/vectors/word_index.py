"""Which units hold a word: SQLite's word index with as little in it as finds them.

It holds the words that say something, each once for a unit, and nothing else of the text, not even where they stood:
whoever takes a unit out must say its words again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import numpy as np

from familiar_connect.memory.index.query import match_expression
from familiar_connect.memory.index.storage import DerivedFile, IndexUnavailable, Numbers, read_joined_ids


def word_table(name: str) -> str:
    """The statement that makes the word index *name*."""
    return (
        f"CREATE VIRTUAL TABLE {name} USING fts5(text, content='', columnsize=0, detail=none,"
        " tokenize='porter unicode61 remove_diacritics 2')"
    )


def insert_words(connection: sqlite3.Connection, table: str, units: Iterable[tuple[int, Iterable[str]]]) -> None:
    """Have each unit found by its words."""
    rows = ((unit, " ".join(words)) for unit, words in units)
    connection.executemany(f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", rows)


def delete_words(connection: sqlite3.Connection, table: str, units: Iterable[tuple[int, Iterable[str]]]) -> None:
    """Have units found no more, each given with the very words it went in with."""
    rows = ((unit, " ".join(words)) for unit, words in units)
    connection.executemany(f"INSERT INTO {table} ({table}, rowid, text) VALUES ('delete', ?, ?)", rows)


def read_postings(file: DerivedFile, table: str, word: str, limit: int) -> Numbers:
    """The units that hold *word* by the word index *table*, at most *limit*, those with the highest numbers."""
    wanted = match_expression(word)
    if not wanted:
        return np.empty(0, dtype=np.int64)
    select = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?"
    try:
        return read_joined_ids(file, select, (wanted, limit))
    except IndexUnavailable as exc:
        if "phrase queries" not in str(exc.__cause__):
            raise
        return np.empty(0, dtype=np.int64)  # a letter that SQLite does not know as one yet
