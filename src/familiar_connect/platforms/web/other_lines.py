"""OtherLine: a line of a group that another familiar said, as that familiar's own page knows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from familiar_connect.history.types import HistoryTurn


@dataclass(frozen=True, kw_only=True)
class OtherLine:
    """A line of another familiar, as its own page knows it."""

    at: str = ""
    """Where the pages of that familiar begin; empty where nobody knows more."""
    picture: str | None = None
    trace_id: str | None = None
    version: int = 1
    versions: int = 1


FindOtherLines = Callable[[Sequence[HistoryTurn]], Mapping[int, OtherLine]]
"""For turns that other familiars said: what their own pages know of them."""


def no_lines(turns: Sequence[HistoryTurn]) -> Mapping[int, OtherLine]:
    """Nothing is known of other familiars."""
    return {}
