"""Place: a channel as we meet it. Its delivering half is `Delivery`, its seeing half `Surroundings`."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from familiar_connect.chat.scene import Surroundings


@runtime_checkable
class Delivery(Protocol):
    """A way to answer."""

    streams: bool
    """Wants pieces as they come, rather than the whole text."""
    limit: int
    """The longest piece the platform takes, in characters."""

    def thinking(self) -> AbstractAsyncContextManager[None]: ...
    async def send(self, text: str) -> None: ...
    async def notice(self, text: str) -> None:
        """Tell people something that is not the familiar speaking."""


@runtime_checkable
class Place(Delivery, Surroundings, Protocol):
    """A channel as we meet it."""
