"""Line: the cable between the bot and our Discord's gateway, which can be cut; and answers that go wrong by chance."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from familiar_connect.extensions.discord.demo.faults import Fault
from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.support.aio import BackgroundTasks

CHUNK = 65_536


class ServerBehindProxy(DiscordServer):
    """A Discord whose gateway is reached through a line of its own."""

    line_port = 0

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self.line_port}/gateway"

    @property
    def real_port(self) -> int:
        return self._port


class CuttableProxy:
    """Passes bytes both ways until it is cut, in the middle of a word if need be."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._ends: set[asyncio.StreamWriter] = set()
        self._background = BackgroundTasks("line")
        self.cuts = 0

    async def handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        ends = {writer, far_writer}
        self._ends |= ends
        there = self._background.start(_pass_on(reader, far_writer), name="there")
        back = self._background.start(_pass_on(far_reader, writer), name="back")
        await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
        for task in (there, back):
            task.cancel()
        self._ends -= ends
        for end in ends:
            end.close()

    def cut(self) -> None:
        self.cuts += 1
        for end in self._ends:
            end.transport.abort()

    async def aclose(self) -> None:
        self.cut()
        await self._background.aclose()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()


@asynccontextmanager
async def server_behind_proxy() -> AsyncIterator[tuple[ServerBehindProxy, CuttableProxy]]:
    """A Discord, and the line its gateway is reached by."""
    async with ServerBehindProxy() as server:
        line = CuttableProxy(server.real_port)
        listening = await asyncio.start_server(line.handle_connection, "127.0.0.1", 0)
        server.line_port = listening.sockets[0].getsockname()[1]
        try:
            yield server, line
        finally:
            listening.close()
            await line.aclose()


class RandomFaults:
    """Faults by chance, the same ones for the same seed and the same requests."""

    def __init__(self, seed: int, *, hangs_s: float, share: float = 1.0) -> None:
        self._rng = random.Random(seed)
        self._hangs_s = hangs_s
        self._share = share
        self.met: dict[str, int] = {}

    def __call__(self, method: str, path: str) -> Fault | None:
        """What befalls this request, if anything does."""
        drawn = self._rng.random() / self._share if self._share else 1.0
        if not path.startswith("/api/channels/") and not path.startswith("/api/users/@me/channels"):
            return None
        if drawn < 0.08:
            return self._note("429", _limited(method))
        if drawn < 0.13:
            return self._note("500", Fault(method, "", status=500))
        if drawn < 0.16:
            return self._note("500 after the effect", Fault(method, "", status=500, after_effect=True))
        if drawn < 0.18:
            return self._note("no answer", self._hanging(method))
        if drawn < 0.20:
            return self._note("no answer after the effect", self._hanging(method, after_effect=True))
        return None

    def _note(self, name: str, fault: Fault) -> Fault:
        self.met[name] = self.met.get(name, 0) + 1
        return fault

    def _hanging(self, method: str, *, after_effect: bool = False) -> Fault:
        over = asyncio.Event()
        asyncio.get_running_loop().call_later(self._hangs_s, over.set)
        return Fault(method, "", until=over, status=504, after_effect=after_effect)


def _limited(method: str) -> Fault:
    body = '{"message": "You are being rate limited.", "retry_after": 0.2, "global": false}'
    return Fault(method, "", status=429, body=body, headers={"Via": "demo", "Retry-After": "1"})
