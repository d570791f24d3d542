"""The places of a prompt, and the tokens left to fill them.

A place is numbered as its prompt is in the collection. What is put where something stands already takes its place,
and what has no number goes behind the last place taken so far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from familiar_connect.presets.sillytavern.types import Piece

FRAME_TOKENS = 3
"""What every answer costs before its first word."""


class TokenBudgetExceeded(Exception):
    """Something that must be sent does not fit; `what` names it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class PromptSlots:
    """Places in order, each with its messages."""

    def __init__(self, budget: int | None, count: Callable[[Piece], int]) -> None:
        self._left = None if budget is None else budget - FRAME_TOKENS
        self._count = count
        self._places: dict[int, deque[Piece]] = {}
        self._named: dict[str, deque[Piece]] = {}
        self._end = 0

    def tokens(self, piece: Piece) -> int:
        """What *piece* costs; nothing while nobody keeps count, nor when it is empty."""
        if self._left is None or not (piece.text or piece.name):
            return 0
        return self._count(piece)

    def total(self, pieces: Iterable[Piece]) -> int:
        return sum(self.tokens(piece) for piece in pieces)

    def reserve(self, pieces: Iterable[Piece]) -> None:
        """Keeps room for *pieces*, even where there is none left."""
        if self._left is not None:
            self._left -= self.total(pieces)

    def free(self, pieces: Iterable[Piece]) -> None:
        if self._left is not None:
            self._left += self.total(pieces)

    def has_room_for(self, pieces: Iterable[Piece]) -> bool:
        return self._left is None or self.total(pieces) <= self._left

    def has(self, name: str) -> bool:
        return name in self._named

    def put(self, name: str, pieces: Iterable[Piece], index: int | None = None) -> None:
        """Gives *pieces* the place *index*, or one of their own at the end."""
        place = deque(pieces)
        self._pay(name, place)
        index = self._end if index is None else index
        self._end = max(self._end, index + 1)
        self._places[index] = place
        self._named[name] = place

    def insert(self, name: str, piece: Piece, *, first: bool = False) -> None:
        """Adds *piece* to the place called *name*; an empty one is not worth a place."""
        self._check(name, [piece])
        if piece.text:
            (self._named[name].appendleft if first else self._named[name].append)(piece)
            self.reserve([piece])

    def pieces(self) -> list[Piece]:
        """Everything placed, in order, empty messages included."""
        return [piece for index in sorted(self._places) for piece in self._places[index]]

    def _check(self, name: str, pieces: Iterable[Piece]) -> None:
        if not self.has_room_for(pieces):
            raise TokenBudgetExceeded(name)

    def _pay(self, name: str, pieces: Iterable[Piece]) -> None:
        pieces = list(pieces)
        self._check(name, pieces)
        self.reserve(pieces)
