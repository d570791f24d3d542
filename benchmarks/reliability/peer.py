"""The bot a familiar is compared with: the same library, every message appended to SQLite, every question echoed.

It decides nothing, remembers nothing and reads nothing back: what it costs is the least a bot can cost.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import sys
from pathlib import Path
from typing import Any

from benchmarks.reliability.child import Plan, serve
from benchmarks.reliability.process_stats import ProcessStats
from benchmarks.reliability.traffic import NAME
from familiar_connect.extensions.discord.client import Application, make_client, use_api_url
from familiar_connect.support.aio import cancel_and_wait


class Archive:
    """One table; each message is on disk when `append` returns."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE said (id TEXT PRIMARY KEY, channel INTEGER, author TEXT, text TEXT)")

    def append(self, message: Any) -> None:
        row = (str(message.id), message.channel.id, str(message.author), message.content)
        self._connection.execute("INSERT OR IGNORE INTO said VALUES (?, ?, ?, ?)", row)


async def run_peer(plan: Plan) -> None:
    archive, gauge = Archive(Path(plan.root) / "peer.db"), ProcessStats()
    client = make_client(Application(owners=frozenset(), may_see_members=True, may_see_presence=True))
    busy: set[int] = set()
    writing, idle = asyncio.Lock(), asyncio.Event()

    async def on_message(message: Any) -> None:
        if message.author.bot:
            return
        busy.add(message.id)
        idle.clear()
        try:
            async with writing:
                await asyncio.to_thread(archive.append, message)
            if client.user in message.mentions or NAME in message.content:
                await message.channel.send(message.content, nonce=str(message.id))
        finally:
            busy.discard(message.id)
            if not busy:
                idle.set()

    async def answer(line: str) -> Any:
        if line == "read":
            return gauge.read()
        await idle.wait()
        return []

    client.on_message = on_message
    with use_api_url(plan.api_url):
        tasks = [asyncio.create_task(client.start(plan.token)), asyncio.create_task(gauge.run())]
        try:
            await serve(answer)
        finally:
            await client.close()
            for task in tasks:
                await cancel_and_wait(task)


def main(arguments: list[str]) -> None:
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    asyncio.run(run_peer(Plan(**json.loads(arguments[0]))))


if __name__ == "__main__":
    main(sys.argv[1:])
