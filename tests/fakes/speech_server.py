"""SpeechServer: a server on loopback that answers as speech services do, well and badly.

Each call takes the next answer of the script; the last one is given again and again. What was asked is kept.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.program import serve_beside

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
Talk = Callable[[web.WebSocketResponse], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call, as it came."""

    path: str
    headers: dict[str, str]
    query: dict[str, str]
    body: bytes

    @property
    def payload(self) -> Any:
        return json.loads(self.body)


@dataclass
class SpeechServer:
    """Use as `async with SpeechServer([answers]) as server`."""

    script: list[Answer]
    calls: list[Call] = field(default_factory=list)
    base_url: str = ""
    open_now: int = 0
    """Calls that are being answered."""
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> SpeechServer:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = b"" if request.headers.get("Upgrade") else await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.calls.append(Call(path=request.path, headers=headers, query=dict(request.query), body=body))
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        self.open_now += 1
        try:
            return await answer(request)
        finally:
            self.open_now -= 1


def speech_endpoint(*script: Answer) -> AbstractContextManager[SpeechServer]:
    """A speech server that lives beside blocking test code, in a thread."""
    return serve_beside(SpeechServer(list(script)))


def sound_answer(pcm: bytes, kind: str = "audio/pcm") -> Answer:
    """Sound, as it is."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=pcm, content_type=kind)

    return answer


def object_answer(value: object, status: int = 200) -> Answer:
    """A JSON object."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(value, status=status)

    return answer


async def cut_off(request: web.Request) -> web.StreamResponse:
    """Hangs up without a word."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def silent_answer(_: web.Request) -> web.StreamResponse:
    """Never answers."""
    await asyncio.Event().wait()
    return web.Response()


def endless_answer(kind: str = "audio/pcm") -> Answer:
    """Sound without an end, as fast as it is taken."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        try:
            while True:
                await response.write(bytes(64 * 1024))
        except ConnectionError:
            return response

    return answer


def talk_answer(talk: Talk) -> Answer:
    """A websocket that *talk* speaks on; it is closed when *talk* returns."""

    async def answer(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(autoping=True)
        await socket.prepare(request)
        with suppress(ConnectionError):  # whoever listened may have gone
            await talk(socket)
            if not socket.closed:
                await socket.close()
        return socket

    return answer
