"""Actors of the chat room: messages, channels that can be looked at, and turns built from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from familiar_connect.chat.build import build_turn
from familiar_connect.chat.place import Surroundings
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage, Turn, TurnOptions, TurnSettings
from familiar_connect.conversation.types import BufferedMessage, Exchange, ResponseTrigger
from familiar_connect.identity import Author
from tests.fakes.context import ADA, BO, CY

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WREN = Author("discord", "99", "wren_bot", "Wren")
TEA_HOUSE = Scene(
    server_name="Tea House", participants=(ADA, BO, CY), me=WREN, own_name="Wren of the House", server_id=5
)
PERSONA = TurnSettings(persona="Wren")


def minutes(count: float) -> datetime:
    return NOON + timedelta(minutes=count)


def message_by(text: str, author: Author = ADA, id_: int | str = 1, **more: Any) -> InboundMessage:
    """*author* wrote this, under the platform's id *id_*, which also tells the minute."""
    at = minutes(int(id_)) if str(id_).isdigit() else NOON
    facts: dict[str, Any] = {
        "platform": author.platform,
        "channel_id": 7,
        "author": author,
        "text": text,
        "timestamp": at,
        "message_id": str(id_),
    }
    return InboundMessage(**facts | more)


def our_message(text: str, id_: int | str = 1, **more: Any) -> InboundMessage:
    return message_by(text, WREN, id_, is_bot=True, is_self=True, **more)


@dataclass
class FakeChannel(Surroundings):
    """A channel that can be looked back at."""

    messages: Sequence[InboundMessage] = ()
    seen: Scene = TEA_HOUSE
    asked: list[int] = field(default_factory=list)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        self.asked.append(limit)
        return self.messages[-limit:]

    async def scene(self) -> Scene:
        return self.seen


def an_exchange(*messages: InboundMessage, **more: Any) -> Exchange:
    """What is being answered."""
    heard = tuple(BufferedMessage(m.author, m.text, m.timestamp, m.history_id, m) for m in messages)
    facts: dict[str, Any] = {
        "familiar_id": "wren",
        "channel_id": 7,
        "guild_id": 5,
        "messages": heard,
        "trigger": ResponseTrigger.direct_address,
    }
    return Exchange(**facts | more)


async def a_turn(
    *messages: InboundMessage,
    scene: Scene = TEA_HOUSE,
    settings: TurnSettings = PERSONA,
    asked: TurnOptions | None = None,
    from_queue: bool = False,
    is_voice: bool = False,
    **more: Any,
) -> Turn:
    """The turn that answers the newest of *messages*."""
    exchange = an_exchange(messages[-1], asked=asked or TurnOptions(), from_queue=from_queue, is_voice=is_voice)
    return await build_turn(exchange, FakeChannel(messages, scene), settings=settings, **more)


async def entry_contents(*messages: InboundMessage, **more: Any) -> list[str | None]:
    """The contents of the entries *messages* become."""
    return [entry.content for entry in (await a_turn(*messages, **more)).messages]


def with_settings(**changes: Any) -> TurnSettings:
    return replace(PERSONA, **changes)
