"""ReplyQueue: one reply at a time per channel; what comes meanwhile is answered next; a stop cancels.

Everything in the queue is already in the history: losing the queue loses no words.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from familiar_connect.conversation.types import BufferedMessage, Exchange, ResponseTrigger
from familiar_connect.support.aio import Background, cancel_and_wait, patiently

logger = logging.getLogger(__name__)

MAX_WAITING = 200
"""Messages of one exchange; older ones are in the history all the same."""
GIVE_UP_S = 180.0
"""Seconds after which a reply gives way to what waits behind it."""

Respond = Callable[[Exchange, Any], Awaitable[Any]]


@dataclass
class _Channel:
    waiting: list[BufferedMessage] = field(default_factory=list)
    place: Any = None
    guild_id: int | None = None
    is_voice: bool = False
    trigger: ResponseTrigger = ResponseTrigger.direct_address
    task: asyncio.Task[None] | None = None


class ReplyQueue:
    """The order of replies. `respond` may be replaced at run time."""

    def __init__(self, familiar_id: str, respond: Respond) -> None:
        self._familiar_id = familiar_id
        self.respond = respond
        self.give_up_s = GIVE_UP_S
        self._channels: dict[int, _Channel] = {}
        self._background = Background("replies")

    def put(
        self,
        channel_id: int,
        message: BufferedMessage,
        place: Any,
        *,
        trigger: ResponseTrigger,
        guild_id: int | None = None,
        is_voice: bool = False,
    ) -> None:
        """Answer *message*, now or right after the reply under way."""
        channel = self._channels.setdefault(channel_id, _Channel())
        channel.waiting.append(message)
        if len(channel.waiting) > MAX_WAITING:
            del channel.waiting[0]
            logger.warning("too many messages wait for one reply", extra={"channel_id": channel_id})
        channel.place, channel.guild_id = place, guild_id
        channel.is_voice, channel.trigger = is_voice, trigger
        self._see_to(channel_id, channel)

    def _see_to(self, channel_id: int, channel: _Channel) -> None:
        """Have what waits answered, unless somebody is at it."""
        if channel.waiting and (channel.task is None or channel.task.done()):
            channel.task = self._background.start(self._answer(channel_id, channel), name=str(channel_id))

    async def _answer(self, channel_id: int, channel: _Channel) -> None:
        queued = False
        while channel.waiting:
            messages, channel.waiting = asked_alike(channel.waiting)
            exchange = Exchange(
                familiar_id=self._familiar_id,
                channel_id=channel_id,
                guild_id=channel.guild_id,
                messages=messages,
                trigger=channel.trigger,
                is_voice=channel.is_voice,
                from_queue=queued,
                asked=messages[-1].asked,
            )
            try:
                work = self.respond(exchange, channel.place)
                if not await patiently(work, lambda: bool(channel.waiting), give_up_s=self.give_up_s):
                    logger.warning("a reply took too long and was given up", extra={"channel_id": channel_id})
            except Exception:  # isolation: what waits is answered all the same
                logger.exception("reply failed", extra={"channel_id": channel_id})
            queued = True

    async def idle(self, channel_id: int) -> None:
        """Wait until nothing is being answered in the channel."""
        channel = self._channels.get(channel_id)
        while channel is not None and channel.task is not None and not channel.task.done():
            await asyncio.wait({channel.task})

    async def stop(self, channel_id: int) -> bool:
        """Cancel the reply under way and forget what waited for it; says whether there was one."""
        channel = self._channels.get(channel_id)
        if channel is None or channel.task is None or channel.task.done():
            return False
        channel.waiting.clear()
        await cancel_and_wait(channel.task)
        self._see_to(channel_id, channel)  # what was said while it ended
        return True

    async def aclose(self) -> None:
        for channel in self._channels.values():
            channel.waiting.clear()
        await self._background.aclose()


def asked_alike(waiting: list[BufferedMessage]) -> tuple[tuple[BufferedMessage, ...], list[BufferedMessage]]:
    """The messages one reply answers, for the same is asked with them; and those that wait for the next."""
    count = next((at for at, each in enumerate(waiting) if each.asked != waiting[0].asked), len(waiting))
    return tuple(waiting[:count]), waiting[count:]
