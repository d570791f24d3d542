"""Faults: calls of the Bot API that go wrong on purpose, each for a number of times."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from familiar_connect.extensions.telegram.demo.http_server import HttpAnswer, make_json_answer


@dataclass
class Fault:
    """What befalls the next calls of a method."""

    method: str
    times: int = 1
    status: int | None = None
    """Answer with it; None: the connection is cut without an answer."""
    is_after_effect: bool = False
    """The call takes effect all the same, and only its answer is lost."""
    until: asyncio.Event | None = None
    """Held until it is set."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a call has met it."""

    def to_answer(self) -> HttpAnswer | None:
        if self.status is None:
            return None
        return make_json_answer(
            self.status, {"ok": False, "error_code": self.status, "description": "Internal Server Error"}
        )


class Faults:
    """The faults still to come, in order."""

    def __init__(self) -> None:
        self._coming: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        self._coming.append(fault)
        return fault

    async def take(self, method: str) -> Fault | None:
        """The fault that befalls this call, once it has been held as long as it should."""
        found = next((fault for fault in self._coming if fault.method.lower() == method.lower()), None)
        if found is None:
            return None
        found.times -= 1
        if found.times <= 0:
            self._coming.remove(found)
        found.reached.set()
        if found.until is not None:
            await found.until.wait()
        return found
