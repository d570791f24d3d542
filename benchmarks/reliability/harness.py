"""Our own Discord with its people, a familiar's folder that listens there, and the process that plays the part.

The server lives in this process, the bot in one of its own: what is measured there is the bot's alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.reliability.child import Plan
from benchmarks.reliability.traffic import TrafficMessage
from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.world import FakePerson, Room
from familiar_connect.subscriptions import SubscriptionKind, SubscriptionRegistry

FAMILIAR_ID = "ember"
AT_ONCE = 'mode = "text_conversation_rp"\n[typing_simulation]\nenabled = false\n'
LOOK_EVERY_S = 0.1
START_WITHIN_S = 90.0
_TOP = Path(__file__).resolve().parent.parent.parent


@dataclass
class TrialServer:
    """A Discord with rooms and people, and everything said and answered on it so far."""

    server: DiscordServer
    rooms: list[Room]
    people: list[FakePerson]
    said: dict[str, TrafficMessage] = field(default_factory=dict)
    """By the id Discord gave it, in the order it was said."""

    @property
    def mention(self) -> str:
        return f"<@{self.server.world.bot.id}>"

    async def say(self, what: TrafficMessage) -> None:
        message = await self.server.post(self.rooms[what.room], self.people[what.person], what.text)
        self.said[message["id"]] = what

    def replies(self, room: Room) -> list[str]:
        """What the bot has in *room*, oldest first."""
        ours = str(self.server.world.bot.id)
        return [each["content"] for each in room.messages.values() if each["author"]["id"] == ours]


def make_trial_server(server: DiscordServer, *, rooms: int, people: int) -> TrialServer:
    """Five servers at most, the rooms spread over them, everybody on each."""
    world = server.world
    company = [world.person(f"person{number:03d}") for number in range(people)]
    guilds = [world.guild(f"Harbour {number}") for number in range(min(5, rooms))]
    made = [world.room(guilds[number % len(guilds)], f"room-{number:02d}") for number in range(rooms)]
    return TrialServer(server, made, company)


NO_LIMITS = "[limits]\nreplies_per_person_per_minute = 0"
"""A few people ask as much as a crowd."""


def make_home(home: Path, rooms: list[Room], *, settings: str = "", channel: str = AT_ONCE) -> Path:
    """A familiar's folder that listens in every room; where it is."""
    root = make_starter(home, FAMILIAR_ID)
    character = root / "character.toml"
    text = character.read_text(encoding="utf-8").replace("[limits]", NO_LIMITS)
    character.write_text(settings + text, encoding="utf-8")
    (root / "channels").mkdir(exist_ok=True)
    subscriptions = SubscriptionRegistry(root / "subscriptions.toml")
    for room in rooms:
        path = root / "channels" / f"{room.id}.toml"
        path.write_text(channel, encoding="utf-8")
        subscriptions.add(channel_id=room.id, kind=SubscriptionKind.text, guild_id=room.guild_id)
    return root


class Child:
    """A process of `benchmarks.reliability`, spoken with line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ask(self, what: str) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n".encode())
        await self._process.stdin.drain()
        return await self.line()

    async def line(self) -> Any:
        assert self._process.stdout is not None
        text = await self._process.stdout.readline()
        if not text:
            raise RuntimeError(f"the process under test ended with {await self._process.wait()}")
        return json.loads(text)

    async def leave(self, within_s: float = 60.0) -> None:
        """Let it end as it likes to."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(within_s):
                await self._process.wait()
        finally:
            await self.kill()

    def kill_now(self) -> None:
        """End it this moment, without a word."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def kill(self) -> None:
        """The same, and wait until it is gone."""
        self.kill_now()
        await self._process.wait()


async def start(module: str, plan: Plan, **more: str) -> Child:
    """A new process, with *more* in its environment; it has begun when this returns, and need not be connected yet."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"benchmarks.reliability.{module}",
        json.dumps(asdict(plan)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=_TOP,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(_TOP / "src"), str(_TOP))), **more},
        limit=64 * 1024 * 1024,
    )
    child = Child(process)
    try:
        async with asyncio.timeout(START_WITHIN_S):
            await child.line()
    except BaseException:
        await child.kill()
        raise
    return child


@asynccontextmanager
async def running_process(server: DiscordServer, module: str, plan: Plan, **more: str) -> AsyncIterator[Child]:
    """A process that is connected; killed at the end if it has not left by itself."""
    before = len(server.facts_of("gateway:2"))
    child = await start(module, plan, **more)
    try:
        await server.until(lambda: len(server.facts_of("gateway:2")) > before, within_s=START_WITHIN_S)
        yield child
    finally:
        await child.kill()


async def until(condition: Callable[[], object], *, within_s: float) -> bool:
    """Look now and then whether *condition* holds; False: it did not in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(LOOK_EVERY_S)
            return True
    return False


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a history: what a person said under an id, or what the familiar said."""

    channel_id: int
    role: str
    message_id: str | None
    text: str


def history(root: Path) -> list[Row]:
    """Every row, in the order of the history."""
    with closing(sqlite3.connect(f"file:{root / 'history.db'}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT channel_id, role, platform_message_id, content FROM turns ORDER BY id")
        return [Row(channel_id=a, role=b, message_id=c, text=d) for a, b, c, d in rows]


def is_all_stored(root: Path, stage: TrialServer) -> bool:
    """Whether everything said is in the history."""
    return set(stage.said) <= {row.message_id for row in history(root)}


def find_misheard(root: Path, stage: TrialServer) -> dict[str, int]:
    """Messages that are not in the history, are in it twice, or stand in another order than they were said."""
    rows = [row for row in history(root) if row.role == "user"]
    ids = [row.message_id for row in rows]
    disordered = 0
    for room in stage.rooms:
        numbers = [stage.said[row.message_id].number for row in rows if row.channel_id == room.id and row.message_id]
        disordered += sum(later < earlier for earlier, later in pairwise(numbers))
    lost = len(set(stage.said) - set(ids))
    return {"said": len(stage.said), "lost": lost, "twice": len(ids) - len(set(ids)), "disordered": disordered}


def answer_verdict(stage: TrialServer, exchanges: list[Mapping[str, Any]]) -> dict[str, int]:
    """What became of those who asked: each is answered once, or the owner was told why not."""
    asked = [said.number for said in stage.said.values() if said.is_asked]
    answered: dict[int, int] = {}
    reported: set[int] = set()
    for exchange in exchanges:
        for number in exchange["numbers"]:
            if exchange["sent"]:
                answered[number] = answered.get(number, 0) + 1
            elif exchange["error"]:
                reported.add(number)
    return {
        "asked": len(asked),
        "answered": sum(number in answered for number in asked),
        "reported": sum(number in reported and number not in answered for number in asked),
        "neither": sum(number not in answered and number not in reported for number in asked),
        "answered_twice": sum(count > 1 for count in answered.values()),
        "replies": sum(bool(exchange["sent"]) for exchange in exchanges),
    }


async def wait_until_answered(stage: TrialServer, child: Child, *, within_s: float) -> Any:
    """What was answered, once everybody who asked was, or it has taken too long."""
    ends = time.perf_counter() + within_s
    while True:
        exchanges = await child.ask("settle")
        if not answer_verdict(stage, exchanges)["neither"] or time.perf_counter() > ends:
            return exchanges
        await asyncio.sleep(LOOK_EVERY_S)
