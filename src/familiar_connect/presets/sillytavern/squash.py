"""Neighbouring system messages made one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from familiar_connect.presets.sillytavern.types import Piece


def squash_messages(pieces: Iterable[Piece]) -> list[Piece]:
    """Runs of unnamed system messages joined by a newline, empty ones left out; separators and nudges stand alone.

    An empty message of another role still parts its neighbours.
    """
    runs: list[list[Piece]] = []
    for piece in pieces:
        if piece.role == "system" and not piece.text:
            continue
        if runs and _joins(piece) and _joins(runs[-1][0]):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return [run[0] if len(run) == 1 else _joined(run) for run in runs]


def _joins(piece: Piece) -> bool:
    return piece.role == "system" and not piece.name and not piece.apart


def _joined(run: list[Piece]) -> Piece:
    return replace(
        run[0],
        text="\n".join(piece.text for piece in run),
        source=", ".join(dict.fromkeys(piece.source for piece in run if piece.source)),
        tag=run[0].tag if len({piece.tag for piece in run}) == 1 else None,
        line=None,
    )
