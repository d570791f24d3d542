"""Vectors held as bytes: their cosines are those of the vectors, however many there are and however they came."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.index import storage
from familiar_connect.memory.index.storage import DerivedFile, Vectors
from familiar_connect.memory.index.turn_rows import SENTENCE_BITS, SentenceVectors, create_tables

DIM = 8
OFF_BY = 0.01


def unit_rows(count: int, seed: int) -> storage.Vector:
    rows = np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


@given(st.integers(0, 700), st.sets(st.integers(0, 699), max_size=300), st.integers(0, 2**32 - 1))
def test_cosines_are_those_of_the_vectors_whatever_came_and_went(count: int, dropped: set[int], seed: int) -> None:
    """Whole handfuls, the rest of one, and rows that moved to where others were."""
    rows, vectors = unit_rows(count + 1, seed), Vectors(DIM)
    vectors.put(range(count), rows[:count])
    vectors.drop(dropped)

    near = vectors.compare(rows[count])

    left = [number for number in range(count) if number not in dropped]
    assert near.ids.tolist() == left
    assert near.cosines == pytest.approx(rows[left] @ rows[count], abs=OFF_BY)


@pytest.mark.parametrize("count", [storage.OPENED_ROWS, 2 * storage.OPENED_ROWS + 1])
def test_rows_in_several_blocks_are_all_compared(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that is full, and one that has just begun."""
    monkeypatch.setattr(storage, "BLOCK_ROWS", storage.OPENED_ROWS)
    monkeypatch.setattr(storage, "FIRST_ROWS", storage.OPENED_ROWS)
    rows, vectors = unit_rows(count, 7), Vectors(DIM)
    vectors.put(range(count), rows)

    assert vectors.compare(rows[0]).cosines == pytest.approx(rows @ rows[0], abs=OFF_BY)


def test_a_vector_of_another_kind_of_number_is_taken_as_it_is() -> None:
    """An embedder of one's own may give long floats."""
    rows, vectors = unit_rows(5, 3), Vectors(DIM)
    vectors.put(range(5), rows)

    assert vectors.compare(rows[1].astype(np.float64)).cosines == pytest.approx(rows @ rows[1], abs=OFF_BY)


def test_the_best_of_more_sentences_than_one_handful_is_found(tmp_path: Path) -> None:
    """Each unit is as near as its best sentence, wherever in the handfuls that is."""
    units, each = 200, 3
    rows = unit_rows(units * each, 11)
    sentences = SentenceVectors(DerivedFile(tmp_path / "turns.sqlite", create=create_tables, identity={}), DIM)
    sentences.put([(unit << SENTENCE_BITS) | place for unit in range(units) for place in range(each)], rows)

    best = sentences.best_of(rows[5], np.arange(units), np.zeros(units))

    assert len(rows) > 2 * storage.OPENED_ROWS
    assert best == pytest.approx((rows @ rows[5]).reshape(units, each).max(axis=1), abs=OFF_BY)
