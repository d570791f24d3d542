"""RecalledLine: a piece that the search of memory found for a turn: its rank, its score, and what found it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from familiar_connect.observe.trace import TurnTrace, finite_number, list_found_pieces


@dataclass(frozen=True, kw_only=True)
class RecalledLine:
    """One piece of memory, as the search of a turn found it."""

    rank: int
    score: float
    found_by: tuple[tuple[str, float], ...]
    """Its strongest signals, by name, and what each gave."""
    path: str = ""
    """The file it stands in; empty for a line of a chat."""
    heading: str = ""
    turn_id: int | None = None
    channel_id: int | None = None
    is_told: bool = False
    """Whether the model was shown it; else there was no room, or a filter left it out."""


def list_recalled_lines(trace: TurnTrace) -> tuple[RecalledLine, ...]:
    """What was found for the turn, best first; nothing where that was not noted."""
    return tuple(_line_of(rank, piece) for rank, piece in enumerate(list_found_pieces(trace), start=1))


def _line_of(rank: int, piece: Mapping[str, object]) -> RecalledLine:
    signals, turn, channel = piece.get("signals"), piece.get("turn"), piece.get("channel")
    found_by = signals.items() if isinstance(signals, Mapping) else ()
    return RecalledLine(
        rank=rank,
        score=finite_number(piece.get("score")) or 0.0,
        found_by=tuple((str(name), finite_number(value) or 0.0) for name, value in found_by),
        path=str(piece.get("path") or ""),
        heading=str(piece.get("heading") or ""),
        turn_id=turn if isinstance(turn, int) else None,
        channel_id=channel if isinstance(channel, int) else None,
        is_told=piece.get("told") is True,
    )
