"""Chunks as they are stored, and as other programs read them.

A vector takes six bits for each number, a fifth of its floats, and comes back to a few thousandths; the text is short
(`short_text`). Whoever else reads the file finds the floats and the text all the same: `chunks` is a view that
makes them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from familiar_connect.memory.index.chunking import PreparedChunk
from familiar_connect.memory.index.storage import Vector
from familiar_connect.memory.index.vectors.short_text import shorten_text, sql_to_read

LEAST_SIX_BIT_DIM = 64
"""With fewer numbers there is nothing to be gained."""
MOST_IN_SIX_BITS = 31
CHUNK_STEPS = 4 * MOST_IN_SIX_BITS
"""What the largest number counts in eight bits and where it is searched: six bits are not rounded once more there."""
LEAST_SIX_BIT_LIKENESS = 0.9991
"""The least cosine of a vector and what six bits of each number tell of it; usual is 0.9996."""
_EVERY_BYTE = f"x'{bytes(range(256)).hex()}'"
_FOUR_BYTES = " || ".join(f"substr({_EVERY_BYTE}, (number >> {at} & 255) + 1, 1)" for at in (0, 8, 16, 24))
_EXPONENT = " ".join(f"WHEN size >= 1.0 / {1 << halvings} THEN {-halvings}" for halvings in range(21))
_BYTE_AT = f"instr({_EVERY_BYTE}, substr(c.counts, %s, 1)) - 1"
_FIRST, _SECOND = _BYTE_AT % "6 * place / 8 + 1", _BYTE_AT % "6 * place / 8 + 2"
_SIX_BITS = f"(({_FIRST} << 8) + max(0, {_SECOND}) >> 10 - 6 * place % 8 & 63) - 32"
"""The whole number at a place, from the two bytes that hold its six bits."""
_FLOATS = f"""
    WITH RECURSIVE
        places (place) AS (SELECT 0 UNION ALL SELECT place + 1 FROM places
            WHERE place + 1 < length(c.counts) * 8 / CASE WHEN c.step <= 0 THEN 8 ELSE 6 END),
        steps (count) AS MATERIALIZED (SELECT CASE WHEN c.step <= 0 THEN
            ({_BYTE_AT % "place + 1"} + 128) % 256 - 128 ELSE {_SIX_BITS} END FROM places),
        sizes (sign, size) AS MATERIALIZED (SELECT count < 0, abs(c.step) * abs(count) FROM steps),
        powers (sign, size, exponent) AS MATERIALIZED (SELECT sign, size, CASE {_EXPONENT} END FROM sizes),
        bits (number) AS MATERIALIZED (SELECT COALESCE((sign << 31) + ((127 + exponent) << 23)
            + CAST((size * (1 << -exponent) - 1) * 8388608 + 0.5 AS INTEGER), 0) FROM powers)
    SELECT CAST(group_concat({_FOUR_BYTES}, '') AS BLOB) FROM bits"""
"""The vector of the chunk `c` as floats of four bytes, the lowest first: sign, power of two and the rest after it."""
TABLES = (
    # What is known of the passages of a file stands in the row of its first chunk, see `passage_rows`.
    "CREATE TABLE stored_chunks (id INTEGER PRIMARY KEY, rel_path TEXT, heading_path TEXT, char_start INTEGER,"
    " char_end INTEGER, token_count INTEGER, step REAL, count INTEGER, labels TEXT, apart TEXT, facts BLOB,"
    " counts BLOB, text, vectors BLOB)",
    "CREATE VIEW chunks AS SELECT id, rel_path, heading_path, char_start, char_end, token_count,"
    f" {sql_to_read('c.text', _EVERY_BYTE)} AS text, ({_FLOATS}) AS vector FROM stored_chunks c",
)


def insert_chunk(connection: sqlite3.Connection, number: int, chunk: PreparedChunk, counts: bytes, dim: int) -> None:
    """Put in one chunk and its vector, as `to_counts` made it; a step that is not above nothing says: in bytes."""
    known = (chunk.rel_path, chunk.heading_path, chunk.char_start, chunk.char_end, chunk.token_count)
    step = float(_steps(_open([counts], dim))[0, 0])
    connection.execute(
        "INSERT INTO stored_chunks (id, rel_path, heading_path, char_start, char_end, token_count, step, counts, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (number, *known, -step if len(counts) == dim else step, counts, shorten_text(chunk.text)),
    )


def to_counts(vector: Vector) -> bytes:
    """*vector* in whole numbers of six bits, or of eight where those tell too little of it.

    It has length one, so that nobody need know the step they count.
    """
    largest = max(float(np.abs(vector).max(initial=0.0)), 1e-12)
    few = np.asarray(np.rint(vector * (MOST_IN_SIX_BITS / largest)), dtype=np.int8)
    length = float(np.linalg.norm(few.astype(np.float64)))
    if (
        len(vector) >= LEAST_SIX_BIT_DIM
        and len(vector) % 4 == 0
        and float(vector @ few) >= LEAST_SIX_BIT_LIKENESS * length > 0
    ):
        bits = np.unpackbits((few + 32).astype(np.uint8)[:, None], axis=1)[:, 2:]
        return np.packbits(bits.reshape(-1)).tobytes()
    return np.asarray(np.rint(vector * (CHUNK_STEPS / largest)), dtype=np.int8).tobytes()


def from_counts(blobs: Sequence[bytes], dim: int) -> Vector:
    """Vectors stored by `to_counts` as one matrix."""
    counts = _open(blobs, dim)
    return np.asarray(counts * _steps(counts), dtype=np.float32)


def _open(blobs: Sequence[bytes], dim: int) -> NDArray[np.int8]:
    """The whole numbers in *blobs*; how long each is tells of how many bits they are."""
    found = np.empty((len(blobs), dim), dtype=np.int8)
    is_short = np.fromiter((len(blob) < dim for blob in blobs), dtype=np.bool_, count=len(blobs))
    for kind in (False, True):
        joined = b"".join(blobs[at] for at in np.flatnonzero(is_short == kind).tolist())
        rows = np.frombuffer(joined, dtype=np.uint8).reshape(int((is_short == kind).sum()), -1 if joined else 0)
        if kind and joined:
            sixes = np.unpackbits(rows, axis=1).reshape(-1, 6)
            rows = np.packbits(np.pad(sixes, ((0, 0), (2, 0))), axis=1).reshape(len(rows), dim) - np.uint8(32)
        if joined:
            found[is_short == kind] = rows.view(np.int8)
    return found


def _steps(counts: NDArray[np.int8]) -> NDArray[np.float64]:
    """What each row of *counts* counts, for a length of one; nothing where there is nothing."""
    lengths = np.linalg.norm(counts.astype(np.float64), axis=1, keepdims=True)
    return np.where(lengths > 0, 1.0 / np.maximum(lengths, 1.0), 0.0)
