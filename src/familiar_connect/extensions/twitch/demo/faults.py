"""Faults: answers of Helix and of the token service that go wrong on purpose, each for a number of requests."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass
class Fault:
    """What befalls the next requests to a path that has *path_part* in it."""

    path_part: str
    times: int = 1
    status: int | None = None
    """Answer with it; None: the connection is cut without an answer."""
    headers: dict[str, str] = field(default_factory=dict)
    is_after_effect: bool = False
    """The request takes effect all the same, and only its answer is lost."""
    until: asyncio.Event | None = None
    """Held until it is set."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a request has met it."""


class Faults:
    """The faults still to come, in order."""

    def __init__(self) -> None:
        self._coming: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        self._coming.append(fault)
        return fault

    async def take(self, path: str) -> Fault | None:
        """The fault that befalls this request, once it has been held as long as it should."""
        found = next((fault for fault in self._coming if fault.path_part in path), None)
        if found is None:
            return None
        found.times -= 1
        if found.times <= 0:
            self._coming.remove(found)
        found.reached.set()
        if found.until is not None:
            await found.until.wait()
        return found
