"""Privacy filter: leaves out the turns of people who are not to be heard, wherever turns are shown to a model."""

from __future__ import annotations

from collections.abc import Iterable

from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Privacy


def without_private_turns(turns: Iterable[HistoryTurn], privacy: Privacy) -> list[HistoryTurn]:
    """*turns* without those of people who are not to be heard; what the familiar itself said stays."""
    return [
        turn for turn in turns if turn.role == "assistant" or turn.author is None or not privacy.is_full(turn.author)
    ]
