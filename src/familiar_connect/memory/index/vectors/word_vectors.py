"""The vocabulary of an index: its words under small numbers, how many units hold each, and what each means.

A unit keeps the numbers of its words, from which they can be said again when it is taken out. A word that no unit holds
any more goes, and its vector with it. Numbers are never given twice.

A question asks for an instrument and somebody spoke of a cello. The vector of a whole turn tells that only where the
turn says little else; word by word it shows in any turn. Each word is embedded once, when it is first met, and its
vector stays with it in the vocabulary of the index.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from familiar_connect.memory.index.protocols import EmbeddingModel
from familiar_connect.memory.index.query import words_to_index
from familiar_connect.memory.index.ranking import FADES, REACH, Floats, measure_rarity, merge_numbers
from familiar_connect.memory.index.storage import DerivedFile, Numbers, Vector, Vectors, read_ids
from familiar_connect.memory.index.vectors.blobs import Bits, from_small_blobs, to_small_blobs
from familiar_connect.support.text import without_surrogates

TERMS_TABLE = (
    "CREATE TABLE terms (word TEXT PRIMARY KEY, id INTEGER NOT NULL, units INTEGER NOT NULL, vector BLOB) WITHOUT ROWID"
)
_SEVEN_BITS = 0x7F
MAX_WORDS = 30_000
"""Words with vectors (12 MB at 384 numbers each); those met first."""
VECTOR_BITS: Bits = 1
"""Of each number of a vector. With two, no more was found."""
WORDS_OF_UNIT = 24
"""Words of one unit that are looked at, the first that say something."""
LEAST_LIKENESS = 0.3
"""The cosine of two words from which on one may be meant by the other."""
NUMBER_BYTES = 4
MOST_PRODUCT = 250_000
"""Multiplications in one product: a larger one is shared by threads, which goes on costing after it."""


@dataclass(frozen=True)
class NewWords:
    """The words of new units, and vectors for those that had none."""

    of_units: dict[int, bytes]
    words: list[str]
    numbers: list[int]
    blobs: list[bytes]


class WordVectors(Vectors):
    """The words of one index by their meaning, and which unit holds which. Safe to use from any thread."""

    def __init__(self, file: DerivedFile, dim: int) -> None:
        super().__init__(dim)
        self._file = file
        self._of_units: dict[int, bytes] = {}
        """The numbers of each unit's words, four bytes each."""
        self._holding: Counter[int] = Counter()
        """How many units hold a word, by its number."""

    def load(self) -> None:
        """Hold what the file holds, and no others."""
        self._of_units, self._holding = {}, Counter()
        rows = self._file.read("SELECT id, words FROM units WHERE vector NOT NULL")
        self._note({unit: _first_numbers(unpack_numbers(words)) for unit, words in rows})
        stored, held = read_ids(self._file, "SELECT id FROM terms WHERE vector IS NOT NULL"), self.ids()
        self.drop(np.setdiff1d(held, stored, assume_unique=True).tolist())
        missing = np.setdiff1d(stored, held, assume_unique=True).tolist()
        if missing:
            select = "SELECT id, vector FROM terms WHERE id IN (SELECT value FROM json_each(?)) AND vector IS NOT NULL"
            rows = self._file.read(select, (json.dumps(missing),))
            self.put([row[0] for row in rows], from_small_blobs([row[1] for row in rows], self.dim))

    def embed_new(self, model: EmbeddingModel, units: Sequence[tuple[int, str, bytes]]) -> NewWords:
        """The words of *units*, each given with its text and the numbers it keeps; vectors for those that have none."""
        of_units: dict[int, bytes] = {}
        numbered: dict[int, str] = {}
        for unit, text, kept in units:
            numbers = unpack_numbers(kept)
            numbered |= zip(numbers[:WORDS_OF_UNIT], words_to_index(text), strict=False)
            of_units[unit] = _first_numbers(numbers)
        wanted = np.array(sorted(numbered), dtype=np.int64)
        with self._lock:
            new = wanted[self._places(wanted) < 0][: max(0, MAX_WORDS - len(self))].tolist()
        words = [numbered[number] for number in new]
        return NewWords(of_units, words, new, to_small_blobs(model.embed(words), VECTOR_BITS) if words else [])

    def insert(self, connection: sqlite3.Connection, new: NewWords) -> None:
        """Put *new* into the file, inside the caller's transaction."""
        rows = zip(new.blobs, new.words, strict=True)
        connection.executemany("UPDATE terms SET vector = ? WHERE word = ?", rows)

    def hold(self, new: NewWords) -> None:
        """Hold *new* too, once it is in the file."""
        self.put(new.numbers, from_small_blobs(new.blobs, self.dim))
        self.drop_units(new.of_units)
        self._note(new.of_units)

    def _note(self, of_units: dict[int, bytes]) -> None:
        self._of_units |= of_units
        self._holding.update(_numbers(b"".join(of_units.values())).tolist())

    def drop_units(self, units: Iterable[int]) -> None:
        """Forget which words *units* held."""
        gone = b"".join(self._of_units.pop(unit, b"") for unit in units)
        numbers = _numbers(gone).tolist()
        self._holding.subtract(numbers)
        for number in {number for number in numbers if self._holding[number] <= 0}:
            del self._holding[number]

    def count_bytes(self) -> int:
        """About how much memory the words of the units take, beside the vectors."""
        texts = sum(map(sys.getsizeof, self._of_units.values()))
        return texts + sys.getsizeof(self._of_units) + sys.getsizeof(self._holding)

    def clear(self) -> None:
        super().clear()
        self._of_units, self._holding = {}, Counter()

    def vectors_of(self, words: Iterable[str]) -> dict[str, Vector]:
        """The vectors of those of *words* that were said."""
        numbers = self._numbers_of(words)
        with self._lock:
            places = self._places(np.array(list(numbers.values()), dtype=np.int64)).tolist()
            return {word: self._open([place])[0] for word, place in zip(numbers, places, strict=True) if place >= 0}

    def _numbers_of(self, words: Iterable[str]) -> dict[str, int]:
        """The numbers of those of *words* that were said."""
        select = "SELECT word, id FROM terms WHERE word IN (SELECT value FROM json_each(?))"
        return dict(self._file.read(select, (json.dumps([without_surrogates(word) for word in words]),)))

    def score(self, asked: Mapping[str, Vector], units: Numbers) -> tuple[Floats, Floats]:
        """How far the words of a question are met by words like them in each of *units*, and there or right beside it.

        *asked* are the words with their vectors; the rarer one is, the more it counts. 1 is every word itself, in the
        unit itself, and no number at all stands for a unit whose words are not known.
        """
        if not len(units) or not asked or not len(self):
            return np.full(len(units), np.nan), np.full(len(units), np.nan)
        numbers = merge_numbers([units + step for step in range(-REACH, REACH + 1)])
        held = [self._of_units.get(number, b"") for number in numbers.tolist()]
        lengths = np.fromiter(map(len, held), dtype=np.int64, count=len(held)) // NUMBER_BYTES
        like = self._likeness(_numbers(b"".join(held)), np.stack(list(asked.values())))
        met = np.zeros((len(numbers), len(asked)), dtype=np.float32)
        if len(like):
            some = lengths > 0
            met[some] = np.maximum.reduceat(like, (np.cumsum(lengths) - lengths)[some], axis=0)
        met = np.clip((met - LEAST_LIKENESS) / (1.0 - LEAST_LIKENESS), 0.0, 1.0)
        known = self._numbers_of(asked)
        holding = [self._holding[known[word]] if word in known else 0 for word in asked]
        weights = np.array([measure_rarity(count, len(self._of_units)) for count in holding])
        shares = weights / weights.sum()
        at = np.searchsorted(numbers, units)
        unknown = np.where(lengths[at] > 0, 0.0, np.nan)
        return met[at] @ shares + unknown, _best_in_reach(numbers, met, units) @ shares + unknown

    def _likeness(self, words: Numbers, asked: Vector) -> Vector:
        """The cosine of each of *words*, given by number, with each word *asked* for; 0 for one without a vector."""
        with self._lock:
            places = self._places(words)
            is_used = np.zeros(len(self) + 1, dtype=np.bool_)
            is_used[places] = True  # a word without a vector has place -1: the last row, which is no word's
            used = np.flatnonzero(is_used[:-1])
            like = np.zeros((len(self) + 1, len(asked)), dtype=np.float32)
            handful = max(1, MOST_PRODUCT // (self.dim * len(asked)))
            for start in range(0, len(used), handful):
                some = used[start : start + handful]
                stored = self._blocks[0][some].astype(np.float32)
                like[some] = stored @ asked.T * self._steps[some][:, None]
        return like[places]

    def _open(self, places: Sequence[int] | Numbers) -> Vector:
        """The rows at *places* as floats; there are too few of them for a second block."""
        return np.asarray(self._blocks[0][places].astype(np.float32) * self._steps[places][:, None])


def _best_in_reach(numbers: Numbers, met: Vector, units: Numbers) -> Vector:
    """For each of *units* the best of *met* in reach, word by word, less with each step away."""
    best = np.zeros((len(units), met.shape[1]), dtype=np.float32)
    for step in range(-REACH, REACH + 1):  # all that is in reach is among the numbers
        best = np.maximum(best, met[np.searchsorted(numbers, units + step)] * np.float32(1.0 - FADES * abs(step)))
    return best


def _first_numbers(numbers: Sequence[int]) -> bytes:
    """The first words of a unit, as they are held."""
    return np.array(numbers[:WORDS_OF_UNIT], dtype="<u4").tobytes()


def _numbers(words: bytes) -> Numbers:
    return np.frombuffer(words, dtype="<u4").astype(np.int64)


def pack_numbers(numbers: Sequence[int]) -> bytes:
    """Numbers of words as a unit keeps them: seven bits to a byte, the lowest first; the last byte has its top bit set.

    Words that are often said were met early and have small numbers.
    """
    packed = bytearray()
    for number in numbers:
        while number > _SEVEN_BITS:
            packed.append(number & _SEVEN_BITS)
            number >>= 7
        packed.append(number | 0x80)
    return bytes(packed)


def unpack_numbers(blob: bytes) -> list[int]:
    """What `pack_numbers` was given."""
    numbers: list[int] = []
    number = shift = 0
    for byte in blob:
        number |= (byte & _SEVEN_BITS) << shift
        shift += 7
        if byte > _SEVEN_BITS:
            numbers.append(number)
            number = shift = 0
    return numbers


def number_words(connection: sqlite3.Connection, words_of: Mapping[int, Sequence[str]]) -> dict[int, bytes]:
    """Count the words of new units, each given once for a unit, and give numbers to new ones; what each unit keeps."""
    counts = Counter(word for words in words_of.values() for word in words)
    known: dict[str, int] = dict(
        connection.execute(
            "SELECT word, id FROM terms WHERE word IN (SELECT value FROM json_each(?))", (json.dumps(list(counts)),)
        )
    )
    new = [word for word in counts if word not in known]
    if new:
        (last,) = connection.execute(
            "UPDATE totals SET last_term = last_term + ? RETURNING last_term", (len(new),)
        ).fetchone()
        known |= {word: last - len(new) + at for at, word in enumerate(new, 1)}
        connection.executemany("INSERT INTO terms VALUES (?, ?, 0, NULL)", ((word, known[word]) for word in new))
    connection.executemany(
        "UPDATE terms SET units = units + ? WHERE word = ?", ((count, word) for word, count in counts.items())
    )
    return {unit: pack_numbers([known[word] for word in words]) for unit, words in words_of.items()}


def release_words(connection: sqlite3.Connection, kept: Iterable[tuple[int, bytes]]) -> dict[int, list[str]]:
    """The words of units that go, given with what each kept; they are no longer counted. See `drop_unheld`."""
    numbers = {unit: unpack_numbers(blob) for unit, blob in kept}
    counts = Counter(number for each in numbers.values() for number in each)
    words: dict[int, str] = dict(
        connection.execute(
            "SELECT id, word FROM terms WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(counts)),)
        )
    )
    connection.executemany(
        "UPDATE terms SET units = units - ? WHERE word = ?",
        ((count, words[number]) for number, count in counts.items() if number in words),
    )
    return {unit: [words[number] for number in each if number in words] for unit, each in numbers.items()}


def drop_unheld(connection: sqlite3.Connection) -> None:
    """Forget the words that no unit holds, once all that came in their stead is in: they need no new vector then."""
    connection.execute("DELETE FROM terms WHERE units <= 0")
