"""UnsentPlace: the chat in a file as a place that can do what the file says there is, and where nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.transcript_file import Transcript
from familiar_connect.chat.types import InboundMessage

LIMIT = 2000


class UnsentPlace(Place):
    """Its stickers may be sent, so a prompt tells of them as it would in the channel."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    @property
    def features(self) -> PlaceFeatures:
        return PlaceFeatures(limit=LIMIT, stickers=bool(self._transcript.seen.stickers))

    async def send(self, text: str) -> None:
        """Nothing is sent."""

    async def send_sticker(self, name: str) -> None:
        """Nothing is sent."""

    async def notice(self, text: str) -> None:
        """Nobody is told."""

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._transcript.recent(limit)

    async def scene(self) -> Scene:
        return await self._transcript.scene()
