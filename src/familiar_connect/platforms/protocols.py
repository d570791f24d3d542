"""Platform: what an adapter has to offer."""

from __future__ import annotations

from typing import Protocol


class Platform(Protocol):
    """Turns its own events into ours and our replies into its own, until cancelled."""

    id: str

    async def run(self) -> None: ...
