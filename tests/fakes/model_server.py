"""ModelServer: a small HTTP server on loopback that behaves as model endpoints do, well and badly.

Each request takes the next answer of the script; the last one is given again and again. What was
asked is kept in `requests`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

Answer = Callable[["ModelServer", asyncio.StreamWriter], Awaitable[None]]


QUESTIONS = ("/models", "/props", "/api/show")


@dataclass(frozen=True, kw_only=True)
class Request:
    path: str
    headers: dict[str, str]
    payload: Any


@dataclass
class ModelServer:
    """Use as `async with ModelServer([answers]) as server`."""

    script: list[Answer]
    about: dict[str, Any] = field(default_factory=dict)
    """What it says of itself, by path (`/v1/models`, `/props`, `/api/show`); what is not here it does not know."""
    questions: list[str] = field(default_factory=list)
    """Paths that were asked about itself; no part of the script."""
    models: list[str] | None = None
    """What is told to whoever asks for the list of models; None: that address is not known."""
    requests: list[Request] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a request has been read."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client hung up before it was answered whole."""
    running: int = 0
    most_running: int = 0
    base_url: str = ""
    port: int = 0
    """Where it listens; 0: wherever there is room."""
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> ModelServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._one_request(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _one_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode().strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if self.models is not None and first.split()[1].endswith("/v1/models"):
            listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
            await json_answer(listed)(self, writer)
            return
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        path = first.split()[1]
        if path.endswith(QUESTIONS):
            self.questions.append(path)
            await (json_answer(self.about[path]) if path in self.about else error_answer(404))(self, writer)
            return
        self.requests.append(Request(path=path, headers=headers, payload=json.loads(body)))
        self.arrived.set()
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        hung_up = asyncio.create_task(reader.read(1))
        answering = asyncio.ensure_future(answer(self, writer))
        try:
            await asyncio.wait({hung_up, answering}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                raise ConnectionResetError
            answering.result()
        finally:
            self.running -= 1
            for task in (hung_up, answering):
                task.cancel()
            await asyncio.gather(hung_up, answering, return_exceptions=True)


def head(status: int = 200, kind: str = "text/event-stream", **headers: str) -> bytes:
    """Status line and headers of an answer that ends with its connection."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def event(text: str | None = None, *, finish: str | None = None, **more: Any) -> bytes:
    """One streamed event."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **more}, ensure_ascii=False).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def raw_answer(*chunks: bytes, then: Answer | None = None) -> Answer:
    """Exactly these bytes, each sent by itself."""

    async def answer(server: ModelServer, writer: asyncio.StreamWriter) -> None:
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(0)
        if then is not None:
            await then(server, writer)

    return answer


def stream_answer(*pieces: str, usage: dict[str, Any] | None = None, **facts: Any) -> Answer:
    """A whole, well-behaved stream."""
    events = [event(piece, **facts) for piece in pieces] + [event(finish="stop", **facts)]
    if usage is not None:
        events.append(b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n")
    return raw_answer(head(), *events, DONE)


def whole_answer(content: Any, **facts: Any) -> Answer:
    """A whole, unstreamed answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return json_answer({"choices": [choice], **facts})


def answer_as_asked(content: str) -> Answer:
    """Streamed to whoever asks for a stream, whole to others."""

    async def answer(server: ModelServer, writer: asyncio.StreamWriter) -> None:
        is_stream = server.requests[-1].payload.get("stream")
        await (stream_answer(content) if is_stream else whole_answer(content))(server, writer)

    return answer


def json_answer(value: Any, status: int = 200, **headers: str) -> Answer:
    body = json.dumps(value).encode()
    return raw_answer(head(status, "application/json", Content_Length=str(len(body)), **headers) + body)


def error_answer(status: int, message: str = "no", **headers: str) -> Answer:
    return json_answer({"error": {"message": message}}, status, **headers)


async def stall(server: ModelServer, writer: asyncio.StreamWriter) -> None:
    """Say nothing, for ever."""
    await asyncio.Event().wait()


async def reset_connection(server: ModelServer, writer: asyncio.StreamWriter) -> None:
    """Reset the connection."""
    writer.transport.abort()
    raise ConnectionResetError


def answer_late(seconds: float, answer: Answer) -> Answer:
    """*answer*, after so many seconds of the loop's time."""

    async def wait_first(server: ModelServer, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        await answer(server, writer)

    return wait_first


def answer_after(opened: asyncio.Event, answer: Answer) -> Answer:
    """*answer*, once *opened* is set."""

    async def wait_first(server: ModelServer, writer: asyncio.StreamWriter) -> None:
        await opened.wait()
        await answer(server, writer)

    return wait_first
