"""HttpServer: HTTP on loopback, as much as a client of the Bot API uses of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import h11

MAX_READ = 64 * 1024
MAX_BODY = 8 * 1024 * 1024


@dataclass(frozen=True)
class HttpRequest:
    """A path and the fields that came with it, in its address or its body."""

    path: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class HttpAnswer:
    """What is sent back."""

    status: int
    body: bytes
    content_type: str = "application/json"


def make_json_answer(status: int, value: object) -> HttpAnswer:
    return HttpAnswer(status, json.dumps(value).encode())


class HttpServer:
    """Use as an async context manager; `port` is where it is then."""

    def __init__(self, answer: Callable[[HttpRequest], Awaitable[HttpAnswer | None]]) -> None:
        """*answer* gives None where the connection is to be cut without one."""
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def cut(self) -> None:
        """End every connection without a word."""
        for each in self._connections:
            each.cancel()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(OSError, h11.RemoteProtocolError, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request after another on one connection."""
        wire = h11.Connection(h11.SERVER)
        while (asked := await _read_request(wire, reader)) is not None:
            answer = await self._answer(asked)
            if answer is None:
                return
            headers = [("Content-Type", answer.content_type), ("Content-Length", str(len(answer.body)))]
            head = h11.Response(status_code=answer.status, headers=headers)
            for event in (head, h11.Data(data=answer.body), h11.EndOfMessage()):
                writer.write(wire.send(event) or b"")
            await writer.drain()
            if wire.our_state is not h11.DONE or wire.their_state is not h11.DONE:
                return
            wire.start_next_cycle()


async def _read_request(wire: h11.Connection, reader: asyncio.StreamReader) -> HttpRequest | None:
    """The next request of a connection; None: it ended."""
    asked: h11.Request | None = None
    body = b""
    while True:
        event = wire.next_event()
        if event is h11.NEED_DATA:
            wire.receive_data(await reader.read(MAX_READ))
        elif isinstance(event, h11.Request):
            asked = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_BODY:
                return None
        elif isinstance(event, h11.EndOfMessage) and asked is not None:
            return _to_request(asked, body)
        else:
            return None


def _to_request(asked: h11.Request, body: bytes) -> HttpRequest:
    address = urlsplit(asked.target.decode())
    fields = dict(parse_qsl(address.query, keep_blank_values=True))
    kind = next((value for name, value in asked.headers if name == b"content-type"), b"")
    if kind.startswith(b"application/json"):
        given: dict[str, Any] = json.loads(body or b"{}")
        fields |= {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}
    else:
        fields |= parse_qsl(body.decode(), keep_blank_values=True)
    return HttpRequest(unquote(address.path), fields)
