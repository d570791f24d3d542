"""Sound on its way to a recogniser: what was sent and not yet confirmed can be sent again."""

from __future__ import annotations


class ReplayBuffer:
    """Keeps the newest *max_bytes* of a stream that are not confirmed. Positions are bytes of the whole stream."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max(2, max_bytes - max_bytes % 2)
        self._kept = bytearray()
        self._start = 0
        self._sent = 0
        """Position of what is sent next."""

    @property
    def start(self) -> int:
        """Position of the oldest sound that is kept, where a replay begins."""
        return self._start

    @property
    def end(self) -> int:
        """Position after the newest sound."""
        return self._start + len(self._kept)

    @property
    def unsent(self) -> int:
        """Bytes that were never sent, or are to be sent again."""
        return self.end - self._sent

    def append(self, sound: bytes) -> int:
        """Keep *sound*; how many bytes were given up unsent for want of room."""
        self._kept += sound
        excess = len(self._kept) - self._max_bytes
        if excess <= 0:
            return 0
        excess += excess % 2  # samples stay whole
        lost = max(0, self._start + excess - self._sent)
        self._drop(excess)
        return lost

    def take(self, size: int) -> bytes:
        """The next unsent sound, at most *size* bytes; it counts as sent."""
        at = self._sent - self._start
        found = bytes(self._kept[at : at + size])
        self._sent += len(found)
        return found

    def confirm(self, position: int) -> None:
        """What lies before *position* was understood and is never sent again."""
        self._drop(min(max(0, position - position % 2 - self._start), self._sent - self._start))

    def all_sound(self) -> bytes:
        """Everything that is kept."""
        return bytes(self._kept)

    def rewind(self) -> None:
        """Send again from the oldest that is kept."""
        self._sent = self._start

    def _drop(self, size: int) -> None:
        del self._kept[:size]
        self._start += size
        self._sent = max(self._sent, self._start)
