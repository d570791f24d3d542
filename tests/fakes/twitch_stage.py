"""Stage: a scripted familiar on a channel of our own Twitch, through the real library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.extensions.host import PlatformHost
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.extensions.platforms import HostedPlatform
from familiar_connect.extensions.twitch.account import Credentials
from familiar_connect.extensions.twitch.adapter import TwitchPlatform
from familiar_connect.history.types import HistoryTurn
from familiar_connect.llm.scripted import Answer
from familiar_connect.slash.registry import BUILT_IN_COMMANDS
from familiar_connect.support.aio import cancel_and_wait
from tests.fakes.scripted_familiar import NO_TYPING_DELAY, ScriptedFamiliar, scripted_familiar
from tests.fakes.twitch_server import CLIENT_ID, Token, TwitchServer
from tests.fakes.waiting import until

CHANNEL_ID = 500
BEN = {"user_id": "22", "user_login": "ben", "user_name": "Ben"}
SPEAKER = Credentials(client_id=CLIENT_ID, token="good-token", name="TWITCH_TOKEN", refresh_token="again")
STREAMER = Credentials(client_id=CLIENT_ID, token="ada-token", name="TWITCH_BROADCASTER_TOKEN")


@dataclass
class Stage:
    """A familiar on a channel of our Twitch."""

    house: ScriptedFamiliar
    server: TwitchServer
    platform: TwitchPlatform
    task: asyncio.Task[None]
    told: list[str]
    kept: list[tuple[str, str]]
    ad_waits: list[float] = field(default_factory=list)

    def history(self) -> list[HistoryTurn]:
        store = self.house.familiar.history_store
        return store.recent(familiar_id="ember", channel_id=CHANNEL_ID, limit=100)

    def heard(self) -> list[str]:
        return [turn.content for turn in self.history() if turn.role == "user"]

    async def until_heard(self, count: int) -> None:
        await until(lambda: len(self.heard()) >= count)


def settings(home: Path, text: str = "") -> None:
    """Ember's settings: on Ada's channel, typing at once. One who lives there already stays as it is."""
    if (home / "familiars" / "ember").exists():
        return
    root = make_starter(home, "ember")
    (root / "channels").mkdir()
    (root / "channels" / f"{CHANNEL_ID}.toml").write_text(NO_TYPING_DELAY, encoding="utf-8")
    (root / "character.toml").write_text(f'[twitch]\nchannel = "Ada_Live"\n{text}', encoding="utf-8")


@asynccontextmanager
async def on_stage(
    home: Path,
    server: TwitchServer,
    *,
    replies: Iterable[Answer] = ("Hello, Ben.",),
    text: str = "",
    broadcaster: Credentials | None = STREAMER,
) -> AsyncIterator[Stage]:
    settings(home, text)
    told: list[str] = []
    kept: list[tuple[str, str]] = []
    waits: list[float] = []
    joined = asyncio.Queue[None]()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async with server, scripted_familiar(home, replies, subscribed=False) as house:
        host = PlatformHost(
            house.familiar,
            "twitch",
            PartContext(settings=house.familiar.config.built_in.twitch, clock=house.familiar.clock, folder=home / "x"),
            told.append,
            commands=BUILT_IN_COMMANDS,
            keep=lambda name, value: kept.append((name, value)),
            keeps_numbers=True,
        )
        platform = TwitchPlatform(
            host,
            speaker=SPEAKER,
            broadcaster=broadcaster,
            addresses=server.addresses,
            sleep=sleep,
            ready=lambda: joined.put_nowait(None),
        )
        task = asyncio.create_task(HostedPlatform(platform, host).run())
        waiting = asyncio.ensure_future(joined.get())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED, timeout=400)
        waiting.cancel()
        try:
            yield Stage(house, server, platform, task, told, kept, waits)
        finally:
            await cancel_and_wait(task)


def ada_streams() -> TwitchServer:
    server = TwitchServer()
    server.tokens["ada-token"] = Token("500", "ada_live")
    return server


async def both_listen(server: TwitchServer) -> None:
    """Wait until chat and events are both asked for."""
    await server.until(lambda: {"channel.chat.message", "channel.ad_break.begin"} <= server.subscriptions.keys())


async def tell(stage: Stage, kind: str, event: dict[str, Any], **more: Any) -> None:
    """Tell an event to whoever asked for it."""
    await stage.server.twitch.sessions.tell(kind, event, **more)
