"""FactColumns: what is known of units without reading them, held as arrays."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from familiar_connect.memory.index.storage import Numbers
from familiar_connect.support.sqlite import Row

LOAD_FACTS = 16_384
"""Rows of facts read from the file at a time."""


class FactColumns:
    """What is known of units without reading them, as arrays in the order of their numbers; read from any thread.

    A row begins with its unit's number. A change makes new arrays, so that whoever reads goes on with the old ones.
    """

    def __init__(self, **columns: str) -> None:
        self._types = np.dtype([("unit", "i8"), *columns.items()])
        self._lock = threading.Lock()
        self._held: tuple[Numbers, NDArray[np.void]] = self._in_order([])

    def __len__(self) -> int:
        return len(self._held[0])

    def ids(self) -> Numbers:
        """The numbers of the units, in order."""
        return self._held[0]

    def of(self, units: Numbers) -> NDArray[np.void]:
        """The rows of those of *units*, which are in order, that are known."""
        numbers, rows = self._held
        if not len(numbers):
            return rows
        places = np.searchsorted(numbers, units).clip(0, len(numbers) - 1)
        found: NDArray[np.void] = rows[places[numbers[places] == units]]
        return found

    def of_time(self, start: float, end: float) -> NDArray[np.void]:
        """The rows of a stretch of time."""
        rows = self._held[1]
        found: NDArray[np.void] = rows[(rows["said_at"] >= start) & (rows["said_at"] < end)]
        return found

    def between(self, start: float, end: float, limit: int) -> Numbers:
        """The units of a stretch of time, the newest first, at most *limit*."""
        numbers, rows = self._held
        moments = rows["said_at"]
        found = np.flatnonzero((moments >= start) & (moments < end))
        return numbers[found[np.argsort(-moments[found], kind="stable")[:limit]]]

    def clear(self) -> None:
        with self._lock:
            self._held = self._in_order([])

    def change(self, dropped: Iterable[int], added: Sequence[Row]) -> None:
        """Take units away and put others in; one that is known gets its new row."""
        with self._lock:
            numbers, rows = self._held
            new = self._in_order(added)
            gone = np.concatenate((np.fromiter(dropped, dtype=np.int64), new[0]))
            kept = rows[~np.isin(numbers, gone)] if len(gone) and len(numbers) else rows
            together = np.concatenate((kept, new[1]))
            together = together[np.argsort(together["unit"], kind="stable")]
            self._held = np.ascontiguousarray(together["unit"]), together

    def _in_order(self, rows: Sequence[Row]) -> tuple[Numbers, NDArray[np.void]]:
        made = np.array([*rows], dtype=self._types)
        made = made[np.argsort(made["unit"], kind="stable")]
        return np.ascontiguousarray(made["unit"]), made


class Codes:
    """Texts and the like under small numbers, given once and for good."""

    def __init__(self) -> None:
        self._codes: dict[object, int] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def put(self, value: object) -> int:
        """The number of *value*, a new one where it has none."""
        return self._codes.setdefault(value, len(self._codes))

    def of(self, values: Iterable[object]) -> list[int]:
        """The numbers of those of *values* that have one."""
        return [self._codes[value] for value in values if value in self._codes]
