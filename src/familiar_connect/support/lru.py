"""LruCache: a bounded mapping that drops what was used longest ago, by number of entries and, where asked, by size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """At most *entries* values, together at most *size* by *size_of*. Any thread may use it."""

    def __init__(self, entries: int, *, size: int | None = None, size_of: Callable[[V], int] = lambda _: 0) -> None:
        self._entries = entries
        self._size = size
        self._size_of = size_of
        self._used = 0
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """The value of *key*, which is now the latest used; None where there is none."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key]

    def put(self, key: K, value: V) -> None:
        """Keep *value*; one larger than all there is room for is not kept, and neither is what stood in its place."""
        with self._lock:
            self._remove(key)
            self._kept[key] = value
            self._used += self._size_of(value)
            while len(self._kept) > self._entries or (self._size is not None and self._used > self._size):
                self._remove(next(iter(self._kept)) if self._fits(value) else key)

    def pop(self, key: K) -> V | None:
        """Take *key* out, if it is there."""
        with self._lock:
            return self._remove(key)

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._kept.clear()
            self._used = 0

    def items(self) -> list[tuple[K, V]]:
        """Keys and values as they are now, the longest unused first."""
        with self._lock:
            return list(self._kept.items())

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._kept

    def __len__(self) -> int:
        with self._lock:
            return len(self._kept)

    def _fits(self, value: V) -> bool:
        return self._size is None or self._size_of(value) <= self._size

    def _remove(self, key: K) -> V | None:
        value = self._kept.pop(key, None)
        if value is not None:
            self._used -= self._size_of(value)
        return value
