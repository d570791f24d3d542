"""Faults: answers that go wrong on purpose, each for a number of requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Fault:
    """What befalls the next requests that match."""

    method: str
    path_part: str
    times: int = 1
    status: int | None = None
    """Answer with it; None: answer as usual once `until` is set."""
    body: str = "{}"
    headers: dict[str, str] = field(default_factory=dict)
    until: asyncio.Event | None = None
    after_effect: bool = False
    """The request takes effect all the same, and only its answer is lost."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a request has met it."""


class Faults:
    """The faults still to come, in order."""

    def __init__(self) -> None:
        self._coming: list[Fault] = []
        self.on_unforeseen: Callable[[str, str], Fault | None] | None = None
        """Asked for a fault, with method and path, where none was foreseen."""

    def add(self, fault: Fault) -> Fault:
        self._coming.append(fault)
        return fault

    def add_rate_limit(self, method: str, path_part: str, *, retry_after_s: float = 0.01, times: int = 1) -> Fault:
        body = f'{{"message": "You are being rate limited.", "retry_after": {retry_after_s}, "global": false}}'
        return self.add(Fault(method, path_part, times, 429, body, {"Via": "demo", "Retry-After": "1"}))

    def add_failure(self, method: str, path_part: str, status: int, *, times: int = 1, code: int = 0) -> Fault:
        return self.add(Fault(method, path_part, times, status, f'{{"code": {code}, "message": "no"}}'))

    def add_hold(self, method: str, path_part: str) -> Fault:
        """Matching requests wait until the fault's `until` is set."""
        return self.add(Fault(method, path_part, until=asyncio.Event()))

    async def take(self, method: str, path: str) -> Fault | None:
        """The fault that befalls this request, once it has been held as long as it should."""
        fault = self._next(method, path)
        if fault is not None:
            fault.reached.set()
            if fault.until is not None and not fault.after_effect:
                await fault.until.wait()
        return fault

    def _next(self, method: str, path: str) -> Fault | None:
        for fault in self._coming:
            if fault.method == method and fault.path_part in path:
                fault.times -= 1
                if fault.times <= 0:
                    self._coming.remove(fault)
                return fault
        return self.on_unforeseen(method, path) if self.on_unforeseen is not None else None
