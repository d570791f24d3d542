"""Pages of a chat without a browser, in a process of their own, for `benchmarks.web`.

Each holds the stream of the chat and asks for what a page with an open glass box asks for. Run with a port, a cookie,
where the pages of the familiar begin, and a chat; each line on standard input says how many pages are to be open.
`open N` is printed when they are, and `settled` when each has been told the end of a reply and has everything it asked
for.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from contextlib import suppress

FIRST_LOOK_S, LOOK_AGAIN_S = 0.5, 1.0
"""As in `glass.js`."""
TOO_MANY_S = 0.3


class OpenPages:
    """The pages that are open."""

    def __init__(self, port: int, cookie: str, at: str, chat: int) -> None:
        self._at = at
        self._port = port
        self._cookie = cookie
        self._chat = chat
        self._streams: list[asyncio.Task[None]] = []
        self._settled = 0

    async def set_number(self, number: int) -> None:
        """Open or close pages until there are *number*."""
        while len(self._streams) > number:
            stream = self._streams.pop()
            stream.cancel()
            with suppress(asyncio.CancelledError):
                await stream
        while len(self._streams) < number:
            is_open = asyncio.Event()
            self._streams.append(asyncio.ensure_future(self._show(is_open)))
            await is_open.wait()
        self._settled = 0

    async def _show(self, is_open: asyncio.Event) -> None:
        reader, writer = await self._ask(f"/chats/{self._chat}/events")
        looking: asyncio.Task[None] | None = None
        last = 0
        try:
            kind = ""
            while line := (await reader.readline()).decode():
                if line.startswith("event: "):
                    kind = line[7:].strip()
                elif line.startswith("data: "):
                    facts = json.loads(line[6:])
                    if kind == "state":
                        last = int(facts["latest"])
                        is_open.set()
                    elif kind == "thinking":
                        looking = looking or asyncio.ensure_future(self._watch_turn())
                    elif kind in ("said", "done"):
                        if kind == "done" and looking is not None:
                            looking.cancel()
                            looking = None
                        last = await self._take(facts, last, is_over=kind == "done")
        finally:
            writer.close()
            if looking is not None:
                looking.cancel()

    async def _take(self, facts: dict[str, object], last: int, *, is_over: bool) -> int:
        """Take what is new, by the event or by asking; at the end of a reply the turn that made it too."""
        html = facts.get("html")
        if not isinstance(html, str) or int(str(facts.get("after"))) > last:
            html = await self.read(f"/chats/{self._chat}/messages?after={last}")
        ids = [int(found) for found in re.findall(r'data-id="(\d+)"', html)]
        if is_over:
            for turn in re.findall(r'data-turn="([^"]+)"', html)[-1:]:
                await self.read(f"/turns/{turn}/panel")
            self._settled += 1
            if self._settled == len(self._streams):
                self._settled = 0
                print("settled", flush=True)
        return max([last, *ids])

    async def _watch_turn(self) -> None:
        await asyncio.sleep(FIRST_LOOK_S)
        while True:
            await self.read(f"/running/{self._chat}")
            await asyncio.sleep(LOOK_AGAIN_S)

    async def read(self, path: str) -> str:
        reader, writer = await self._ask(path)
        try:
            return (await reader.read()).decode()
        finally:
            writer.close()

    async def _ask(self, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        head = f"GET {self._at}{path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
        head += f"Cookie: {self._cookie}\r\nConnection: close\r\n"
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**24)
            writer.write(f"{head}\r\n".encode())
            if b" 429 " not in await reader.readuntil(b"\r\n\r\n"):
                return reader, writer
            writer.close()
            await asyncio.sleep(TOO_MANY_S)


async def main(port: str, cookie: str, at: str, chat: str) -> None:
    pages = OpenPages(int(port), cookie, at, int(chat))
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        await pages.set_number(int(line))
        print(f"open {int(line)}", flush=True)
    await pages.set_number(0)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
