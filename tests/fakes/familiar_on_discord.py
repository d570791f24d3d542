"""FamiliarOnDiscord: a familiar on our own Discord through the real library, with people to talk to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from familiar_connect.extensions.discord.adapter import DiscordPlatform
from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.world import FakePerson, Guild, Payload, Room
from familiar_connect.extensions.hosts.call_host import CallVoice
from familiar_connect.extensions.platforms import make_host
from familiar_connect.familiar import Familiar
from familiar_connect.history.types import HistoryTurn
from familiar_connect.llm.scripted import Answer, ScriptedModel
from familiar_connect.llm.types import Capabilities, Message
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.aio import cancel_and_wait
from tests.fakes.scripted_familiar import NO_TYPING_DELAY, scripted_familiar
from tests.fakes.waiting import until


@dataclass
class FamiliarOnDiscord:
    """One server with one channel, a familiar that listens there, and Ada who talks to it."""

    server: DiscordServer
    familiar: Familiar
    model: ScriptedModel
    guild: Guild
    room: Room
    ada: FakePerson
    ben: FakePerson
    running: asyncio.Task[None] | None = None
    platform: DiscordPlatform | None = None
    others: list[Room] = field(default_factory=list)
    make_voice: Callable[[], CallVoice] | None = None

    def subscribe(self, room: Room) -> None:
        """Subscribe to a channel in which nobody pretends to type."""
        path = self.familiar.root / "channels" / f"{room.id}.toml"
        path.write_text(NO_TYPING_DELAY, encoding="utf-8")
        self.familiar.subscriptions.add(channel_id=room.id, kind=SubscriptionKind.text, guild_id=room.guild_id)

    async def connect(self) -> None:
        """Log in, again as the same platform, and wait until events reach us."""
        before = len(self.server.facts_of("gateway:2"))
        self.platform = self.platform or DiscordPlatform(
            make_host(self.familiar, "discord"),
            token=self.server.token,
            api_url=self.server.api_url,
            guild_ready_timeout_s=0.05,
            make_voice=self.make_voice,
        )
        self.running = asyncio.create_task(self.platform.run(), name="discord")
        waiting = asyncio.create_task(
            self.server.until(
                lambda: len(self.server.facts_of("gateway:2")) > before and bool(self.server.api.interactions.commands)
            )
        )
        await asyncio.wait({waiting, self.running}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            await cancel_and_wait(waiting)
            self.running.result()

    async def disconnect(self) -> None:
        if self.running is not None:
            await cancel_and_wait(self.running)
            self.running = None

    async def mention(self, text: str, *, who: FakePerson | None = None, room: Room | None = None) -> Payload:
        """Someone says *text* to the familiar, by mentioning it."""
        return await self.server.post(room or self.room, who or self.ada, f"<@{self.server.world.bot.id}> {text}")

    async def wait_stored(self, text: str, *, room: Room | None = None) -> HistoryTurn:
        """Wait until a turn holds *text*; that turn."""
        await until(lambda: self._found(text, room))
        return self._found(text, room)[0]

    def _found(self, text: str, room: Room | None) -> list[HistoryTurn]:
        return [turn for turn in self.history(room) if text in turn.content]

    def history(self, room: Room | None = None) -> list[HistoryTurn]:
        channel_id = (room or self.room).id
        return self.familiar.history_store.recent(familiar_id=self.familiar.id, channel_id=channel_id, limit=500)

    def roles_and_texts(self, room: Room | None = None) -> list[tuple[str, str]]:
        mention = f"<@{self.server.world.bot.id}> "
        return [(turn.role, turn.content.removeprefix(mention)) for turn in self.history(room)]

    async def wait_until_idle(self, room: Room | None = None) -> None:
        """Wait until nothing is being answered."""
        await self.familiar.intake.wait_until_idle()
        await self.familiar.reply_path.queue.wait_until_channel_idle((room or self.room).id)
        await self.familiar.reply_path.recorder.wait_until_idle()


@asynccontextmanager
async def familiar_on_discord(
    home: Path,
    replies: Iterable[Answer] | Callable[[list[Message]], str] = ("Hello, Ada.",),
    *,
    arrive: bool = True,
    capabilities: Capabilities | None = None,
    make_voice: Callable[[], CallVoice] | None = None,
    **more: Any,
) -> AsyncIterator[FamiliarOnDiscord]:
    async with (
        DiscordServer() as server,
        scripted_familiar(home, replies, subscribed=False, capabilities=capabilities, **more) as house,
    ):
        guild = server.world.guild("The Burrow", description="A cosy place")
        ada, ben = server.world.person("ada"), server.world.person("ben")
        room = server.world.room(guild, "general", topic="Anything goes")
        den = FamiliarOnDiscord(server, house.familiar, house.model, guild, room, ada, ben, make_voice=make_voice)
        den.subscribe(room)
        try:
            if arrive:
                await den.connect()
            yield den
        finally:
            await den.disconnect()
