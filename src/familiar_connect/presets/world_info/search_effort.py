"""SearchEffort: how much one scan of the books may search, so that no book can hold up a turn.

Effort is counted in characters: those that are looked through, and a fixed number for each look-up, because a short
text costs time too. It depends on the books and the chat alone, never on the machine: the same turn stops at the same
point everywhere.
"""

from __future__ import annotations

MAX_SEARCHED_CHARS = 1_000_000_000
"""About a second on a small machine; a thousand entries with five keys each take a thousandth of it."""
LOOK_UP_CHARS = 2_000
PART_CHARS = 400
"""What a look-up costs for each text it is made in."""
PATTERN_FACTOR = 8
"""A pattern reads a character so many times slower than a plain search does."""
SPLIT_FACTOR = 16
"""As `PATTERN_FACTOR`, for taking a text apart into words."""


class ScanLimitReached(Exception):
    """A scan has to end; the message completes a sentence that says why."""


class SearchEffort:
    """What one scan has searched so far."""

    def __init__(self, limit: int = MAX_SEARCHED_CHARS) -> None:
        self._limit = limit
        self._left = limit

    def spend(self, chars: int) -> None:
        """Count *chars* more; too many end the scan."""
        self._left -= chars
        if self._left < 0:
            raise ScanLimitReached(f"its books want more than {self._limit:,} characters searched for one turn")
