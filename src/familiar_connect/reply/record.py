"""Writing down what we got out: one row, exactly what was sent."""

from __future__ import annotations

from familiar_connect.chat.types import Turn
from familiar_connect.config.types import ChannelMode
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.support.aio import off_loop


async def record(
    history: HistoryStore, turn: Turn, sent: str, *, mode: ChannelMode | None = None
) -> HistoryTurn | None:
    """One assistant turn holding *sent*; nothing sent, no row. Heard messages are stored already."""
    if not sent.strip():
        return None
    return await off_loop(
        history.append_turn,
        familiar_id=turn.familiar_id,
        channel_id=turn.channel_id,
        role="assistant",
        content=sent,
        guild_id=turn.guild_id,
        mode=mode,
    )
