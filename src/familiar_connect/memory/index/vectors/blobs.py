"""Vectors as they are stored: floats, or, where there are many, whole numbers of one byte and the step they count."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from familiar_connect.memory.index.storage import MOST_STEPS, Vector


def to_byte_blob(vector: Vector) -> bytes:
    """*vector* as it is stored: the step that is counted, then whole numbers of one byte."""
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
