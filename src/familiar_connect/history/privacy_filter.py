"""Who is heard: what people said before they asked not to be is left out, wherever turns are shown to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author

IsPrivate = Callable[[Author], bool]
"""Whether a person is not to be heard now."""


def without_private_turns(turns: Iterable[HistoryTurn], is_private: IsPrivate | None) -> list[HistoryTurn]:
    """*turns* without those of private people; what the familiar itself said stays."""
    if is_private is None:
        return list(turns)
    return [turn for turn in turns if turn.role == "assistant" or turn.author is None or not is_private(turn.author)]
