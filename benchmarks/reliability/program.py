"""The real program, `familiar run`, on our own Discord, with a model endpoint that answers by number."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from aiohttp import web

from benchmarks.reliability.traffic import number_of
from familiar_connect.testing.discord_server.server import DiscordServer

_TOP = Path(__file__).resolve().parent.parent.parent
START_WITHIN_S = 90.0


class NumberModel:
    """An OpenAI-compatible endpoint that answers with the number of what was said last, in several paragraphs."""

    def __init__(self, *, pieces: int) -> None:
        self._pieces = pieces
        self.base_url = ""
        self.on_asked: Callable[[], None] | None = None
        """Told of each request before it is answered."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[NumberModel]:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.add_routes([web.post("/v1/chat/completions", self._complete)])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
            yield self
        finally:
            await runner.cleanup()

    async def _complete(self, request: web.Request) -> web.Response:
        asked = await request.json()
        if self.on_asked is not None:
            self.on_asked()
        text = self._reply([str(message["content"]) for message in asked["messages"]])
        if not asked.get("stream"):
            message = {"role": "assistant", "content": text}
            return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        events = [
            {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        ]
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        return web.Response(text=body, content_type="text/event-stream")

    def _reply(self, contents: list[str]) -> str:
        last = next((text for text in reversed(contents) if number_of(text) is not None), "")
        mark = f"[m{number_of(last) or 0:06d}]"
        return "\n\n".join(f"I heard {mark}, part {part + 1}." for part in range(self._pieces))


class Program:
    """A process of `familiar run`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    def kill_now(self) -> None:
        """End it this moment, without a word."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def kill(self) -> None:
        """The same, and wait until it is gone."""
        self.kill_now()
        await self._process.wait()

    async def leave(self, within_s: float = 30.0) -> None:
        """Ask it to end, as a service manager does."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._process.wait()
        await self.kill()


@asynccontextmanager
async def running_program(home: Path, server: DiscordServer) -> AsyncIterator[Program]:
    """`familiar run` in *home*, once it is connected; killed at the end if it has not left by itself."""
    before = len(server.facts_of("gateway:2"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FAMILIAR_", "OPENROUTER_"))}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "familiar_connect",
        "run",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=home,
        env={
            **kept,
            "FAMILIAR_HOME": str(home),
            "DISCORD_BOT": server.token,
            "DISCORD_API_URL": server.api_url,
            "PYTHONPATH": str(_TOP / "src"),
        },
    )
    program = Program(process)
    try:
        await server.until(lambda: len(server.facts_of("gateway:2")) > before, within_s=START_WITHIN_S)
        yield program
    finally:
        await program.kill()
