"""TwitchPlace: a channel's chat. Everybody reads it, so what is not the familiar speaking goes to the owner."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.support.text import one_line

MESSAGE_LIMIT = 500


class TwitchPlace:
    """Lines go out as Twitch shows them: in one line, at most 500 characters."""

    streams = False
    limit = MESSAGE_LIMIT

    def __init__(
        self,
        channel: str,
        *,
        say: Callable[[str], Awaitable[None]],
        tell: Callable[[str], None],
        recent: StoredMessages,
    ) -> None:
        self._channel = channel
        self._say = say
        self._tell = tell
        self._recent = recent

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        yield  # Twitch shows nobody typing

    async def send(self, text: str) -> None:
        line = one_line(text)
        if line:
            await self._say(line)

    async def notice(self, text: str) -> None:
        self._tell(text)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._recent.recent(limit)

    async def scene(self) -> Scene:
        return Scene(channel=ChannelContext(self._channel, ChannelKind.text))
