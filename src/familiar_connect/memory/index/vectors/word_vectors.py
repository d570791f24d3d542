"""Vectors of single words: which words of what was said mean nearly the same as those of a question.

A question asks for an instrument and somebody spoke of a cello. The vector of a whole turn tells that only where the
turn says little else; word by word it shows in any turn. Each word is embedded once, when it is first met, and kept
under a number made from it: the words themselves are nowhere stored.
"""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from familiar_connect.memory.index.protocols import EmbeddingModel
from familiar_connect.memory.index.query import content_words
from familiar_connect.memory.index.ranking import FADES, REACH, Floats, measure_rarity, merge_numbers
from familiar_connect.memory.index.storage import (
    LOAD_ROWS,
    DerivedFile,
    Numbers,
    Vector,
    Vectors,
    read_ids,
)
from familiar_connect.memory.index.vectors.blobs import from_byte_blobs, to_byte_blob
from familiar_connect.support.sqlite import Row

MAX_WORDS = 30_000
"""Words with vectors (12 MB at 384 numbers each); those met first."""
MAX_WORD_CHARS = 40
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
    numbers: list[int]
    vectors: Vector


class WordVectors(Vectors):
    """The words of one index by their meaning, and which unit holds which. Safe to use from any thread."""

    TABLES = (
        "CREATE TABLE word_vectors (id INTEGER PRIMARY KEY, vector BLOB)",
        "CREATE TABLE unit_words (id INTEGER PRIMARY KEY, words BLOB)",
    )

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
        self._note(dict(self._file.read("SELECT id, words FROM unit_words")))
        stored, held = read_ids(self._file, "SELECT id FROM word_vectors"), self.ids()
        self.drop(np.setdiff1d(held, stored, assume_unique=True).tolist())
        missing = np.setdiff1d(stored, held, assume_unique=True)
        for start in range(0, len(missing), LOAD_ROWS):
            first, last = int(missing[start]), int(missing[start : start + LOAD_ROWS][-1])
            rows = self._file.read("SELECT id, vector FROM word_vectors WHERE id BETWEEN ? AND ?", (first, last))
            self.put([row[0] for row in rows], from_byte_blobs([row[1] for row in rows], self.dim))

    def embed_new(self, model: EmbeddingModel, rows: Sequence[Row]) -> NewWords:
        """The words of the units in *rows*, which are `unit, text`, with vectors for those that have none."""
        words = {unit: _telling_words(text) for unit, text in rows}
        numbered = {_number(word): word for each in words.values() for word in each}
        numbers = np.array(sorted(numbered), dtype=np.int64)
        with self._lock:
            new = numbers[self._places(numbers) < 0][: max(0, MAX_WORDS - len(self))].tolist()
        found = model.embed([numbered[number] for number in new]) if new else np.zeros((0, self.dim), np.float32)
        of_units = {
            unit: np.array([_number(word) for word in each], dtype="<u4").tobytes() for unit, each in words.items()
        }
        return NewWords(of_units, new, found)

    def insert(self, connection: sqlite3.Connection, new: NewWords) -> None:
        """Put *new* into the file, inside the caller's transaction."""
        vectors = zip(new.numbers, map(to_byte_blob, new.vectors), strict=True)
        connection.executemany("INSERT OR REPLACE INTO word_vectors VALUES (?, ?)", vectors)
        connection.executemany("INSERT OR REPLACE INTO unit_words VALUES (?, ?)", new.of_units.items())

    def hold(self, new: NewWords) -> None:
        """Hold *new* too, once it is in the file."""
        self.put(new.numbers, new.vectors)
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
        wanted = list(words)
        with self._lock:
            places = self._places(np.array([_number(word) for word in wanted], dtype=np.int64)).tolist()
            return {word: self._opened([place])[0] for word, place in zip(wanted, places, strict=True) if place >= 0}

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
        weights = np.array([measure_rarity(self._holding[_number(word)], len(self._of_units)) for word in asked])
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

    def _opened(self, places: Sequence[int] | Numbers) -> Vector:
        """The rows at *places* as floats; there are too few of them for a second block."""
        return np.asarray(self._blocks[0][places].astype(np.float32) * self._steps[places][:, None])


def _best_in_reach(numbers: Numbers, met: Vector, units: Numbers) -> Vector:
    """For each of *units* the best of *met* in reach, word by word, less with each step away."""
    best = np.zeros((len(units), met.shape[1]), dtype=np.float32)
    for step in range(-REACH, REACH + 1):  # all that is in reach is among the numbers
        best = np.maximum(best, met[np.searchsorted(numbers, units + step)] * np.float32(1.0 - FADES * abs(step)))
    return best


def _telling_words(text: str) -> list[str]:
    """The first words of *text* that say something, each once."""
    telling = dict.fromkeys(word for word in content_words(text) if len(word) <= MAX_WORD_CHARS)
    return list(telling)[:WORDS_OF_UNIT]


def _numbers(words: bytes) -> Numbers:
    return np.frombuffer(words, dtype="<u4").astype(np.int64)


def _number(word: str) -> int:
    return crc32(word.encode("utf-8", "replace"))
