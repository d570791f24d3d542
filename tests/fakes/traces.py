"""Turns as observers meet them: traces, records, people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from familiar_connect.chat.types import Directives
from familiar_connect.context.types import (
    ContextItem,
    ContextRequest,
    Contribution,
    DroppedNote,
    ItemTag,
    Layer,
    Modality,
    PendingTurn,
)
from familiar_connect.identity import Author
from familiar_connect.observe.replay_store import ReplayRecord
from familiar_connect.observe.trace import StageSpan, TurnTrace

NOON = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)
ANA = Author(platform="discord", user_id="111222333", username="ana_l", display_name="Ana")
BEN = Author(platform="discord", user_id="444555666", username="ben", display_name="Ben")


def a_trace(trace_id: str = "t1", **changes: Any) -> TurnTrace:
    """A turn of one second with one stage, but for *changes*."""
    facts: dict[str, Any] = {
        "trace_id": trace_id,
        "familiar_id": "wren",
        "channel_id": 7,
        "guild_id": None,
        "modality": "text",
        "timestamp": NOON.isoformat(),
        "total_duration_s": 1.0,
        "stages": (StageSpan("model", 0.1, 0.8, {"model": "m"}),),
        "tags": {},
    }
    return TurnTrace(**facts | changes)


def a_record(trace_id: str = "t1", *, author: Author = ANA, **changes: Any) -> ReplayRecord:
    """What *author* asked and what the prompt was made of, but for *changes*."""
    request = ContextRequest(
        familiar_id="wren",
        channel_id=7,
        guild_id=None,
        author=author,
        utterance="hello there",
        modality=Modality.text,
        budget_tokens=1000,
        deadline_s=10,
        pending_turns=(PendingTurn(author, "hello there", 3),),
    )
    character = Contribution.of(Layer.character, "A small brown bird.", source="character", tag=ItemTag.PERSONA)
    said = ContextItem.of("user", "hello there", tag=ItemTag.DIALOGUE, source="history")
    history = Contribution(Layer.recent_history, 80, "hello there", 3, "history", items=(said,))
    facts: dict[str, Any] = {
        "trace_id": trace_id,
        "request": request,
        "clock_iso": NOON.isoformat(),
        "seed": 42,
        "settings": {"temperature": 0.7},
        "kept": (character, history),
        "dropped": (DroppedNote(Layer.content, "search", "dropped", 120),),
        "directives": Directives(tail=("Stay in character.",)),
        "messages_hash": "ab" * 32,
    }
    return ReplayRecord(**facts | changes)
