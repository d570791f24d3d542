"""Which units hold a word: SQLite's word index with as little in it as finds them.

It holds the words that say something, each once for a unit, and nothing else of the text, not even where they stood:
whoever takes a unit out must say its words again. Units have row numbers of their own there, close to each other, for
SQLite stores how far one is from the next, and their usual numbers leave a million between two files.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import numpy as np

from familiar_connect.memory.index.query import match_expression
from familiar_connect.memory.index.ranking import MAX_PLACE, PLACE_BITS
from familiar_connect.memory.index.storage import DerivedFile, IndexUnavailable, Numbers, read_joined_ids


def word_table(name: str) -> str:
    """The statement that makes the word index *name*."""
    return (
        f"CREATE VIRTUAL TABLE {name} USING fts5(text, content='', columnsize=0, detail=none,"
        """ tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'")"""
    )


def to_row(unit: int, bits: int) -> int:
    """The row number of *unit*, whose stretch has 2 ** *bits* of them, or as many stretch numbers as it needs."""
    return ((unit >> PLACE_BITS) << bits) + (unit & MAX_PLACE)


def to_rows(units: Numbers, bits: int) -> Numbers:
    """`to_row` of each; in order where *units* are."""
    return np.asarray(((units >> PLACE_BITS) << bits) + (units & MAX_PLACE), dtype=np.int64)


def from_rows(rows: Numbers, bits: int) -> Numbers:
    """The units of *rows* where no stretch has more than 2 ** *bits*."""
    return np.asarray(((rows >> bits) << PLACE_BITS) | (rows & ((1 << bits) - 1)), dtype=np.int64)


def insert_words(connection: sqlite3.Connection, table: str, rows: Iterable[tuple[int, Iterable[str]]]) -> None:
    """Have the units of *rows* found by their words."""
    values = ((row, " ".join(words)) for row, words in rows)
    connection.executemany(f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", values)


def delete_words(connection: sqlite3.Connection, table: str, rows: Iterable[tuple[int, Iterable[str]]]) -> None:
    """Have the units of *rows* found no more, each given with the very words it went in with."""
    values = ((row, " ".join(words)) for row, words in rows)
    connection.executemany(f"INSERT INTO {table} ({table}, rowid, text) VALUES ('delete', ?, ?)", values)


def read_postings(
    file: DerivedFile, table: str, word: str, limit: int, *, in_any_form: bool = False, around: Sequence[str] = ()
) -> Numbers:
    """The rows that hold *word*, or a word *around* it, in the word index *table*: those with the highest numbers."""
    expressions = [match_expression(word, in_any_form=in_any_form), *(f"({match_expression(each)})" for each in around)]
    wanted = " OR ".join(expressions)
    if not expressions[0]:
        return np.empty(0, dtype=np.int64)
    select = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?"
    try:
        return read_joined_ids(file, select, (wanted, limit))
    except IndexUnavailable as exc:
        if "phrase queries" not in str(exc.__cause__):
            raise
        return np.empty(0, dtype=np.int64)  # a letter that SQLite does not know as one yet
