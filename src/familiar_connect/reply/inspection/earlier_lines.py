"""The lines of a chat that stand before what a turn's prompt began with: how many, and what kept them out."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.context.layers import ItemTag
from familiar_connect.history.dialogue_starts import StartKind
from familiar_connect.history.line_search import count_lines_before
from familiar_connect.history.store import HistoryStore
from familiar_connect.reply.inspection.turn_view import NAMES, TurnView, ViewedBlock

WINDOW_KEY, SHARE_KEY = "providers.history.window_size", "budget.recent_history"
DIALOGUE, SUMMARY = NAMES[ItemTag.DIALOGUE], NAMES[ItemTag.SUMMARY]


@dataclass(frozen=True, kw_only=True)
class EarlierLines:
    """What was not sent of a chat because it is too long ago."""

    first_sent: int
    """The line that the model's view begins with."""
    count: int
    reason: str
    key: str
    """The setting that decides it; empty where none does."""
    has_summary: bool
    """Whether a summary was sent in their place."""


def find_earlier_lines(view: TurnView, history: HistoryStore, familiar_id: str) -> EarlierLines | None:
    """Those of the turn's chat; None where all of it was sent, or that is not known."""
    sent = [line for block in view.blocks_sent if block.name == DIALOGUE for line in block.lines]
    if not sent:
        return None
    first = min(sent)
    count = count_lines_before(history.database, familiar_id, view.channel_id, first)
    if not count:
        return None
    reason, key = _why(view, history, familiar_id, first)
    return EarlierLines(
        first_sent=first,
        count=count,
        reason=reason,
        key=key,
        has_summary=any(block.name == SUMMARY for block in view.blocks_sent),
    )


def _why(view: TurnView, history: HistoryStore, familiar_id: str, first: int) -> tuple[str, str]:
    mark = history.dialogue_starts.newest(familiar_id, view.channel_id, before_id=first)
    if mark is not None and not history.turns_after(
        familiar_id=familiar_id, channel_id=view.channel_id, after_id=mark.after_id, max_id=first - 1, limit=1
    ):
        is_summary = mark.kind is StartKind.compact
        return ("/compact put a summary in their place" if is_summary else "/reset started the conversation again"), ""
    cut = next((block for block in view.blocks if block.name == DIALOGUE and _lost_some(block)), None)
    if cut is not None:
        return f"the dialogue's share of the prompt is full ({cut.fate})", SHARE_KEY
    return "only the latest lines are shown word for word", WINDOW_KEY


def _lost_some(block: ViewedBlock) -> bool:
    return block.is_cut or block.is_shortened
