"""FileServer: a small HTTP server on loopback that gives files, redirects and misbehaves on request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 24
JPEG = b"\xff\xd8\xff\xe0" + b"\x00" * 24


@dataclass(frozen=True, kw_only=True)
class FileAnswer:
    """One answer."""

    body: bytes = PNG
    kind: str = "image/png"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    says_length: bool = True
    stalls: bool = False
    """Says nothing after its head, for ever."""


@dataclass
class FileServer:
    """Use as `async with FileServer({"/a.png": Served()}) as server`."""

    files: dict[str, FileAnswer]
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Host header and path of every request."""
    port: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> FileServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def url(self, path: str, host: str = "files.example") -> str:
        return f"http://{host}:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            path = head[0].split()[1]
            self.asked.append((headers["host"], path))
            await self._answer(writer, self.files.get(path, FileAnswer(status=404)))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, served: FileAnswer) -> None:
        lines = [f"HTTP/1.1 {served.status} Whatever", f"Content-Type: {served.kind}", "Connection: close"]
        lines += [f"Content-Length: {len(served.body)}"] if served.says_length else []
        lines += [f"{name}: {value}" for name, value in served.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        await writer.drain()
        if served.stalls:
            await asyncio.Event().wait()
        writer.write(served.body)
        await writer.drain()
