"""The real program, `familiar run`, on our own Discord, with a model endpoint that answers by number."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Protocol

from aiohttp import web

from benchmarks.model_endpoint import completion_response, serve_endpoint
from benchmarks.reliability.traffic import number_of
from familiar_connect.extensions.discord.demo.server import DiscordServer
from tests.fakes.program_process import environment, start_program

_TOP = Path(__file__).resolve().parent.parent.parent
START_WITHIN_S = 90.0


class NumberModel:
    """An OpenAI-compatible endpoint that answers with the number of what was said last, in several paragraphs."""

    def __init__(self, *, pieces: int, takes_s: float = 0.0) -> None:
        self._pieces = pieces
        self._takes_s = takes_s
        self.base_url = ""
        self.on_asked: Callable[[], None] | None = None
        """Told of each request before it is answered."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[NumberModel]:
        async with serve_endpoint(self._complete) as self.base_url:
            yield self

    async def _complete(self, request: web.Request) -> web.Response:
        asked = await request.json()
        if self.on_asked is not None:
            self.on_asked()
        await asyncio.sleep(self._takes_s)
        text = self._reply([str(message["content"]) for message in asked["messages"]])
        return completion_response(text, is_stream=bool(asked.get("stream")))

    def _reply(self, contents: list[str]) -> str:
        last = next((text for text in reversed(contents) if number_of(text) is not None), "")
        mark = f"[m{number_of(last) or 0:06d}]"
        return "\n\n".join(f"I heard {mark}, part {part + 1}." for part in range(self._pieces))


class ProgramHandle(Protocol):
    """A process that runs: started by the event loop, or forked."""

    def kill(self) -> None: ...
    def terminate(self) -> None: ...
    async def wait(self) -> int: ...


class ForkedProgram:
    """`familiar run`, forked from a process that has the program loaded."""

    def __init__(self, home: Path, variables: Mapping[str, str]) -> None:
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            self._process = start_program(["run"], (nothing,) * 3, environment(home, variables), cwd=home)
        finally:
            os.close(nothing)

    def kill(self) -> None:
        self._process.kill()

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    async def wait(self) -> int:
        return await asyncio.to_thread(self._process.wait)


class Program:
    """A process of `familiar run`."""

    def __init__(self, process: ProgramHandle) -> None:
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
async def running_program(home: Path, server: DiscordServer, *, is_forked: bool = False) -> AsyncIterator[Program]:
    """`familiar run` in *home*, once it is connected; killed at the end if it has not left by itself.

    *is_forked*: from a process that has the program loaded, which spares loading it where many are started.
    """
    before = len(server.facts_of("gateway:2"))
    variables = {"DISCORD_BOT": server.token, "DISCORD_API_URL": server.api_url}
    program = Program(ForkedProgram(home, variables) if is_forked else await _start(home, variables))
    try:
        await server.until(lambda: len(server.facts_of("gateway:2")) > before, within_s=START_WITHIN_S)
        yield program
    finally:
        await program.kill()


async def _start(home: Path, variables: Mapping[str, str]) -> asyncio.subprocess.Process:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FAMILIAR_", "OPENROUTER_"))}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "familiar_connect",
        "run",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=home,
        env={**kept, "FAMILIAR_HOME": str(home), "PYTHONPATH": str(_TOP / "src"), **variables},
    )
