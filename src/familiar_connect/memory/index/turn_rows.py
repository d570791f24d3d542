"""The rows of the turn index: pieces of what was said, numbered so that neighbours in talk are neighbours in number.

Of a piece that says several things, each of its newest has vectors of its sentences too: what is asked for is often one
of them, and the others draw the vector of the whole away from it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence

import numpy as np

from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.index.chunking import split_sentences
from familiar_connect.memory.index.protocols import EmbeddingModel, RecallScope
from familiar_connect.memory.index.query import content_words, to_fts_text
from familiar_connect.memory.index.ranking import MAX_PLACE, Floats, UnitFacts, unit_number, weigh_named
from familiar_connect.memory.index.storage import (
    BLOCK_ROWS,
    LOAD_FACTS,
    LOAD_ROWS,
    OPENED_ROWS,
    Codes,
    DerivedFile,
    FactColumns,
    IndexUnavailable,
    Numbers,
    Vector,
    Vectors,
    read_ids,
)
from familiar_connect.memory.index.vectors.blobs import from_byte_blobs
from familiar_connect.memory.index.vectors.word_vectors import WordVectors
from familiar_connect.support.sqlite import Row

STRETCH_GAP_S = 3600.0
"""After this long a silence the next thing said in a channel begins another conversation."""
MAX_STRETCH = 200
SENTENCE_BITS = 3
MAX_SENTENCES = 1 << SENTENCE_BITS
"""Sentences of one unit that have vectors."""
LEAST_SENTENCE_WORDS = 2
"""Words that say something; with fewer a sentence ("Sounds great!") is near everything and nothing."""
SENTENCES_HELD = 100_000
"""Sentences with vectors (40 MB at 384 numbers each), the newest."""
SENTENCES_OF = 600
"""Units, the nearest as a whole, whose sentences are looked at for one question."""
STATE = "SELECT last_turn_id, turns_seen, units, stretches, (SELECT value FROM meta WHERE key = 'revised') FROM totals"
"""Another row after every change to the units."""
READ_FACTS = (
    "SELECT id, turn_id, channel_id, speaker, said_at, word_count, asks FROM units WHERE id > ? ORDER BY id LIMIT ?"
)


def create_tables(connection: sqlite3.Connection) -> None:
    for statement in (
        "CREATE TABLE units (id INTEGER PRIMARY KEY, turn_id INTEGER, channel_id INTEGER, speaker TEXT,"
        " said_at REAL, word_count INTEGER, asks INTEGER, text TEXT)",
        "CREATE INDEX units_by_time ON units (said_at)",
        "CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB)",
        "CREATE TABLE sentence_vectors (id INTEGER PRIMARY KEY, vector BLOB)",
        *WordVectors.TABLES,
        "CREATE TABLE speakers (key TEXT PRIMARY KEY, names TEXT)",
        "CREATE TABLE stretches (channel_id INTEGER PRIMARY KEY, stretch INTEGER, next_place INTEGER, last_at REAL)",
        "CREATE TABLE totals (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), last_turn_id INTEGER,"
        " turns_seen INTEGER, units INTEGER, stretches INTEGER)",
        "INSERT INTO totals VALUES (1, 0, 0, 0, 0)",
        "CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='porter unicode61 remove_diacritics 2')",
    ):
        connection.execute(statement)


class TurnFacts:
    """What is known of every unit, in memory: who said it, where and when, and how much. Safe to use from any thread.

    The index says what it changed itself; after a change by another process all of it is read again.
    """

    def __init__(self, file: DerivedFile) -> None:
        self._file = file
        self._lock = threading.RLock()
        self._columns = FactColumns(turn="i8", channel="i4", speaker="i4", said_at="f8", words="i4", asks="?")
        self._codes = Codes()
        self._level: tuple[object, ...] = ()

    def level(self) -> tuple[object, ...]:
        """Another value once the units were changed, by whomever."""
        return self._level_of(self._file.read(STATE)[0])

    def catch_up(self) -> None:
        """Be level with the file."""
        level = self.level()
        if level != self._level:
            with self._lock:
                self._columns.clear()
                rows: list[Row] = [(-1,)]
                while rows:
                    rows = self._file.read(READ_FACTS, (rows[-1][0], LOAD_FACTS))
                    self._columns.change((), [self._coded(row) for row in rows])
                self._level = level

    def follow(self, before: Row, after: Row, dropped: Sequence[int], added: Sequence[Row]) -> None:
        """What one transaction of this index changed, which led from one `STATE` to another."""
        with self._lock:
            if self._level == self._level_of(before):
                self._columns.change(dropped, [self._coded(row) for row in added])
                self._level = self._level_of(after)

    def ids(self) -> Numbers:
        """The numbers of all units, in order, as they were at the last look."""
        return self._columns.ids()

    def turns_of(self, units: Sequence[int]) -> dict[int, int]:
        """The turn of each of *units* that there is, in their order."""
        self.catch_up()
        rows = self._columns.of(np.array(sorted(units), dtype=np.int64))
        found = dict(zip(rows["unit"].tolist(), rows["turn"].tolist(), strict=True))
        return {unit: found[unit] for unit in units if unit in found}

    def of(self, units: Numbers, scope: RecallScope, speakers: Iterable[str], first: Iterable[str]) -> UnitFacts:
        """The facts of *units* but those that the prompt holds already.

        *speakers* are those the question names, *first* those of them that it names before the others.
        """
        self.catch_up()
        rows = self._columns.of(units)
        here = np.isin(rows["channel"], self._codes.of([("channel", scope.channel_id)]))
        is_in_prompt = np.zeros(len(rows), dtype=np.bool_)
        if scope.before_turn_id is not None:
            is_in_prompt = (rows["turn"] >= scope.before_turn_id) & (here | (scope.channel_id is None))
        if scope.exclude_turn_ids:
            is_in_prompt |= np.isin(rows["turn"], list(scope.exclude_turn_ids))
        named, named_first = (np.isin(rows["speaker"], self._codes.of(each)) for each in (speakers, first))
        concerns = weigh_named(named, named_first)
        left = ~is_in_prompt
        return UnitFacts.from_columns(rows[left], concerns[left], here[left])

    def _level_of(self, state: Row) -> tuple[object, ...]:
        return (self._file.open_count, *state)

    def _coded(self, row: Row) -> Row:
        unit, turn_id, channel_id, speaker, *rest = row
        return (unit, turn_id, self._codes.put(("channel", channel_id)), self._codes.put(speaker), *rest)


def insert_unit(connection: sqlite3.Connection, unit: int, said: HistoryTurn, text: str) -> Row:
    """One piece of what was said, under its number; what `TurnFacts` holds of it."""
    facts = (
        unit,
        said.id,
        said.channel_id,
        said.author.canonical_key if said.author else "",
        said.timestamp.timestamp(),
        sum(1 for _ in content_words(text)),
        text.rstrip().endswith("?"),
    )
    connection.execute("INSERT INTO units VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*facts, text))
    connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (unit, to_fts_text(text)))
    return facts


def delete_units(connection: sqlite3.Connection, gone: Sequence[tuple[int, str]]) -> None:
    """Remove units, each given with the text it was taken in with."""
    connection.executemany(
        "INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)",
        [(unit, to_fts_text(text)) for unit, text in gone],
    )
    for table in ("units", "vectors", "unit_words"):
        connection.executemany(f"DELETE FROM {table} WHERE id = ?", [(unit,) for unit, _ in gone])
    connection.executemany(
        "DELETE FROM sentence_vectors WHERE id >= ? AND id < ?", [_sentence_range(unit) for unit, _ in gone]
    )
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


def read_state(connection: sqlite3.Connection) -> Row:
    """How far the index has come, inside a transaction."""
    row: Row | None = connection.execute(STATE).fetchone()
    if row is None:
        raise IndexUnavailable("the index of turns is damaged: it lost count.")
    return row


class SentenceVectors(Vectors):
    """Vectors of the sentences of units, numbered by unit and place. Safe to use from any thread."""

    def __init__(self, file: DerivedFile, dim: int) -> None:
        super().__init__(dim)
        self._file = file

    def load(self) -> None:
        """Hold what the file holds, and no others."""
        stored, held = read_ids(self._file, "SELECT id FROM sentence_vectors"), self.ids()
        self.drop(np.setdiff1d(held, stored, assume_unique=True).tolist())
        missing = np.setdiff1d(stored, held, assume_unique=True)
        for start in range(0, len(missing), LOAD_ROWS):
            first, last = int(missing[start]), int(missing[start : start + LOAD_ROWS][-1])
            select = "SELECT id, vector FROM sentence_vectors WHERE id BETWEEN ? AND ?"
            rows = self._file.read(select, (first, last))
            self.put([row[0] for row in rows], from_byte_blobs([row[1] for row in rows], self.dim))

    def drop_units(self, units: Sequence[int]) -> None:
        """Take away the sentences of *units*."""
        held = self.ids()
        self.drop(held[np.isin(held >> SENTENCE_BITS, np.asarray(units, dtype=np.int64))].tolist())

    def trim(self) -> None:
        """Let go of the oldest where there are too many, here and in the file."""
        old = self.ids()[:-SENTENCES_HELD]
        if len(old):
            with self._file.transaction() as connection:
                connection.execute("DELETE FROM sentence_vectors WHERE id <= ?", (int(old[-1]),))
            self.drop(old.tolist())

    def best_of(self, vector: Vector, units: Numbers, whole: Floats) -> Floats:
        """How near the best sentence of each of *units* is to *vector*: as near as its *whole* where it has but one."""
        best = whole.copy()
        nearest = np.argpartition(-whole, SENTENCES_OF)[:SENTENCES_OF] if len(units) > SENTENCES_OF else slice(None)
        with self._lock:
            numbers, places = self._in_order()
            first = np.searchsorted(numbers, units[nearest] << SENTENCE_BITS)
            counts = np.searchsorted(numbers, (units[nearest] + 1) << SENTENCE_BITS) - first
            several = counts > 0
            if not several.any():
                return best
            first, counts = first[several], counts[several]
            starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
            wanted = np.arange(counts.sum()) + np.repeat(first - starts, counts)
            cosines = self._cosines_at(places[wanted], vector)
        at = np.arange(len(units))[nearest][several]
        best[at] = np.maximum.reduceat(cosines, starts)
        return best

    def _cosines_at(self, places: Numbers, vector: Vector) -> Vector:
        """The cosines of rows at *places*, a handful at a time."""
        found = np.empty(len(places), dtype=np.float32)
        for start in range(0, len(places), OPENED_ROWS):
            handful = places[start : start + OPENED_ROWS]
            opened = np.empty((len(handful), self.dim), dtype=np.float32)
            for number, block in enumerate(self._blocks):
                here = handful // BLOCK_ROWS == number
                opened[here] = block[handful[here] % BLOCK_ROWS]
            found[start : start + OPENED_ROWS] = opened @ vector
        return np.asarray(found * self._steps[places])


def embed_units(model: EmbeddingModel, rows: Sequence[Row]) -> tuple[Vector, list[int], Vector]:
    """Vectors of the texts in *rows*, which are `unit, text`, and the numbers and vectors of their sentences."""
    numbers: list[int] = []
    texts: list[str] = []
    for unit, text in rows:
        for place, sentence in enumerate(_telling_sentences(text)):
            numbers.append((unit << SENTENCE_BITS) | place)
            texts.append(sentence)
    found = model.embed([text for _, text in rows] + texts)
    return found[: len(rows)], numbers, found[len(rows) :]


def _telling_sentences(text: str) -> list[str]:
    """The first sentences of *text* that say something; none where it is one sentence."""
    sentences = split_sentences(text)
    if len(sentences) < 2:
        return []
    telling = (each for each in sentences if sum(1 for _ in content_words(each)) >= LEAST_SENTENCE_WORDS)
    return list(telling)[:MAX_SENTENCES]


def is_in_prompt(turn_id: int, channel_id: int, scope: RecallScope) -> bool:
    """Whether the prompt shows a turn anyway."""
    return turn_id in scope.exclude_turn_ids or (
        scope.before_turn_id is not None
        and turn_id >= scope.before_turn_id
        and (scope.channel_id is None or channel_id == scope.channel_id)
    )


def _sentence_range(unit: int) -> tuple[int, int]:
    """The first number a sentence of *unit* may have, and the first of the next unit."""
    return unit << SENTENCE_BITS, (unit + 1) << SENTENCE_BITS
