"""WebPlatform: serves the page until it is told to stop."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from familiar_connect.errors import SetupError
from familiar_connect.platforms.web.app import WebParts, create_app

MAX_CONNECTIONS = 256
GOODBYE_S = 2


class WebPlatform:
    """The page, on a socket that listens already."""

    id = "web"

    def __init__(self, parts: WebParts, listening: socket.socket) -> None:
        self._parts = parts
        self._listening = listening

    async def run(self) -> None:
        """Serve until cancelled."""
        import uvicorn

        class Server(uvicorn.Server):
            """Leaves signals to whoever started us."""

            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield

        config = uvicorn.Config(
            create_app(self._parts),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=GOODBYE_S,
        )
        try:
            with self._parts.chats.connect_reminders():
                await Server(config).serve(sockets=[self._listening])
        finally:
            if self._parts.familiars is not None:
                await self._parts.familiars.aclose()
            await self._parts.rehearsals.aclose()
            await self._parts.chats.aclose()


def listen_on(host: str, port: int) -> socket.socket:
    """A socket that listens at *host* and *port*; a sentence where it cannot."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SetupError(f"{host} is no address of this computer ({error.strerror}); leave --host out") from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(where)
        made.listen(128)
    except OSError as error:
        made.close()
        raise SetupError(
            f"the page cannot listen on {host}:{port} ({error.strerror}): another program does; "
            "`familiar web --port 0` takes a free one"
        ) from error
    made.setblocking(False)
    return made
