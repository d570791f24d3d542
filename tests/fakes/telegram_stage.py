"""A scripted familiar on a Telegram of our own, through the real library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from familiar_connect.config import CharacterConfig
from familiar_connect.extensions.host import PlatformHost
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.extensions.platforms import HostedPlatform
from familiar_connect.extensions.telegram.adapter import TelegramPlatform
from familiar_connect.extensions.telegram.client import BotClient
from familiar_connect.extensions.telegram.demo.server import TelegramServer
from familiar_connect.extensions.telegram.settings import Settings
from familiar_connect.history.types import HistoryTurn
from familiar_connect.llm.scripted import Answer
from familiar_connect.llm.types import Capabilities
from familiar_connect.slash.registry import BUILT_IN_COMMANDS
from familiar_connect.support.aio import cancel_and_wait
from tests.fakes.scripted_familiar import ScriptedFamiliar, scripted_familiar

OWNER_ID = 501


def without_typing(config: CharacterConfig) -> CharacterConfig:
    """Nobody pretends to type."""
    return replace(config, typing_simulation_overrides={"enabled": False})


@dataclass
class TelegramStage:
    """A familiar on our Telegram."""

    house: ScriptedFamiliar
    server: TelegramServer
    host: PlatformHost
    task: asyncio.Task[None]
    told: list[str]

    async def history(self, channel: str | int) -> list[HistoryTurn]:
        number = await self.host.number_of(str(channel))
        store = self.house.familiar.history_store
        return store.recent(familiar_id="ember", channel_id=number, limit=100)

    async def heard(self, channel: str | int) -> list[str]:
        return [turn.content for turn in await self.history(channel) if turn.role == "user"]

    async def until_sent(self, count: int) -> list[str]:
        await self.server.until(lambda: len(self.server.list_sent()) >= count, within_s=60)
        return self.server.list_sent()

    async def until_idle(self) -> None:
        """Everything said so far is heard and answered."""
        newest = self.server.updates.newest_id
        await self.server.until(lambda: self.server.updates.confirmed >= newest, within_s=60)
        familiar = self.house.familiar
        await familiar.intake.wait_until_idle()
        for chat in list(self.server.world.chats.values()):
            for channel in (str(chat.id), *(f"{chat.id}/{topic}" for topic in chat.topics)):
                await familiar.reply_path.queue.wait_until_channel_idle(await self.host.number_of(channel))
        await familiar.reply_path.recorder.wait_until_idle()


@asynccontextmanager
async def telegram_stage(
    home: Path,
    server: TelegramServer | None = None,
    *,
    replies: Iterable[Answer] = ("Hello.",),
    settings: Settings | None = None,
    capabilities: Capabilities | None = None,
    transcriber: object = None,
) -> AsyncIterator[TelegramStage]:
    settings = settings or Settings(owner=str(OWNER_ID), dms="everyone", groups="everyone")
    told: list[str] = []
    async with (
        server or TelegramServer() as there,
        scripted_familiar(
            home, replies, subscribed=False, settings=without_typing, capabilities=capabilities, transcriber=transcriber
        ) as house,
    ):
        part = PartContext(settings=settings, clock=house.familiar.clock, folder=home / "telegram")
        host = PlatformHost(house.familiar, "telegram", part, told.append, commands=BUILT_IN_COMMANDS)
        platform = TelegramPlatform(host, BotClient(there.token, there.url))
        task = asyncio.create_task(HostedPlatform(platform, host).run())
        asked = asyncio.ensure_future(there.until_asked(within_s=60))
        await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        try:
            yield TelegramStage(house, there, host, task, told)
        finally:
            await cancel_and_wait(task)
