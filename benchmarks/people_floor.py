"""Whether the people floor lands in every turn while the later tiers of content search are sabotaged at random.

A thousand turns through the real provider and the pipeline's own gathering. Retriever, side model, index build and
history each fail in ways drawn from a fixed seed: they hang, raise, ignore being cancelled, block threads, answer
rubbish. Counted is how many turns hold the speaker's file. Run `python -m benchmarks.people_floor [--quick] [--json]`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.table import parse_arguments
from familiar_connect.context.gather import gather
from familiar_connect.context.providers.content_search.provider import ContentSearchProvider
from familiar_connect.context.types import ContextRequest, Modality
from familiar_connect.errors import ModelError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.llm.types import Message
from familiar_connect.memory.index.protocols import RetrievedChunk
from familiar_connect.memory.store import MemoryStore

TURNS = 1_000
QUICK_TURNS = 100
AT_ONCE = 20
PEOPLE = 50
TURN_S = 2.0
ASSEMBLY_SHARE = 0.6
SEED = 4


class Saboteur:
    """Does something else than it should, each time something drawn at random."""

    def __init__(self, chance: random.Random, rightly: Any) -> None:
        self._chance = chance
        self._rightly = rightly
        self.free = threading.Event()
        self.done: Counter[str] = Counter()
        self._ways: dict[str, Callable[[], Awaitable[Any]]] = {
            "works": self._work,
            "hangs": self._hang,
            "ignores being cancelled": self._ignore,
            "blocks a thread": self._block,
            "raises": self._raise(RuntimeError("broken")),
            "is offline": self._raise(ModelError("no route to host")),
            "is locked": self._raise(sqlite3.OperationalError("database is locked")),
            "times out": self._raise(TimeoutError()),
            "cancels itself": self._raise(asyncio.CancelledError()),
            "answers rubbish": self._rubbish,
        }

    async def act(self) -> Any:
        way = self._chance.choice(sorted(self._ways))
        self.done[way] += 1
        return await self._ways[way]()

    async def query(self, utterance: str, top_k: int, *, exclude_paths: set[str] | None = None) -> list[RetrievedChunk]:
        found: list[RetrievedChunk] = await self.act()
        return found

    async def chat(self, messages: list[Message]) -> Message:
        said: Message = await self.act()
        return said

    async def _work(self) -> Any:
        return self._rightly

    async def _hang(self) -> Any:
        await asyncio.Event().wait()

    async def _ignore(self) -> Any:
        while not self.free.is_set():
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                continue

    async def _block(self) -> Any:
        await asyncio.to_thread(self.free.wait)

    async def _rubbish(self) -> Any:
        return self._chance.choice([None, 7, "\udc80", [None]])

    @staticmethod
    def _raise(error: BaseException) -> Callable[[], Awaitable[Any]]:
        async def fail() -> Any:
            raise error

        return fail


class HistoryThatFails(HistoryStore):
    """A history that is now and then locked or broken."""

    chance = random.Random(SEED)

    def recent_distinct_authors(self, *, familiar_id: str, channel_id: int, limit: int) -> list[Author]:
        if self.chance.random() < 0.3:
            raise sqlite3.OperationalError("database is locked")
        return super().recent_distinct_authors(familiar_id=familiar_id, channel_id=channel_id, limit=limit)


def measure(turns: int = TURNS) -> dict[str, Any]:
    """How many of *turns* held the speaker's file, how long each took, and what went wrong meanwhile."""
    with tempfile.TemporaryDirectory(prefix="familiar-floor-", ignore_cleanup_errors=True) as folder:
        return asyncio.run(_measure(Path(folder), turns))


async def _measure(folder: Path, turns: int) -> dict[str, Any]:
    chance = random.Random(SEED)
    store, history, people = _home(folder)
    retriever = Saboteur(chance, [RetrievedChunk("topics/lantern.md", "Lantern", "Lit at dusk.", 0.5)])
    model = Saboteur(chance, Message(role="assistant", content="ANSWER: It was lit at dusk."))
    landed, statuses, seconds = 0, Counter[str](), list[float]()

    async def turn(number: int) -> None:
        nonlocal landed
        speaker = people[number % len(people)]
        provider = ContentSearchProvider(
            store=store, llm_client=model, history_store=history, retriever=retriever, index_build=model.act
        )
        began = time.perf_counter()
        [outcome] = await gather([provider], _request(speaker, number), time_left_s=TURN_S * ASSEMBLY_SHARE)
        seconds.append(time.perf_counter() - began)
        statuses[outcome.status] += 1
        landed += any(c.key == speaker.slug and f"Notes on {speaker.label}" in c.text for c in outcome.contributions)

    for first in range(0, turns, AT_ONCE):
        async with asyncio.TaskGroup() as group:
            for number in range(first, min(first + AT_ONCE, turns)):
                group.create_task(turn(number))
    model.free.set()
    retriever.free.set()
    history.close()
    ordered = sorted(seconds)
    return {
        "turns": turns,
        "landed": landed,
        "statuses": dict(statuses),
        "p50_s": round(ordered[len(ordered) // 2], 3),
        "worst_s": round(ordered[-1], 3),
        "granted_s": TURN_S * ASSEMBLY_SHARE,
        "retriever": dict(sorted(retriever.done.items())),
        "model": dict(sorted(model.done.items())),
    }


def _home(folder: Path) -> tuple[MemoryStore, HistoryStore, list[Author]]:
    store = MemoryStore(folder / "memory")
    history = HistoryThatFails(folder / "history.db")
    people = [Author(platform="discord", user_id=str(n), username=f"p{n}", display_name=f"P{n}") for n in range(PEOPLE)]
    for who in people:
        store.write_file(f"people/{who.slug}.md", f"Notes on {who.label}.\n" + "They like long walks.\n" * 300)
        history.append_turn(familiar_id="wren", channel_id=1, role="user", author=who, content="hello")
    store.write_file("topics/lantern.md", "# Lantern\n\nLit at dusk.")
    return store, history, people


def _request(speaker: Author, number: int) -> ContextRequest:
    return ContextRequest("wren", 1, None, speaker, f"question {number}", Modality.text, 6000, TURN_S)


def show(found: dict[str, Any]) -> str:
    mark = "✓" if found["landed"] == found["turns"] else "✗"
    return "\n".join(
        [
            f"{mark} speaker's file landed in {found['landed']} of {found['turns']} turns (bar: all of them)",
            f"  a turn took {found['p50_s']} s in the middle, {found['worst_s']} s at worst, of {found['granted_s']} s",
            f"  the retriever: {', '.join(f'{way} {count}' for way, count in found['retriever'].items())}",
            f"  the side model: {', '.join(f'{way} {count}' for way, count in found['model'].items())}",
        ]
    )


def main(arguments: list[str]) -> int:
    options = parse_arguments(arguments, __doc__)
    logging.disable(logging.CRITICAL)  # every failure is logged, and here failing is the point
    found = measure(QUICK_TURNS if options.quick else TURNS)
    print(json.dumps(found, indent=2) if options.json else show(found))
    return 0 if found["landed"] == found["turns"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
