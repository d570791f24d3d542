"""Random programs that edit, regenerate, take back, move and leave out lines, against what is kept of their chats."""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.table import Row
from familiar_connect.config.folders import HomeFolder
from familiar_connect.extensions.serve.reconcile import ShownLine
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import ChannelKey
from tests.fakes.client_history import ClientHistory, find_faults
from tests.fakes.endpoint import Endpoint, served_endpoint

HISTORIES, QUICK_HISTORIES = 1_000, 10
MOST_DEEDS = 14
TOO_MANY = 429
PLATFORM = "serve"
NO_LIMITS = "\n[limits]\nreplies_per_person_per_minute = 0\ntokens_per_person_per_day = 0\n"
AGAIN_S = 0.2
"""How long a program waits that asked too often."""
AT_ONCE = 4
"""Programs that ask at the same time."""


def measure(*, histories: int = HISTORIES, seed: int = 39) -> dict[str, Any]:
    """Play every history through a started `familiar serve`, then read its chat from the home."""
    with tempfile.TemporaryDirectory(prefix="familiar-histories-") as folder:
        with served_endpoint(Path(folder) / "home", settings=NO_LIMITS) as endpoint:
            key = endpoint.add_key("client", "Sam")
            with ThreadPoolExecutor(AT_ONCE) as pool:
                numbers = range(histories)
                played = list(pool.map(lambda number: _play(endpoint, key, seed, number), numbers))
        faults = _find_faults(endpoint.home, played)
    return {
        "histories": histories,
        "requests": sum(len(client.deeds) for client, _ in played),
        "deeds": {deed: sum(client.deeds.count(deed) for client, _ in played) for deed in sorted(_deeds(played))},
        "doubled": [fault for fault in faults if "doubled" in fault],
        "lost": [fault for fault in faults if "lost" in fault],
        "other": [fault for fault in faults if "doubled" not in fault and "lost" not in fault],
        "seed": seed,
    }


def _deeds(played: Sequence[tuple[ClientHistory, list[str]]]) -> set[str]:
    return {deed for client, _ in played for deed in client.deeds}


def _play(endpoint: Endpoint, key: str, seed: int, number: int) -> tuple[ClientHistory, list[str]]:
    """One program's chat, to its end; what was wrong with its prompts."""
    rng = random.Random(f"{seed}:{number}")
    client, wrong = ClientHistory(rng), list[str]()

    async def send(shown: Sequence[ShownLine]) -> str:
        messages = [{"role": "assistant" if line.is_own else "user", "content": line.text} for line in shown]
        asked = {"model": "ember", "messages": messages, "chat_id": f"history-{number}"}
        status, answer = _ask(endpoint, asked, key)
        if status != 200:
            wrong.append(f"history {number}: {status} {answer}, after {client.deeds}")
            return f"no reply {len(client.lines)}"
        return str(answer["choices"][0]["message"]["content"])

    async def play() -> None:
        for _ in range(rng.randrange(1, MOST_DEEDS + 1)):
            await client.act(send)

    asyncio.run(play())
    if sys.stderr.isatty():
        sys.stderr.write(f"\rhistory {number}\x1b[K")
    return client, wrong


def _ask(endpoint: Endpoint, asked: object, key: str) -> tuple[int, Any]:
    """The answer, however often one has to ask."""
    while (found := endpoint.ask("/chat/completions", asked, key=key))[0] == TOO_MANY:
        time.sleep(AGAIN_S)
    return found


def _find_faults(home: Path, played: Sequence[tuple[ClientHistory, list[str]]]) -> list[str]:
    """What the home has twice, lacks or has in another order than the programs show."""
    root = HomeFolder(home).familiar("ember")
    faults = [each for _, wrong in played for each in wrong]
    with closing(HistoryStore(root.history_db)) as history:
        channels = history.channel_keys.ids_from(PLATFORM, "", -1)
        by_marks: dict[str, list[ShownLine]] = {}
        for channel in channels:
            number = history.channel_keys.number_of(ChannelKey(PLATFORM, channel))
            turns = history.recent(familiar_id=root.familiar_id, channel_id=number, limit=400)
            lines = [ShownLine(turn.role == "assistant", turn.content) for turn in turns]
            by_marks |= {line.text: lines for line in lines if line.is_own}
    for number, (client, _) in enumerate(played):
        own = next(line.text for line in reversed(client.lines) if line.is_own)
        kept = by_marks.get(own, [])
        faults += [f"history {number}, {fault}, after {client.deeds}" for fault in find_faults(client, kept)]
    return faults


def rows(found: dict[str, Any]) -> list[Row]:
    what = f"{found['histories']:,} random histories, {found['requests']:,} requests"
    return [
        Row(name=f"lines that stand twice, {what}", value=str(len(found["doubled"])), bar="0", ok=not found["doubled"]),
        Row(name="lines that were lost", value=str(len(found["lost"])), bar="0", ok=not found["lost"]),
        Row(name="chats in another order, or refused", value=str(len(found["other"])), bar="0", ok=not found["other"]),
    ]
