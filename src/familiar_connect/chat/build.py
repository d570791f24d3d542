"""build_turn: an exchange made ready to be answered."""

from __future__ import annotations

from familiar_connect.chat.scene import Surroundings
from familiar_connect.chat.types import SaidMessage, Turn, TurnFlags
from familiar_connect.conversation.types import Exchange


async def build_turn(exchange: Exchange, surroundings: Surroundings) -> Turn:
    """What was said, as it was said. The turns before it are read from the history by whoever shows them."""
    return Turn(
        familiar_id=exchange.familiar_id,
        channel_id=exchange.channel_id,
        guild_id=exchange.guild_id,
        is_voice=exchange.is_voice,
        said=tuple(
            SaidMessage(
                author=message.author,
                text=message.text,
                timestamp=message.timestamp,
                history_id=message.history_id,
            )
            for message in exchange.messages
        ),
        flags=TurnFlags(from_queue=exchange.from_queue),
    )
