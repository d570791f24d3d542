"""JitterBuffer: packets that come in any order, given out in theirs."""

from __future__ import annotations

from dataclasses import dataclass, field

SEQUENCES = 1 << 16
DEPTH = 4
"""Packets that may wait for one that is missing: 80 ms."""
WAIT_S = 0.08
"""How long the first of them waits where nobody goes on speaking."""
MAX_GAP = 25
"""More missing at once than half a second is a new beginning, not a loss."""


@dataclass
class JitterBuffer:
    """One stream. What is in order is given out at once; a packet that never comes is given out as None."""

    depth: int = DEPTH
    wait_s: float = WAIT_S
    _next: int | None = None
    _held: dict[int, tuple[float, bytes]] = field(default_factory=dict)

    def put(self, sequence: int, payload: bytes, now: float) -> list[bytes | None]:
        """Take a packet in; what is next in order now. One that is late, or that was here before, is let go."""
        if self._next is None:
            self._next = sequence
        ahead = (sequence - self._next) % SEQUENCES
        if ahead >= SEQUENCES - MAX_GAP:
            return []
        if ahead > MAX_GAP:
            left = self._give_all()
            self._next = sequence
            return [*left, *self._hold(sequence, payload, now)]
        return self._hold(sequence, payload, now)

    def take_overdue(self, now: float) -> list[bytes | None]:
        """What has waited long enough for a packet that is missing."""
        given: list[bytes | None] = []
        while self._held and now - min(at for at, _ in self._held.values()) >= self.wait_s:
            given += self._skip()
        return given

    @property
    def is_waiting(self) -> bool:
        return bool(self._held)

    def _hold(self, sequence: int, payload: bytes, now: float) -> list[bytes | None]:
        self._held.setdefault(sequence, (now, payload))
        given = self._give()
        while len(self._held) >= self.depth:
            given += self._skip()
        return given

    def _give(self) -> list[bytes | None]:
        """What is in order."""
        given: list[bytes | None] = []
        while self._next in self._held:
            given.append(self._held.pop(self._next)[1])
            self._next = (self._next + 1) % SEQUENCES
        return given

    def _skip(self) -> list[bytes | None]:
        """Give up what is missing before the first packet that waits."""
        assert self._next is not None
        missing = min((sequence - self._next) % SEQUENCES for sequence in self._held)
        self._next = (self._next + missing) % SEQUENCES
        return [*[None] * missing, *self._give()]

    def _give_all(self) -> list[bytes | None]:
        given: list[bytes | None] = []
        while self._held:
            given += self._skip()
        return given
