"""The limit on requests to models: how many run at once, and who goes first at one server.

Replies have as many places at their endpoint as the setting of their slot says, and never wait behind side calls,
which share the places of the whole process and leave its last one alone; while a reply waits for a place, no side
call to the same endpoint begins. A server of one's own often works on one request at a time, so a side call to it waits
while a reply is asked there, and one that is under way gives its place up when a reply comes. The limit
belongs to no event loop: it serves loops one after another and side by side, and takes back the places of
a loop that was closed without giving them up.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType

DEFAULT_MAX_CONCURRENT = 4


class GaveWayError(Exception):
    """A side call was broken off because a reply is asked at the same server; it may be made again at once."""


@dataclass(frozen=True, kw_only=True)
class RequestPlace:
    """Where a request goes, and how many of its kind may be there at a time."""

    endpoint: str | None = None
    slot: str = ""
    at_once: int | None = None
    """None: it shares the places of the whole process."""


ANYWHERE = RequestPlace()


@dataclass(eq=False)
class Reservation:
    """One request, waiting for its place or in it."""

    main: bool
    loop: asyncio.AbstractEventLoop
    server: str | None = None
    """The server asked, where one request keeps it from working on others; None: it does not matter."""
    gives_way: bool = False
    """Whether it may be broken off for a reply."""
    place: RequestPlace = ANYWHERE
    admitted: asyncio.Future[None] = field(init=False)
    limit: asyncio.Timeout | None = field(init=False, default=None)
    server_free_at: float | None = field(init=False, default=None)
    """When, by the loop's clock, another reply ended that was asked at the same server meanwhile."""

    def __post_init__(self) -> None:
        self.admitted = self.loop.create_future()

    @property
    def has_own_place(self) -> bool:
        """Whether it is a reply that counts only among those of its slot and endpoint."""
        return self.main and self.place.at_once is not None

    def shares_server(self, other: Reservation) -> bool:
        return other is not self and self.server is not None and self.server == other.server

    def break_off(self) -> None:
        """End the request in its own loop; it raises `GaveWayError`."""
        if self.limit is not None and not self.limit.expired():
            with suppress(RuntimeError):  # it has ended by itself meanwhile
                self.limit.reschedule(self.loop.time())

    def note_server_free(self) -> None:
        self.server_free_at = self.loop.time()


class RequestSemaphore:
    """A semaphore with one place kept free for the main reply.

    `async with gate` takes any place; `gate.reserve(main=False)` leaves the last one alone.
    """

    def __init__(self, max_concurrent: int = DEFAULT_MAX_CONCURRENT) -> None:
        self._lock = threading.Lock()
        self._inside: list[Reservation] = []
        self._waiting: deque[Reservation] = deque()
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
    async def reserve(
        self, *, main: bool, server: str | None = None, gives_way: bool = False, place: RequestPlace = ANYWHERE
    ) -> AsyncIterator[Reservation]:
        """Hold one place while the block runs; *place* says among which requests it counts.

        *server* names a server that works on few requests at a time: a side call waits while a reply is asked there,
        and one that *gives_way* ends in `GaveWayError` when a reply comes.
        """
        ticket = await self._enter(main, server, gives_way and not main, place)
        try:
            if not ticket.gives_way:
                yield ticket
                return
            async with asyncio.timeout(None) as ticket.limit:
                if self.is_asked_for_reply(ticket):
                    ticket.break_off()  # the reply came between our being let in and our going on
                yield ticket
        except TimeoutError:
            if ticket.limit is None or not ticket.limit.expired():
                raise
            raise GaveWayError from None
        finally:
            self._leave(ticket)

    def is_asked_for_reply(self, ticket: Reservation) -> bool:
        """Whether another reply is asked at the server of *ticket*, or is about to be."""
        with self._lock:
            return any(other.main and ticket.shares_server(other) for other in (*self._inside, *self._waiting))

    def is_busy_with_reply(self, ticket: Reservation) -> bool:
        """Whether the server of *ticket* works on a reply that was let in before it."""
        with self._lock:
            inside = list(self._inside)
        earlier = inside[: inside.index(ticket)] if ticket in inside else inside
        return any(other.main and ticket.shares_server(other) for other in earlier)

    async def acquire(self) -> bool:
        await self._enter(True, None, False, ANYWHERE)
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

    async def _enter(self, main: bool, server: str | None, gives_way: bool, place: RequestPlace) -> Reservation:
        ticket = Reservation(main, asyncio.get_running_loop(), server, gives_way, place)
        with self._lock:
            self._waiting.append(ticket)
            if main:
                self._call(Reservation.break_off, [each for each in self._inside if each.gives_way], ticket)
            self._admit_waiting()
        try:
            await ticket.admitted
        except BaseException:
            self._leave(ticket)
            raise
        return ticket

    def _leave(self, ticket: Reservation) -> None:
        with self._lock:
            if ticket in self._inside:
                self._inside.remove(ticket)
                if ticket.main:
                    self._call(Reservation.note_server_free, self._inside, ticket)
            elif ticket in self._waiting:
                self._waiting.remove(ticket)
            self._admit_waiting()

    @staticmethod
    def _call(what: Callable[[Reservation], None], whom: Iterable[Reservation], ticket: Reservation) -> None:
        """Do *what* to those of *whom* that are asked at the server of *ticket*, each in its own loop."""
        for other in whom:
            if other.shares_server(ticket):
                with suppress(RuntimeError):  # its loop is closed: nobody waits there any more
                    other.loop.call_soon_threadsafe(what, other)

    def _must_wait_for_reply(self, ticket: Reservation) -> bool:
        """Whether a side call waits because a reply is asked at its server, or waits there. The lock is held."""
        if ticket.main:
            return False
        endpoint = ticket.place.endpoint
        return any(other.main and ticket.shares_server(other) for other in (*self._inside, *self._waiting)) or any(
            other.main and endpoint is not None and other.place.endpoint == endpoint for other in self._waiting
        )

    def _is_full_for(self, ticket: Reservation) -> bool:
        """Whether there is no place for *ticket* now. The lock is held."""
        place, most = ticket.place, ticket.place.at_once
        alike = [
            each for each in self._inside if (each.place.endpoint, each.place.slot) == (place.endpoint, place.slot)
        ]
        if most is not None and len(alike) >= most:
            return True
        if ticket.has_own_place:
            return False
        sharing = sum(not each.has_own_place for each in self._inside)
        return sharing >= (self._limit if ticket.main else max(1, self._limit - 1))

    def _admit_waiting(self) -> None:
        """Let in whoever may come, main replies first. The lock is held."""
        self._inside = [ticket for ticket in self._inside if not ticket.loop.is_closed()]
        self._waiting = deque(ticket for ticket in self._waiting if not ticket.loop.is_closed())
        for ticket in sorted(self._waiting, key=lambda waiting: not waiting.main):
            if self._is_full_for(ticket) or self._must_wait_for_reply(ticket):
                continue
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
