"""RehearsedGroup: a group of a rehearsal: what is said stands as Telegram shows it, and only its members read it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from familiar_connect.api import (
    InboundMessage,
    ListedUser,
    Place,
    PlaceFeatures,
    PlatformHost,
    ReadBy,
    ReplyTarget,
    Scene,
)
from familiar_connect.extensions.telegram.formatting import to_entities
from familiar_connect.extensions.telegram.marks import TelegramMarks
from familiar_connect.extensions.telegram.place import LIMIT


class RehearsedGroup(Place):
    """Posts by *post*."""

    features = PlaceFeatures(limit=LIMIT, posts_answers=True)

    def __init__(self, name: str, post: Callable[[str], Awaitable[None]]) -> None:
        self._name = name
        self._post = post

    def text_marks(self, users: Sequence[ListedUser]) -> TelegramMarks:
        return TelegramMarks(users, lambda user_id: None)

    async def send(self, text: str) -> None:
        await self.post_answer(text)

    async def post_answer(self, text: str, *, target: ReplyTarget | None = None) -> str | None:
        plain, _ = to_entities(text.strip())
        if plain:
            await self._post(plain)
        return None

    async def notice(self, text: str) -> None:
        """Told to the owner, who is not there."""

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return ()

    async def scene(self) -> Scene:
        return PlatformHost.scene(self._name, read_by=ReadBy.members)
