"""OwnerContact: who the owner is, and how to reach them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from familiar_connect.identity import Author

IsOwner = Callable[[Author], bool]
TellOwner = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class _Channel:
    """What one platform knows of the owner."""

    is_owner: IsOwner | None
    tell: TellOwner | None


class OwnerContact:
    """Each platform connects while it runs and says whom it takes for the owner and how to write to them."""

    def __init__(self) -> None:
        self._channels: list[_Channel] = []

    @contextmanager
    def connect(self, *, is_owner: IsOwner | None = None, tell: TellOwner | None = None) -> Iterator[None]:
        """Know the owner by *is_owner* too, and reach them by *tell*, while this is open."""
        channel = _Channel(is_owner, tell)
        self._channels.append(channel)
        try:
            yield
        finally:
            self._channels = [each for each in self._channels if each is not channel]

    def is_owner(self, author: Author) -> bool:
        """Whether some platform takes *author* for the owner."""
        return any(channel.is_owner is not None and channel.is_owner(author) for channel in self._channels)

    @property
    def is_reachable(self) -> bool:
        """Whether some platform can write to the owner now."""
        return any(channel.tell is not None for channel in self._channels)

    async def tell(self, sentence: str) -> bool:
        """Tell the owner by the first way that was connected; False: there is none."""
        tell = next((channel.tell for channel in self._channels if channel.tell is not None), None)
        if tell is None:
            return False
        await tell(sentence)
        return True
