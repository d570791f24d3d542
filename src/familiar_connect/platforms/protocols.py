"""Platform: what an adapter has to offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from familiar_connect.chat.place import Place


class Platform(Protocol):
    """Turns its own events into ours and our replies into its own, until cancelled."""

    id: str

    @property
    def places(self) -> Sequence[type[Place]]:
        """The kinds of place it answers in; they are looked over before it runs."""

    async def run(self) -> None: ...
