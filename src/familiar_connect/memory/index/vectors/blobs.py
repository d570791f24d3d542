"""Vectors as they are stored: floats, or, where there are many, as few bits as still tell what is near.

Of a vector of many numbers it is enough to know of each whether it is above or below nothing, and whether far: two
bits. Cosines are off by a sixtieth then, where by a thirtieth with the first bit alone. Where a vector is mostly made
of nothing, or short, that would not do: it is stored as whole numbers of one byte. The length of a blob tells which.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Literal

import numpy as np

from familiar_connect.memory.index.storage import MOST_STEPS, Vector

Bits = Literal[1, 2]
LEAST_DIM = 256
"""With fewer numbers so few bits of each tell too little."""
LEAST_LIKE = {1: 0.7, 2: 0.88}
"""The least cosine of a vector and what is stored of it; usual are 0.8 and 0.94."""
FAR_FROM, NEAR, FAR = 0.982, 0.453, 1.510
"""A number is far from this on, where 1 is usual; and what near and far ones are on average, in a bell curve."""
STEP_BYTES = 2


def to_small_blobs(vectors: Vector, bits: Bits) -> list[bytes]:
    """*vectors* as they are stored where there are many: in *bits* for each number where that tells enough."""
    vectors = np.asarray(vectors, dtype=np.float32)
    dim = vectors.shape[1] if vectors.ndim == 2 else 0
    if dim < LEAST_DIM:
        return [to_byte_blob(vector) for vector in vectors]
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), 1e-12)
    is_far = np.abs(vectors) > FAR_FROM * lengths[:, None] / np.sqrt(np.float32(dim))
    levels = np.where(is_far, np.float32(FAR), np.float32(NEAR)) if bits == 2 else np.ones_like(vectors)
    shared = (levels * np.abs(vectors)).sum(axis=1)
    alike = shared / (lengths * np.linalg.norm(levels, axis=1))
    # The step makes a vector as near to what is stored of it as to itself: cosines are off to both sides alike.
    steps = (lengths * lengths / np.maximum(shared, 1e-12)).astype("<f2")
    planes = [np.packbits(vectors > 0, axis=1), np.packbits(is_far, axis=1)][:bits]
    rows = np.concatenate(planes, axis=1)
    return [
        step.tobytes() + row.tobytes() if like >= LEAST_LIKE[bits] else to_byte_blob(vector)
        for step, row, like, vector in zip(steps, rows, alike, vectors, strict=True)
    ]


def from_small_blobs(blobs: Sequence[bytes], dim: int) -> Vector:
    """Vectors stored by `to_small_blobs` as one matrix, in however many bits each of them is."""
    lengths = np.fromiter(map(len, blobs), dtype=np.int64, count=len(blobs))
    found = np.empty((len(blobs), dim), dtype=np.float32)
    plane = (dim + 7) // 8
    left = np.ones(len(blobs), dtype=np.bool_)
    for bits in (1, 2):
        is_so = (lengths == STEP_BYTES + bits * plane) & left
        joined = b"".join(blobs[at] for at in np.flatnonzero(is_so).tolist())
        rows = np.frombuffer(joined, dtype=np.uint8).reshape(-1, STEP_BYTES + bits * plane)
        steps = np.ascontiguousarray(rows[:, :STEP_BYTES]).view("<f2").astype(np.float32)
        signs = np.unpackbits(rows[:, STEP_BYTES : STEP_BYTES + plane], axis=1, count=dim)
        values = (2.0 * signs.astype(np.float32) - 1.0) * steps
        if bits == 2:
            is_far = np.unpackbits(rows[:, STEP_BYTES + plane :], axis=1, count=dim).astype(np.bool_)
            values *= np.where(is_far, np.float32(FAR), np.float32(NEAR))
        found[is_so] = values
        left &= ~is_so
    found[left] = from_byte_blobs([blobs[at] for at in np.flatnonzero(left).tolist()], dim)
    return found


def to_byte_blob(vector: Vector) -> bytes:
    """*vector* in whole numbers of one byte, after the step that they count."""
    step = max(float(np.abs(vector).max(initial=0.0)), 1e-12) / MOST_STEPS
    counts = np.asarray(np.rint(vector / step), dtype=np.int8)
    return struct.pack("<f", step) + counts.tobytes()


def from_byte_blobs(blobs: Sequence[bytes], dim: int) -> Vector:
    """Vectors stored by `to_byte_blob` as one matrix."""
    rows = np.frombuffer(b"".join(blobs), dtype=[("step", "<f4"), ("counts", "i1", (dim,))])
    return np.asarray(rows["counts"] * rows["step"][:, None], dtype=np.float32)


def to_blob(vector: Vector) -> bytes:
    """A vector as it is stored: little-endian float32, of length one."""
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length > 0 else vector, dtype="<f4").tobytes()


def from_blobs(blobs: Sequence[bytes], dim: int) -> Vector:
    """Stored vectors as one matrix."""
    return np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), dim).astype(np.float32, copy=False)
