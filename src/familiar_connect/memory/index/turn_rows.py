"""The rows of the turn index: pieces of what was said, numbered so that neighbours in talk are neighbours in number.

Of a piece that says several things, each of its newest has vectors of its sentences too: what is asked for is often one
of them, and the others draw the vector of the whole away from it. The vectors stand in the row of their unit: rows of
their own would take a tenth more. What was edited or taken back after it was stored is read again from the history.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple
from zlib import crc32

import numpy as np

from familiar_connect.history.rows import TURN_COLUMNS, turn_from_row
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import DELETED, HistoryTurn, TurnMark
from familiar_connect.memory.index.chunking import split_long, split_sentences
from familiar_connect.memory.index.protocols import EmbeddingModel, RecallScope
from familiar_connect.memory.index.query import content_words, words_to_index
from familiar_connect.memory.index.ranking import MAX_PLACE, Floats, UnitFacts, unit_number, weigh_named
from familiar_connect.memory.index.storage import (
    BLOCK_ROWS,
    LOAD_ROWS,
    OPENED_ROWS,
    DerivedFile,
    IndexUnavailable,
    Numbers,
    Vector,
    Vectors,
    read_ids,
)
from familiar_connect.memory.index.vectors.blobs import Bits, from_small_blobs, to_small_blobs
from familiar_connect.memory.index.vectors.fact_columns import LOAD_FACTS, Codes, FactColumns
from familiar_connect.memory.index.vectors.passage_rows import split_blobs, to_equal_blobs
from familiar_connect.memory.index.vectors.word_index import delete_words, insert_words, to_row, word_table
from familiar_connect.memory.index.vectors.word_vectors import TERMS_TABLE, number_words, release_words
from familiar_connect.support.sqlite import Row

STRETCH_GAP_S = 3600.0
"""After this long a silence the next thing said in a channel begins another conversation."""
MAX_STRETCH = 200
ROW_BITS = 8
"""Of the number of a unit in the word index; they count beyond the longest conversation."""
PIECE_CHARS = 1_200
"""A longer turn is several units: a page has more than one thing to say."""
LONG_TURN_CHARS = 100_000
"""A turn from this length on is cut once for all the batches in which its pieces are embedded."""
DAY_S = 86_400
SENTENCE_BITS = 3
MAX_SENTENCES = 1 << SENTENCE_BITS
"""Sentences of one unit that have vectors."""
LEAST_SENTENCE_WORDS = 2
"""Words that say something; with fewer a sentence ("Sounds great!") is near everything and nothing."""
SENTENCES_HELD = 100_000
"""Sentences with vectors (40 MB at 384 numbers each), the newest."""
SENTENCES_OF = 600
"""Units, the nearest as a whole, whose sentences are looked at for one question."""
_MOST_COUNTED = 1 << 16
"""Words of a unit that are told apart by their number."""
STATE = "SELECT last_turn_id, turns_seen, units, stretches, (SELECT value FROM meta WHERE key = 'revised') FROM totals"
"""Another row after every change to the units."""
READ_FACTS = (
    "SELECT u.id, u.turn_id, c.channel_id, s.key, u.said_at, u.word_count, u.asks FROM units u"
    " CROSS JOIN channels c ON c.id = u.channel CROSS JOIN speakers s ON s.id = u.speaker"
    " WHERE u.id > ? ORDER BY u.id LIMIT ?"
)
READ_UNITS = (
    "SELECT u.id, u.turn_id, c.channel_id, u.piece, u.mark FROM units u CROSS JOIN channels c ON c.id = u.channel"
    " WHERE u.id IN (SELECT value FROM json_each(?)) ORDER BY u.id"
)
READ_TURNS = 500
SEARCHED_MARKS = (None, TurnMark.belated)
READ_SAID = (
    "SELECT id, CASE WHEN role = 'assistant' THEN COALESCE(view, content) ELSE content END FROM turns"
    " WHERE +familiar_id = ? AND id IN (SELECT value FROM json_each(?))"
)
"""The actual words of turns."""


class NewUnit(NamedTuple):
    """A piece of what was said, by its place among the pieces, under the number it gets."""

    number: int
    said: HistoryTurn
    piece: int
    text: str


def create_tables(connection: sqlite3.Connection) -> None:
    for statement in (
        # What was said stands in the history; here are the numbers of its words, and a mark that shows an edit.
        "CREATE TABLE units (id INTEGER PRIMARY KEY, turn_id INTEGER, piece INTEGER, channel INTEGER, speaker INTEGER,"
        " said_at REAL, word_count INTEGER, asks INTEGER, mark INTEGER, words BLOB, vector BLOB, sentences BLOB)",
        "CREATE VIEW vectors AS SELECT id, vector FROM units WHERE vector IS NOT NULL",
        TERMS_TABLE,
        "CREATE TABLE channels (id INTEGER PRIMARY KEY, channel_id INTEGER UNIQUE)",
        "CREATE TABLE speakers (id INTEGER PRIMARY KEY, key TEXT UNIQUE, names TEXT)",
        "CREATE TABLE stretches (channel_id INTEGER PRIMARY KEY, stretch INTEGER, next_place INTEGER, last_at REAL)",
        "CREATE TABLE totals (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), last_turn_id INTEGER,"
        " turns_seen INTEGER, units INTEGER, stretches INTEGER, last_term INTEGER)",
        "INSERT INTO totals VALUES (1, 0, 0, 0, 0, 0)",
        word_table("words"),
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
                    self._columns.change((), [self._code(row) for row in rows])
                self._level = level

    def follow(self, before: Row, after: Row, dropped: Sequence[int], added: Sequence[Row]) -> None:
        """What one transaction of this index changed, which led from one `STATE` to another."""
        with self._lock:
            if self._level == self._level_of(before):
                self._columns.change(dropped, [self._code(row) for row in added])
                self._level = self._level_of(after)

    def ids(self) -> Numbers:
        """The numbers of all units, in order, as they were at the last look."""
        return self._columns.ids()

    def all_turns(self) -> tuple[Numbers, Numbers]:
        """The numbers of all units, in order, and the turn of each."""
        self.catch_up()
        rows = self._columns.of(self._columns.ids())
        return rows["unit"], rows["turn"]

    def turns_of(self, units: Sequence[int]) -> dict[int, int]:
        """The turn of each of *units* that there is, in their order."""
        self.catch_up()
        rows = self._columns.of(np.array(sorted(units), dtype=np.int64))
        found = dict(zip(rows["unit"].tolist(), rows["turn"].tolist(), strict=True))
        return {unit: found[unit] for unit in units if unit in found}

    def between(self, start: float, end: float, limit: int) -> Numbers:
        """Units said in a stretch of time, newest first."""
        self.catch_up()
        return self._columns.between(start, end, limit)

    def as_long_on(self, days_and_counts: Iterable[tuple[int, int]], long_from: int, limit: int) -> list[int]:
        """Units said within a day of a day and with as many words as stand beside it, or so many that it is long."""
        self.catch_up()
        wanted = np.array(sorted(set(days_and_counts)), dtype=np.int64).reshape(-1, 2)
        if not len(wanted):
            return []
        days = wanted[:, 0]
        rows = self._columns.of_time((int(days.min()) - 1) * DAY_S, (int(days.max()) + 2) * DAY_S)
        day, words = np.floor(rows["said_at"] / DAY_S).astype(np.int64), rows["words"].astype(np.int64)
        around = np.concatenate([days - 1, days, days + 1])
        pairs = around * _MOST_COUNTED + np.tile(wanted[:, 1], 3).clip(0, _MOST_COUNTED - 1)
        fits = np.isin(day * _MOST_COUNTED + words.clip(0, _MOST_COUNTED - 1), pairs)
        fits |= (words >= long_from) & np.isin(day, around)
        found: list[int] = rows["unit"][fits][:limit].tolist()
        return found

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

    def _code(self, row: Row) -> Row:
        unit, turn_id, channel_id, speaker, *rest = row
        return (unit, turn_id, self._codes.put(("channel", channel_id)), self._codes.put(speaker), *rest)


class UnitTexts:
    """The words of units, which only the history holds."""

    def __init__(self, file: DerivedFile, history: HistoryStore, familiar_id: str) -> None:
        self._file = file
        self._history = history
        self._familiar_id = familiar_id
        self._long: tuple[str, list[str]] | None = None
        """The last very long turn and its pieces, which are embedded a few at a time; let go with the next read."""

    def _split(self, text: str) -> list[str]:
        if len(text) < LONG_TURN_CHARS:
            return split_long(text, PIECE_CHARS)
        long = self._long
        if long is None or long[0] != text:
            long = self._long = (text, split_long(text, PIECE_CHARS))
        return long[1]

    def read(self, units: Sequence[int]) -> list[Row]:
        """`unit, turn_id, channel_id, text` of those of *units* that still read as they were taken in."""
        rows = self._file.read(READ_UNITS, (json.dumps(list(units)),))
        turns = json.dumps(sorted({row[1] for row in rows}))
        said: dict[int, str] = dict(self._history.database.read(READ_SAID, (self._familiar_id, turns)))
        pieces = {turn_id: self._split(text) for turn_id, text in said.items()}
        if self._long is not None and self._long[0] not in said.values():
            self._long = None
        last = {row[1]: row[3] for row in sorted(rows, key=lambda row: int(row[3]))}
        found: list[Row] = []
        for unit, turn_id, channel_id, piece, mark in rows:
            text = piece_marked(pieces.get(turn_id, []), piece, mark, may_hold_rest=piece == last[turn_id])
            if text is not None:
                found.append((unit, turn_id, channel_id, text))
        return found


def mark_text(text: str) -> int:
    """A number that is another one for almost any other text."""
    number = crc32(text.encode("utf-8", "replace"))
    return number - (1 << 32) if number >> 31 else number  # signed, it takes four bytes


def piece_marked(pieces: Sequence[str], place: int, mark: int, *, may_hold_rest: bool) -> str | None:
    """The text of a unit that has its place and mark among the *pieces* of what was said; None: that was edited since.

    An edit that made a turn longer left it as many units: the last of them holds all the rest.
    """
    own = pieces[place] if place < len(pieces) else ""
    if mark_text(own) == mark:
        return own
    rest = "".join(pieces[place:]) if may_hold_rest else ""
    return rest if rest and mark_text(rest) == mark else None


def insert_units(connection: sqlite3.Connection, units: Sequence[NewUnit]) -> list[Row]:
    """Pieces of what was said, whose speakers are in already; what `TurnFacts` holds of them."""
    words = {unit.number: words_to_index(unit.text) for unit in units}
    kept = number_words(connection, words)
    found: list[Row] = []
    for unit, said, piece, text in units:
        speaker = said.author.canonical_key if said.author else ""
        moment, count = said.timestamp.timestamp(), sum(1 for _ in content_words(text))
        asks = text.rstrip().endswith("?")
        connection.execute("INSERT OR IGNORE INTO channels (channel_id) VALUES (?)", (said.channel_id,))
        connection.execute(
            "INSERT INTO units VALUES (?, ?, ?, (SELECT id FROM channels WHERE channel_id = ?),"
            " (SELECT id FROM speakers WHERE key = ?), ?, ?, ?, ?, ?, NULL, NULL)",
            (unit, said.id, piece, said.channel_id, speaker, moment, count, asks, mark_text(text), kept[unit]),
        )
        found.append((unit, said.id, said.channel_id, speaker, moment, count, asks))
    insert_words(connection, "words", ((to_row(unit, ROW_BITS), each) for unit, each in words.items()))
    return found


def delete_units(connection: sqlite3.Connection, gone: Sequence[int]) -> None:
    """Remove units; words that nobody else said stay until `drop_unheld`."""
    select = "SELECT id, words FROM units WHERE id IN (SELECT value FROM json_each(?))"
    kept = connection.execute(select, (json.dumps(list(gone)),)).fetchall()
    words = release_words(connection, kept)
    delete_words(connection, "words", ((to_row(unit, ROW_BITS), each) for unit, each in words.items()))
    connection.executemany("DELETE FROM units WHERE id = ?", [(unit,) for unit in gone])
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
        stored = read_ids(self._file, "SELECT id FROM units WHERE sentences NOT NULL")
        held = np.unique(self.ids() >> SENTENCE_BITS)
        self.drop_units(np.setdiff1d(held, stored, assume_unique=True))
        missing = np.setdiff1d(stored, held, assume_unique=True)
        for start in range(0, len(missing), LOAD_ROWS):
            first, last = int(missing[start]), int(missing[start : start + LOAD_ROWS][-1])
            select = "SELECT id, sentences FROM units WHERE id BETWEEN ? AND ? AND sentences NOT NULL"
            numbers: list[int] = []
            blobs: list[bytes] = []
            for unit, joined in self._file.read(select, (first, last)):
                count = joined[0]
                numbers += [(unit << SENTENCE_BITS) | place for place in range(count)]
                blobs += split_blobs(joined[1:], count)
            self.put(numbers, from_small_blobs(blobs, self.dim))

    def drop_units(self, units: Sequence[int] | Numbers) -> None:
        """Take away the sentences of *units*."""
        held = self.ids()
        self.drop(held[np.isin(held >> SENTENCE_BITS, np.asarray(units, dtype=np.int64))].tolist())

    def trim(self) -> None:
        """Let go of the oldest where there are too many, here and in the file."""
        old = self.ids()[:-SENTENCES_HELD]
        if len(old):
            with self._file.transaction() as connection:
                drop_sentences = "UPDATE units SET sentences = NULL WHERE id <= ? AND sentences NOT NULL"
                connection.execute(drop_sentences, (int(old[-1]) >> SENTENCE_BITS,))
            self.drop_units(np.unique(old >> SENTENCE_BITS))

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


def embed_units(model: EmbeddingModel, rows: Sequence[tuple[int, str]]) -> tuple[Vector, list[int], Vector]:
    """Vectors of the texts in *rows*, which are `unit, text`, and the numbers and vectors of their sentences."""
    numbers: list[int] = []
    texts: list[str] = []
    for unit, text in rows:
        for place, sentence in enumerate(_telling_sentences(text)):
            numbers.append((unit << SENTENCE_BITS) | place)
            texts.append(sentence)
    found = model.embed([text for _, text in rows] + texts)
    return found[: len(rows)], numbers, found[len(rows) :]


def insert_vectors(connection: sqlite3.Connection, units: Sequence[int], vectors: Vector, bits: Bits) -> Vector:
    """Put in the vectors of *units*; what is stored of them."""
    blobs = to_small_blobs(vectors, bits)
    rows = zip(blobs, units, strict=True)
    connection.executemany("UPDATE units SET vector = ?, sentences = NULL WHERE id = ?", rows)
    return from_small_blobs(blobs, vectors.shape[1])


def insert_sentences(connection: sqlite3.Connection, numbers: Sequence[int], vectors: Vector, bits: Bits) -> Vector:
    """Put in the vectors of the sentences *numbers*, all those of a unit together; what is stored of them."""
    stored: list[bytes] = []
    for unit, places in groupby(range(len(numbers)), key=lambda place: numbers[place] >> SENTENCE_BITS):
        blobs = to_equal_blobs(vectors[list(places)], bits)
        joined = bytes([len(blobs)]) + b"".join(blobs)
        connection.execute("UPDATE units SET sentences = ? WHERE id = ?", (joined, unit))
        stored += blobs
    return from_small_blobs(stored, vectors.shape[1])


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


def newest_edit_mark(history: HistoryStore) -> str:
    """A mark that is another one after every change to a turn; empty while nothing was ever changed."""
    rows = history.database.read("SELECT rowid, turn_id, changed_at FROM turn_revisions ORDER BY rowid DESC LIMIT 1")
    return ":".join(map(str, rows[0])) if rows else ""


def read_edited_turns(history: HistoryStore, familiar_id: str, up_to: int) -> Iterator[HistoryTurn]:
    """Every turn up to an id that once read differently, as it reads now."""
    rows = history.database.read("SELECT DISTINCT turn_id FROM turn_revisions WHERE turn_id <= ?", (up_to,))
    ids = [row[0] for row in rows]
    for start in range(0, len(ids), READ_TURNS):
        found = history.database.read(
            f"SELECT {TURN_COLUMNS} FROM turns WHERE familiar_id = ? AND id IN (SELECT value FROM json_each(?))",
            (familiar_id, json.dumps(ids[start : start + READ_TURNS])),
        )
        yield from map(turn_from_row, found)


def has_words(said: HistoryTurn) -> bool:
    """Whether there are words to find in the turn: of one that was deleted, hidden or undone none, of a copy no new."""
    if said.mark not in SEARCHED_MARKS or said.copy_of is not None:
        return False
    return bool(said.actual_words.strip()) and said.actual_words != DELETED
