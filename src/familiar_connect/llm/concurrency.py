"""RequestSemaphore: how many model calls may run at once, in the whole process.

Side calls never take the last place, so a reply never waits behind them; a waiting reply goes before
waiting side calls. The gate belongs to no event loop: it serves loops one after another and side by
side, and takes back the places of a loop that was closed without giving them up.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType

DEFAULT_MAX_CONCURRENT = 4


@dataclass(eq=False)
class _Ticket:
    """One caller, waiting or inside."""

    main: bool
    loop: asyncio.AbstractEventLoop
    admitted: asyncio.Future[None] = field(init=False)

    def __post_init__(self) -> None:
        self.admitted = self.loop.create_future()


class RequestSemaphore:
    """A semaphore with one place kept free for the main reply.

    `async with gate` takes any place; `gate.place(main=False)` leaves the last one alone.
    """

    def __init__(self, max_concurrent: int = DEFAULT_MAX_CONCURRENT) -> None:
        self._lock = threading.Lock()
        self._inside: list[_Ticket] = []
        self._waiting: deque[_Ticket] = deque()
        self._limit = 0
        self.resize(max_concurrent)

    @property
    def max_concurrent(self) -> int:
        return self._limit

    @property
    def running(self) -> int:
        """Calls inside now."""
        return len(self._inside)

    @property
    def waiting(self) -> int:
        """Calls waiting for a place."""
        return len(self._waiting)

    def is_full(self) -> bool:
        """Whether a caller for any place would have to wait."""
        return len(self._inside) >= self._limit

    def resize(self, max_concurrent: int) -> None:
        """Change the number of places; calls already inside stay."""
        if max_concurrent < 1:
            raise ValueError("max_concurrent must be at least 1")
        with self._lock:
            self._limit = max_concurrent
            self._admit_waiting()

    @asynccontextmanager
    async def reserve(self, *, main: bool) -> AsyncIterator[None]:
        """Hold one place while the block runs."""
        ticket = await self._enter(main)
        try:
            yield
        finally:
            self._leave(ticket)

    async def acquire(self) -> bool:
        await self._enter(True)
        return True

    def release(self) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            held = next((ticket for ticket in self._inside if ticket.loop is loop), None)
        if held is None:
            raise RuntimeError("released a place that was not held")
        self._leave(held)

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    async def _enter(self, main: bool) -> _Ticket:
        ticket = _Ticket(main, asyncio.get_running_loop())
        with self._lock:
            self._waiting.append(ticket)
            self._admit_waiting()
        try:
            await ticket.admitted
        except BaseException:
            self._leave(ticket)
            raise
        return ticket

    def _leave(self, ticket: _Ticket) -> None:
        with self._lock:
            if ticket in self._inside:
                self._inside.remove(ticket)
            elif ticket in self._waiting:
                self._waiting.remove(ticket)
            self._admit_waiting()

    def _admit_waiting(self) -> None:
        """Let in whoever may come, main replies first. The lock is held."""
        self._inside = [ticket for ticket in self._inside if not ticket.loop.is_closed()]
        self._waiting = deque(ticket for ticket in self._waiting if not ticket.loop.is_closed())
        for ticket in sorted(self._waiting, key=lambda waiting: not waiting.main):
            places = self._limit if ticket.main else max(1, self._limit - 1)
            if len(self._inside) >= places:
                break
            self._waiting.remove(ticket)
            try:
                ticket.loop.call_soon_threadsafe(_admit, ticket.admitted)
            except RuntimeError:
                continue  # its loop was closed this very moment
            self._inside.append(ticket)


def _admit(admitted: asyncio.Future[None]) -> None:
    if not admitted.done():
        admitted.set_result(None)


_gate = RequestSemaphore()


def get_request_semaphore(max_concurrent: int = DEFAULT_MAX_CONCURRENT) -> RequestSemaphore:
    """The process-wide gate, set to *max_concurrent* places. Usable as `async with`."""
    if _gate.max_concurrent != max_concurrent:
        _gate.resize(max_concurrent)
    return _gate


def request_semaphore() -> RequestSemaphore:
    """The process-wide gate as it stands."""
    return _gate
