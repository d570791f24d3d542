"""HTTP on a socket of this computer: listening, and connections that end when nothing comes of them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from familiar_connect.errors import SetupError
from familiar_connect.support.http_server.checks import AsgiApp, is_loopback

MAX_CONNECTIONS = 256
BACKLOG = 128
"""Visitors who wait to be let in; asyncio tries so often at once when it cannot."""
GOODBYE_S = 2
REQUEST_WITHIN_S = 15.0
"""A connection that has sent no whole request by then, its first or its next, is closed."""
MAX_WAITING = 64
"""Connections without a request; one more, and the one that waited longest is closed, so that there is room."""
READ_WITHIN_S = 60.0
"""A client that reads nothing of its answer for so long is let go."""
MAX_PER_CLIENT = 64
"""Connections of one other computer; this one may have all of them."""


class PageServer(Protocol):
    """What answers visitors."""

    async def serve(self, sockets: list[socket.socket] | None = None) -> None: ...

    def leave(self) -> None:
        """End well: answer what was asked, take nothing new."""

    def close(self) -> None:
        """Let go of the socket, after the server was cancelled."""


def make_server(app: AsgiApp) -> PageServer:
    """A server that answers by *app* until it is cancelled, or told to leave."""
    import uvicorn

    class Server(uvicorn.Server):
        """Leaves signals to whoever started us."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        def leave(self) -> None:
            self.should_exit = True

        def close(self) -> None:
            for each in getattr(self, "servers", ()):  # cancelled, it leaves its socket with the loop
                each.close()

    config = uvicorn.Config(
        app,
        http=make_protocol(),
        log_config=None,
        log_level="error",  # a stranger writes no line of the log with each crooked request
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        backlog=BACKLOG,
        timeout_graceful_shutdown=GOODBYE_S,
    )
    return Server(config)


def make_protocol() -> type[asyncio.Protocol]:
    """HTTP of uvicorn whose connections end when nothing comes of them, so that nobody holds all there are."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    waiting: dict[asyncio.Protocol, asyncio.Transport] = {}
    """Connections without a request, the one that waits longest first."""

    class TimedProtocol(H11Protocol):
        """Closes a connection that does not send a request, or does not read its answer, in time."""

        _waits: asyncio.TimerHandle | None = None
        _writes: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            host = self.client[0] if self.client else ""
            others = sum((getattr(each, "client", None) or ("",))[0] == host for each in self.connections)
            if not is_loopback(host) and others > MAX_PER_CLIENT:
                transport.abort()
                return
            self._wait_for_request()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._wait_for_request()
            else:
                _cancel(self._waits)
                self._waits = None
                waiting.pop(self, None)

        def _wait_for_request(self) -> None:
            self._waits = self._waits or self.loop.call_later(REQUEST_WITHIN_S, self._end_if_idle)
            waiting.setdefault(self, self.transport)
            if len(waiting) > MAX_WAITING:
                waiting.pop(next(iter(waiting))).abort()

        def _end_if_idle(self) -> None:
            self._waits = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.abort()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._writes = self._writes or self.loop.call_later(READ_WITHIN_S, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            _cancel(self._writes)
            self._writes = None

        def connection_lost(self, exc: Exception | None) -> None:
            waiting.pop(self, None)
            _cancel(self._waits)
            _cancel(self._writes)
            super().connection_lost(exc)

    return TimedProtocol


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def listen_on(host: str, port: int, *, what: str = "the page", start: str = "`familiar web --port 0`") -> socket.socket:
    """A socket that listens at *host* and *port*; a sentence where it cannot, with how to *start* it on a free one."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SetupError(f"{host} is not an address of this computer ({error.strerror}); leave --host out") from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(where)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise SetupError(
            f"{what} cannot listen on {host}:{port} ({error.strerror}): another program does; {start} takes a free one"
        ) from error
    made.setblocking(False)
    return made
