"""An exchange made ready to be answered."""

from __future__ import annotations

from datetime import UTC, datetime

from familiar_connect.chat.build import build_turn
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage, SaidMessage
from familiar_connect.conversation.types import BufferedMessage, Exchange, ResponseTrigger
from tests.fakes.context import ADA, BO

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Nowhere:
    """A place where nothing can be seen."""

    async def recent(self, limit: int) -> list[InboundMessage]:
        return []

    async def scene(self) -> Scene:
        return Scene()


async def test_what_was_said_is_kept_as_it_was_said() -> None:
    """Every message of the exchange, in order, with its row in the history; two by one author stay two."""
    heard = (
        BufferedMessage(ADA, "one", NOON, 4),
        BufferedMessage(ADA, "two", NOON, 5),
        BufferedMessage(BO, "three", NOON, 6),
    )
    exchange = Exchange(
        familiar_id="wren", channel_id=7, guild_id=1, messages=heard, trigger=ResponseTrigger.direct_address
    )
    turn = await build_turn(exchange, Nowhere())

    assert (turn.said, turn.familiar_id, turn.channel_id, turn.guild_id) == (
        (
            SaidMessage(author=ADA, text="one", timestamp=NOON, history_id=4),
            SaidMessage(author=ADA, text="two", timestamp=NOON, history_id=5),
            SaidMessage(author=BO, text="three", timestamp=NOON, history_id=6),
        ),
        "wren",
        7,
        1,
    )
