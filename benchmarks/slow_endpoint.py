"""Does a slow model get to answer? `python -m benchmarks.slow_endpoint [--seconds 60] [--loading 0]`.

An endpoint that works on one request at a time and takes so many seconds to its first token is asked through the two
doors people use, each in a process of its own with the settings that ship: `familiar chat` in a pipe and
`familiar run` on our own Discord. Printed are the seconds from the message to the reply. `--loading` lets the endpoint
answer for a while that it is still loading its model, as llama.cpp does. Exit code 0: both doors answered.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from aiohttp import web

from benchmarks.model_endpoint import completion_response, serve_endpoint
from benchmarks.reliability.program import running_program
from benchmarks.table import Row, table
from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.subscriptions import SubscriptionKind, SubscriptionRegistry

_TOP = Path(__file__).resolve().parent.parent
REPLY = "I am here, I only needed a while."
SLACK_S = 120.0
"""How much longer than its first token a door may take before it is given up: side calls, start, typing."""
LOOK_EVERY_S = 0.1


class SlowEndpoint:
    """One lane, so many seconds to the first token, and for a while perhaps not even loaded."""

    def __init__(self, *, seconds: float, loading_s: float = 0.0) -> None:
        self._seconds = seconds
        self._loaded_at = time.monotonic() + loading_s
        self._lane = asyncio.Lock()
        self.base_url = ""
        self.asked = 0
        self.left = 0
        """Callers that hung up before they were answered."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[SlowEndpoint]:
        async with serve_endpoint(self._complete) as self.base_url:
            yield self

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        if time.monotonic() < self._loaded_at:
            loading = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
            return web.json_response(loading, status=503)
        self.asked += 1
        async with self._lane:
            await self._work(request)
        return completion_response(REPLY, is_stream=bool(asked.get("stream")))

    async def _work(self, request: web.Request) -> None:
        """Take the time, unless the caller hangs up: then the lane is free at once, as with llama.cpp."""
        ends = time.monotonic() + self._seconds
        while time.monotonic() < ends:
            if request.transport is None or request.transport.is_closing():
                self.left += 1
                raise web.HTTPGone
            await asyncio.sleep(LOOK_EVERY_S)


def make_home(home: Path, base_url: str) -> Path:
    """A home with Ember in it, pointed at the endpoint and otherwise as it ships; the familiar's folder."""
    root = make_starter(home, "ember")
    settings = FamiliarFolder(root).settings_file
    text = settings.read_text(encoding="utf-8")
    slot = f'[llm.default]\nmodel = "slow-model"\nbase_url = "{base_url}"\n'
    settings.write_text(text.replace("[llm.default]\n", slot, 1), encoding="utf-8")
    return root


async def ask_in_terminal(home: Path, within_s: float) -> tuple[float, str, str]:
    """One line into `familiar chat`: seconds, what was answered, and what was said beside it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FAMILIAR_", "OPENROUTER_"))}
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "familiar_connect", "chat", "--plain"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=home,
        env={**kept, "FAMILIAR_HOME": str(home), "PYTHONPATH": str(_TOP / "src")},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        process.stdin.write(b"Are you there?\n")
        await process.stdin.drain()
        async with asyncio.timeout(within_s):
            said = await process.stdout.readline()
        took = time.monotonic() - began
    except TimeoutError:
        said, took = b"", time.monotonic() - began
    finally:
        process.kill()
        beside = await process.stderr.read()
        await process.wait()
    return took, said.decode().strip(), beside.decode()


async def ask_on_discord(home: Path, root: Path, within_s: float) -> tuple[float, str, int]:
    """One mention to `familiar run`: seconds, what was answered, and how often it was seen typing."""
    async with DiscordServer() as server:
        guild = server.world.guild("The Burrow")
        ada = server.world.person("ada")
        room = server.world.room(guild, "general")
        SubscriptionRegistry(FamiliarFolder(root).subscriptions_file).add(
            channel_id=room.id, kind=SubscriptionKind.text, guild_id=guild.id
        )
        async with running_program(home, server) as program:
            await server.until(lambda: bool(server.api.interactions.commands), within_s=60)
            began = time.monotonic()
            await server.post(room, ada, f"<@{server.world.bot.id}> are you there?")
            with suppress(TimeoutError):
                await server.until(lambda: server.replies_in(room), within_s=within_s)
            took = time.monotonic() - began
            said, typed = " ".join(server.replies_in(room)), len(server.facts_of("typing"))
            await program.leave()
    return took, said, typed


async def measure(seconds: float, loading_s: float) -> list[Row]:
    """Both doors, each with an endpoint of its own, at the same time."""
    within_s = seconds + loading_s + SLACK_S
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        async with (
            SlowEndpoint(seconds=seconds, loading_s=loading_s).running() as first,
            SlowEndpoint(seconds=seconds, loading_s=loading_s).running() as second,
        ):
            make_home(Path(one), first.base_url)
            root = make_home(Path(other), second.base_url)
            typed_at, on_discord = await asyncio.gather(
                ask_in_terminal(Path(one), within_s), ask_on_discord(Path(other), root, within_s)
            )
    bar = "it answers"
    shows = " (told: it is loading)" if "loading" in typed_at[2] else ""
    return [
        Row(name="terminal", value=f"{typed_at[0]:.1f} s{shows}", bar=bar, ok=typed_at[1] == REPLY),
        Row(
            name="Discord",
            value=f"{on_discord[0]:.1f} s (typing shown {on_discord[2]} times)",
            bar=bar,
            ok=on_discord[1] == REPLY,
        ),
    ]


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slow_endpoint", description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="To the first token.")
    parser.add_argument("--loading", type=float, default=0.0, help="Seconds for which the model is still loading.")
    given = parser.parse_args(words)
    rows = asyncio.run(measure(given.seconds, given.loading))
    print(table({f"{given.seconds:g} s to the first token": rows}))
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
