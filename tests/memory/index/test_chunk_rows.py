"""The vectors of pieces of files take few bits in the index, and are what they were, for us and for other programs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.index.chunking import PreparedChunk
from familiar_connect.memory.index.storage import Vector
from familiar_connect.memory.index.vectors.chunk_rows import TABLES, from_counts, insert_chunk, to_counts
from familiar_connect.memory.index.vectors.passage_rows import SMALL, TINY, WIDE, _pack, _unpack_facts
from familiar_connect.memory.index.vectors.short_text import fill_table

CHUNK = PreparedChunk("topics/mill.md", "Mill", "The heron slept on it.", 0, 22, 6, 0.0)


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as made:
        fill_table(made)
        for statement in TABLES:
            made.execute(statement)
        yield made


def of_length_one(vector: Vector) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


@given(st.integers(0, 2**32 - 1), st.sampled_from([64, 384, 768]))
def test_a_vector_of_many_numbers_takes_six_bits_for_each(seed: int, dim: int) -> None:
    """And comes back nearly as it was."""
    vector = of_length_one(np.random.default_rng(seed).standard_normal(dim).astype(np.float32))
    stored = to_counts(vector)

    assert len(stored) in (dim * 6 // 8, dim)
    assert float(from_counts([stored], dim)[0] @ vector) >= 0.999


def test_a_vector_of_few_large_numbers_takes_eight_bits_for_each() -> None:
    """Six would lose the many small ones beside them."""
    vector = np.full(384, 0.02, dtype=np.float32)
    vector[7] = 0.92
    vector = of_length_one(vector)
    stored = to_counts(vector)

    assert len(stored) == 384
    assert float(from_counts([stored], 384)[0] @ vector) >= 0.999


@pytest.mark.parametrize("dim", [3, 8, 63, 66, 384, 512])
def test_another_program_reads_floats(database: sqlite3.Connection, dim: int) -> None:
    """Of length one and as we read them ourselves, in six bits of each number or eight; and nothing as nothing."""
    spread = of_length_one(np.random.default_rng(dim).standard_normal(dim).astype(np.float32))
    sharp = of_length_one(np.where(np.arange(dim) == 1, 1.0, -0.02).astype(np.float32))
    stored = [to_counts(spread), to_counts(sharp), to_counts(np.zeros(dim, dtype=np.float32))]
    for number, blob in enumerate(stored, 1):
        insert_chunk(database, number, CHUNK, blob, dim)

    rows = database.execute("SELECT vector FROM chunks ORDER BY id").fetchall()
    read = np.stack([np.frombuffer(blob, dtype="<f4") for (blob,) in rows])

    assert read == pytest.approx(from_counts(stored, dim), abs=1e-6)
    assert np.linalg.norm(read, axis=1) == pytest.approx([1.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ([(0, 3, 40, 9), (0, 46, 255, 12), (1, 301, 20, 4)], TINY),
        ([(0, 3, 40, 9), (1, 3, 40, 9)], SMALL),
        ([(0, 70_000, 40, 9)], WIDE),
    ],
)
def test_what_is_known_of_passages_takes_as_few_bytes_as_hold_it(
    facts: list[tuple[int, int, int, int]], kind: np.dtype[np.void]
) -> None:
    """In a usual file they follow each other; one may begin before the end of the last, or far into its chunk."""
    packed = _pack(facts)

    assert len(packed) == len(facts) * kind.itemsize
    assert _unpack_facts(packed, len(facts)) == facts
