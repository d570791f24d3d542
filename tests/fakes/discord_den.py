"""Den: a familiar on our own Discord through the real library, with people to talk to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from familiar_connect.demo.discord_server.server import DiscordServer
from familiar_connect.demo.discord_server.world import Guild, Payload, Person, Room
from familiar_connect.familiar import Familiar
from familiar_connect.history.types import HistoryTurn
from familiar_connect.llm.scripted import Answer, ScriptedModel
from familiar_connect.llm.types import Capabilities, Message
from familiar_connect.platforms.discord.adapter import DiscordPlatform
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.aio import cancel_and_wait
from tests.fakes.house import AT_ONCE, a_house
from tests.fakes.waiting import until


@dataclass
class Den:
    """One server with one channel, a familiar that listens there, and Ada who talks to it."""

    server: DiscordServer
    familiar: Familiar
    model: ScriptedModel
    guild: Guild
    room: Room
    ada: Person
    ben: Person
    running: asyncio.Task[None] | None = None
    platform: DiscordPlatform | None = None
    others: list[Room] = field(default_factory=list)

    def listen(self, room: Room) -> None:
        """Subscribe to a channel in which nobody pretends to type."""
        path = self.familiar.root / "channels" / f"{room.id}.toml"
        path.write_text(AT_ONCE, encoding="utf-8")
        self.familiar.subscriptions.add(channel_id=room.id, kind=SubscriptionKind.text, guild_id=room.guild_id)

    async def arrive(self) -> None:
        """Log in, again as the same platform, and wait until events reach us."""
        before = len(self.server.noted("gateway:2"))
        self.platform = self.platform or DiscordPlatform(
            self.familiar, token=self.server.token, api_url=self.server.api_url, guild_ready_timeout_s=0.05
        )
        self.running = asyncio.create_task(self.platform.run(), name="discord")
        waiting = asyncio.create_task(
            self.server.until(lambda: len(self.server.noted("gateway:2")) > before and bool(self.server.api.commands))
        )
        await asyncio.wait({waiting, self.running}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            await cancel_and_wait(waiting)
            self.running.result()

    async def leave(self) -> None:
        if self.running is not None:
            await cancel_and_wait(self.running)
            self.running = None

    async def ask(self, text: str, *, who: Person | None = None, room: Room | None = None) -> Payload:
        """Someone says *text* to the familiar, by mentioning it."""
        return await self.server.post(room or self.room, who or self.ada, f"<@{self.server.world.bot.id}> {text}")

    async def stored(self, text: str, *, room: Room | None = None) -> HistoryTurn:
        """Wait until a turn holds *text*; that turn."""
        await until(lambda: self._found(text, room))
        return self._found(text, room)[0]

    def _found(self, text: str, room: Room | None) -> list[HistoryTurn]:
        return [turn for turn in self.history(room) if text in turn.content]

    def history(self, room: Room | None = None) -> list[HistoryTurn]:
        channel_id = (room or self.room).id
        return self.familiar.history_store.recent(familiar_id=self.familiar.id, channel_id=channel_id, limit=500)

    def told(self, room: Room | None = None) -> list[tuple[str, str]]:
        mention = f"<@{self.server.world.bot.id}> "
        return [(turn.role, turn.content.removeprefix(mention)) for turn in self.history(room)]

    async def quiet(self, room: Room | None = None) -> None:
        """Wait until nothing is being answered."""
        await self.familiar.intake.settled()
        await self.familiar.path.queue.idle((room or self.room).id)
        await self.familiar.path.witness.settled()


@asynccontextmanager
async def a_den(
    home: Path,
    replies: Iterable[Answer] | Callable[[list[Message]], str] = ("Hello, Ada.",),
    *,
    arrive: bool = True,
    capabilities: Capabilities | None = None,
) -> AsyncIterator[Den]:
    async with (
        DiscordServer() as server,
        a_house(home, replies, subscribed=False, capabilities=capabilities) as house,
    ):
        guild = server.world.guild("The Burrow", description="A cosy place")
        ada, ben = server.world.person("ada"), server.world.person("ben")
        room = server.world.room(guild, "general", topic="Anything goes")
        den = Den(server, house.familiar, house.model, guild, room, ada, ben)
        den.listen(room)
        try:
            if arrive:
                await den.arrive()
            yield den
        finally:
            await den.leave()
