"""What the search of memory found for a turn, as rows of the glass box: what it says, where it is, what found it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from familiar_connect.familiar import Familiar
from familiar_connect.history.types import HistoryTurn
from familiar_connect.platforms.web.block_links import address_of_file
from familiar_connect.reply.inspection.recalled_lines import RecalledLine
from familiar_connect.support.text import one_line, truncate_chars

SHOWN_CHARS = 120


@dataclass(frozen=True, kw_only=True)
class RecalledRow:
    """One piece that was found."""

    rank: int
    label: str
    """How it begins, or where in its file it stands."""
    href: str | None
    score: str
    found_by: str
    """Its strongest signals and what each gave."""
    is_told: bool


def list_recalled_rows(
    familiar: Familiar, lines: Sequence[RecalledLine], files: Collection[str], chats: Collection[int]
) -> list[RecalledRow]:
    """*lines* for the glass box; those of *files* and of *chats* lead there. Reads the history."""
    return [_row(familiar, line, files, chats) for line in lines]


def _row(familiar: Familiar, line: RecalledLine, files: Collection[str], chats: Collection[int]) -> RecalledRow:
    label, href = _place(familiar, line, files, chats)
    return RecalledRow(
        rank=line.rank,
        label=label,
        href=href,
        score=f"{line.score:.2f}",
        found_by=", ".join(f"{name} {value:+.2f}" for name, value in line.found_by),
        is_told=line.is_told,
    )


def _place(
    familiar: Familiar, line: RecalledLine, files: Collection[str], chats: Collection[int]
) -> tuple[str, str | None]:
    if line.path:
        label = f"{line.path} · {line.heading}" if line.heading else line.path
        return label, address_of_file(line.path) if line.path in files else None
    turn = familiar.history_store.turn_by_id(familiar_id=familiar.id, turn_id=line.turn_id or 0)
    if turn is None:
        return "a line that is gone", None
    at = f"/chats/{turn.channel_id}?line={turn.id}#line-{turn.id}" if turn.channel_id in chats else None
    return f"{_speaker(familiar, turn)}: {truncate_chars(one_line(turn.display_text), SHOWN_CHARS)}", at


def _speaker(familiar: Familiar, turn: HistoryTurn) -> str:
    return turn.author.label if turn.author is not None else familiar.name
