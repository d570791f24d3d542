"""ServedPlace: a chat of another program as a place, open for one request: what is said goes into its answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from familiar_connect.api import (
    Author,
    InboundMessage,
    Place,
    PlaceFeatures,
    PlatformHost,
    ReadBy,
    Scene,
    Tool,
)
from familiar_connect.extensions.serve.program_tools import ProgramTool, ProgramTools, ToolRequest

PIECE_LIMIT = 1_000_000


@dataclass(frozen=True)
class AnswerPiece:
    """Something that belongs into an answer: words of the reply, or a sentence on why there are none."""

    text: str
    is_notice: bool = False
    call: ToolRequest | None = None
    """A tool that the program is to run; the answer ends with it."""


class ServedPlace(Place):
    """Hands the pieces of one reply to whoever writes the answer."""

    features = PlaceFeatures(limit=PIECE_LIMIT, streams=True)

    def __init__(
        self,
        channel: str,
        speaker: Author,
        read_by: ReadBy,
        recent: Callable[[str, int], Awaitable[Sequence[InboundMessage]]],
        *,
        note: str = "",
        tools: Sequence[ProgramTool] = (),
    ) -> None:
        """*note* is what the program tells a model, as much of it as there is room for; *tools* are its own."""
        self.channel = channel
        self._speaker = speaker
        self._read_by = read_by
        self._recent = recent
        self._note = note
        self.program_tools = ProgramTools(tools, self._hand_over)
        self._pieces: asyncio.Queue[AnswerPiece | None] = asyncio.Queue()

    async def send(self, text: str) -> None:
        self._pieces.put_nowait(AnswerPiece(text))

    async def notice(self, text: str) -> None:
        self._pieces.put_nowait(AnswerPiece(text, is_notice=True))

    def tools(self) -> Sequence[Tool]:
        return self.program_tools.list_tools()

    def _hand_over(self, call: ToolRequest) -> None:
        self._pieces.put_nowait(AnswerPiece("", call=call))

    def end(self) -> None:
        """Nothing more is said."""
        self._pieces.put_nowait(None)

    async def pieces(self) -> AsyncIterator[AnswerPiece]:
        """What is said, as it comes, to the end."""
        while (piece := await self._pieces.get()) is not None:
            yield piece

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._recent(self.channel, limit)

    async def scene(self) -> Scene:
        return PlatformHost.scene(
            self.channel, read_by=self._read_by, people=(self._speaker,), program_note=self._note or None
        )
