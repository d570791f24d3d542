"""SteadySummaries: a summary that the prompt shows changes with the dialogue window, not between two of its moves.

A summary stands on top of the prompt: each change of it makes a model read everything below again. When the window
moves, that is so anyway. An older text is shown only while the stored one was made
from it. One that was rebuilt without somebody, or deleted, is never shown again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from familiar_connect.support.lru import LruCache

MAX_HELD = 512
"""Summaries of channels held at once; for one that was dropped the newest text is shown."""
MAX_STEPS_BACK = 8
"""Refreshes of a summary between two moves of the window that are looked back through."""
MAX_AHEAD = 8
"""Turns before a move of the window at which what is about to leave it is summarised."""


@dataclass(frozen=True)
class WindowPosition:
    """Where a channel's window begins, how many turns it shows, and how many come until it moves."""

    first: int
    shown: int
    until_move: int

    def is_near_move(self, step: int) -> bool:
        return self.until_move <= min(MAX_AHEAD, max(1, step // 2))


class SteadySummaries:
    """Which text of each summary a channel's prompt shows. Any thread may use it."""

    def __init__(self) -> None:
        self._held: LruCache[tuple[int, str], tuple[int, str]] = LruCache(MAX_HELD)
        self._made_from: LruCache[bytes, bytes] = LruCache(MAX_HELD)

    def note_successor(self, before: str, after: str) -> None:
        """Remember that *after* was made from *before*, which therefore may still be shown."""
        if after != before:
            self._made_from.put(_digest(after), _digest(before))

    def choose(self, channel_id: int, audience: str, stored: str, window_first: int) -> str:
        """The text to show while the window begins at *window_first*: the newest, or the one it began with."""
        held = self._held.get((channel_id, audience))
        if held is not None and held[0] == window_first and self._comes_from(stored, held[1]):
            return held[1]
        self._held.put((channel_id, audience), (window_first, stored))
        return stored

    def _comes_from(self, stored: str, shown: str) -> bool:
        wanted, at = _digest(shown), _digest(stored)
        for _ in range(MAX_STEPS_BACK):
            if at == wanted:
                return True
            before = self._made_from.get(at)
            if before is None:
                return False
            at = before
        return False


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
