"""MessageIdMap: the short handles the model sees instead of platform ids."""

from __future__ import annotations

from typing import Literal

Prefix = Literal["ref", "media"]


class MessageIdMap:
    """Two independent counters, `ref_N` and `media_N`; raw platform ids never reach the model."""

    def __init__(self) -> None:
        self._handles: dict[tuple[str, Prefix], str] = {}
        self._real: dict[str, str] = {}
        self._given: dict[Prefix, int] = {"ref": 0, "media": 0}

    def register(self, real_id: str, prefix: Prefix = "ref") -> str:
        """The handle of *real_id*; the same one each time it is asked for."""
        known = self._handles.get((real_id, prefix))
        if known is None:
            self._given[prefix] += 1
            known = self._handles[real_id, prefix] = f"{prefix}_{self._given[prefix]}"
            self._real[known] = real_id
        return known

    def resolve(self, handle: str) -> str | None:
        return self._real.get(handle)
