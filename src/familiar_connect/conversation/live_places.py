"""LivePlaces: the channels of platforms that are connected now, for whoever speaks there from elsewhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from familiar_connect.chat.place import Place

FindPlace = Callable[[int], Awaitable[Place | None]]
"""The channel of that id; None while it cannot be reached."""


class LivePlaces:
    """A platform adds its channels while it is connected."""

    def __init__(self) -> None:
        self._finders: dict[str, FindPlace] = {}

    @contextmanager
    def connect(self, platform: str, find_place: FindPlace) -> Iterator[None]:
        """Let channels of *platform* be found while this is open."""
        self._finders[platform] = find_place
        try:
            yield
        finally:
            if self._finders.get(platform) is find_place:
                del self._finders[platform]

    def has(self, platform: str) -> bool:
        """Whether the platform is connected in this program."""
        return platform in self._finders

    async def find(self, platform: str, channel_id: int) -> Place | None:
        """The channel as a place to speak in; None where it cannot be reached."""
        finder = self._finders.get(platform)
        return await finder(channel_id) if finder is not None else None
