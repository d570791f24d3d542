"""An embedder that remembers what it was given."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from familiar_connect.memory.index.hashing import HashingModel


class CountingEmbedder:
    """The hashing embedder, and the batches it was handed."""

    def __init__(self, dim: int = 512, name: str = "counting") -> None:
        self.dim = dim
        self.name = name
        self.batches: list[list[str]] = []
        self._lock = threading.Lock()
        self._inner = HashingModel(dim)

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        with self._lock:
            self.batches.append(list(texts))
        return self._inner.embed(texts)


class BrokenEmbedder:
    """An embedder that never works."""

    dim = 64
    name = "broken"

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        raise RuntimeError("no weights today")
