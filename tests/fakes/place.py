"""ListeningPlace: a channel that keeps everything sent to it, and can be made to wait or to fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage


@dataclass
class RecordingPlace(Place):
    """Keeps what was sent and what was noted."""

    streams: bool = False
    limit: int = 2000
    tells_asker: bool = False
    sent: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    thoughts: int = 0
    """How often thinking was shown."""
    fails_with: Exception | None = None
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)
    hold: asyncio.Event | None = None
    """Set: each send waits for it before it goes through."""

    @property
    def features(self) -> PlaceFeatures:
        return PlaceFeatures(limit=self.limit, streams=self.streams, tells_asker=self.tells_asker)

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        self.thoughts += 1
        yield

    async def send(self, text: str) -> None:
        if self.fails_with is not None:
            raise self.fails_with
        if self.hold is not None:
            await self.hold.wait()
        self.sent.append(text)
        async with self.arrived:
            self.arrived.notify_all()

    async def notice(self, text: str) -> None:
        self.notices.append(text)

    async def until_sent(self, pieces: int) -> None:
        """Wait until so many pieces have arrived."""
        async with self.arrived:
            await self.arrived.wait_for(lambda: len(self.sent) >= pieces)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return ()

    async def scene(self) -> Scene:
        return Scene(channel=ChannelContext("den", ChannelKind.text))


@dataclass
class EditablePlace(RecordingPlace):
    """A channel whose messages can be changed; `sent` holds what each reads now, `seen` every state in order."""

    edit_interval_s: float = 1.0
    seen: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def features(self) -> PlaceFeatures:
        return replace(super().features, edits=True, edit_interval_s=self.edit_interval_s)

    async def post(self, text: str) -> object:
        await self.send(text)
        self.seen.append(tuple(self.sent))
        return len(self.sent) - 1

    async def edit(self, posted: object, text: str) -> None:
        if self.fails_with is not None:
            raise self.fails_with
        assert isinstance(posted, int)
        self.sent[posted] = text
        self.seen.append(tuple(self.sent))


@dataclass
class ClosedPlace(RecordingPlace):
    """A channel that may be closed to us."""

    reason: str | None = "the thread is locked"

    async def why_not_writable(self) -> str | None:
        return self.reason
