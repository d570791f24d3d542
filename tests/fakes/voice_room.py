"""A voice channel with a scripted familiar in it, in time that nobody waits for."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config import CharacterConfig, load_character_config
from familiar_connect.config.llm import SLOT_TEMPERATURES
from familiar_connect.config.types import InterruptTolerance
from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.scripted import Answer, ScriptedModel
from familiar_connect.llm.types import Capabilities, Message
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.simulated_time import LoopClock, run_skipping, running_skipping_loop
from familiar_connect.testing.voice_doubles import LetterVoice, ScriptedEars
from familiar_connect.voice.interruption import ResponseState, uid_of
from familiar_connect.voice.protocols import Ears, EarsFactory, HearingCallbacks, SpeechSynthesizer
from familiar_connect.voice.session import SessionWatcher, VoiceChannel, VoiceSession
from familiar_connect.voice.wav import RecordingOut

ANA = Author("terminal", "ana", None, "Ana")
BEN = Author("terminal", "ben", None, "Ben")
CHANNEL_ID = 7
LULL_S = 2.0
MIN_S, BOUNDARY_S = 1.0, 4.0
CERTAIN, NEVER = 1.0, 0.0


class FixedRolls(random.Random):
    """Every roll comes out the same."""

    def __init__(self, roll: float) -> None:
        super().__init__()
        self._roll = roll

    def random(self) -> float:
        return self._roll


class SlowModel(ScriptedModel):
    """Takes a while before its first word."""

    def __init__(self, replies: Iterable[Answer], *, takes_s: float, capabilities: Capabilities | None = None) -> None:
        super().__init__(replies, capabilities=capabilities)
        self._takes_s = takes_s

    async def _say(self, *args: Any, **more: Any) -> AsyncIterator[str]:  # type: ignore[override]
        await asyncio.sleep(self._takes_s)
        async for piece in super()._say(*args, **more):
            yield piece


class VoiceRoom:
    """A session, its familiar, and what was noticed of it."""

    def __init__(
        self, familiar: Familiar, model: ScriptedModel, session: VoiceSession, ears: list[ScriptedEars]
    ) -> None:
        self.familiar = familiar
        self.model = model
        self.session = session
        self._ears = ears
        self.shown: list[str] = []
        self.events: list[tuple[float, str, str]] = []

    @property
    def ears(self) -> ScriptedEars:
        return self._ears[-1]

    async def say(self, text: str, seconds: float = 1.0, *, author: Author = ANA) -> None:
        self.session.join(author)
        await self.ears.say(uid_of(author), text, seconds)

    async def wait_for(self, state: ResponseState) -> None:
        while self.session.state is not state:  # noqa: ASYNC110  # nothing else tells
            await asyncio.sleep(0.01)

    async def rest(self) -> None:
        """Wait until a lull has passed and everything is answered and spoken."""
        await asyncio.sleep(LULL_S + 2.0)
        await self.session.wait_until_idle()

    def turns(self) -> list[tuple[str, str]]:
        """Who said what, by the history."""
        stored = self.familiar.history_store.recent(
            familiar_id=self.familiar.id, channel_id=self.session.channel.channel_id, limit=100
        )
        return [(turn.author.label if turn.author is not None else turn.role, turn.content) for turn in stored]

    def asked(self, call: int = -1) -> str:
        """All that the model was shown in one call."""
        return "\n".join(str(message.content) for message in self.model.calls[call])


def short_limits(config: CharacterConfig) -> CharacterConfig:
    """Pauses and limits that fit short talks, and no limit on replies."""
    return replace(
        config,
        voice_lull_timeout=LULL_S,
        min_interruption_s=MIN_S,
        short_long_boundary_s=BOUNDARY_S,
        interrupt_tolerance=InterruptTolerance.average,
        limits=replace(config.limits, replies_per_person_per_minute=0),
    )


@asynccontextmanager
async def voice_room(
    home: Path,
    replies: Iterable[Answer] | Callable[[list[Message]], str] | ScriptedModel,
    *,
    roll: float = CERTAIN,
    channel: VoiceChannel | None = None,
    ears: EarsFactory | None = None,
    voice: SpeechSynthesizer | None = None,
    side_model: ScriptedModel | None = None,
    settings: Callable[[CharacterConfig], CharacterConfig] = short_limits,
) -> AsyncIterator[VoiceRoom]:
    """A session that has begun; *roll* decides whether the familiar yields when it is talked over."""
    loop = running_skipping_loop()
    root = home / "familiars" / "ember"
    if not root.exists():
        make_starter(home, "ember")
    model = replies if isinstance(replies, ScriptedModel) else ScriptedModel(replies)
    side = side_model or ScriptedModel(model="weak", capabilities=Capabilities(side_tasks=False))
    clients: dict[str, ChatModel] = {slot: model if slot == "main_prose" else side for slot in SLOT_TEMPERATURES}
    familiar = Familiar.from_config(
        root, settings(load_character_config(root / "character.toml")), llm_clients=clients, clock=LoopClock()
    )
    where = channel or VoiceChannel(platform="terminal", channel_id=CHANNEL_ID)
    if where.guild_id is not None:
        familiar.subscriptions.add(channel_id=where.channel_id, kind=SubscriptionKind.voice, guild_id=where.guild_id)
    made: list[ScriptedEars] = []
    room: VoiceRoom

    def make_ears(callbacks: HearingCallbacks) -> Ears:
        if ears is not None:
            return ears(callbacks)
        made.append(ScriptedEars(callbacks))
        return made[-1]

    def note(kind: str, text: str = "") -> None:
        room.events.append((loop.time(), kind, text))

    session = VoiceSession(
        familiar,
        make_ears,
        voice or LetterVoice(),
        RecordingOut(),
        where,
        show=lambda text: room.shown.append(text),
        clock=LoopClock(),
        rng=FixedRolls(roll),
        watcher=SessionWatcher(
            on_said=lambda author, text: note("said", f"{author.label}: {text}"),
            on_first_audio=lambda: note("first audio"),
            on_reply=lambda text: note("reply", text),
            on_yield=lambda: note("yield"),
        ),
    )
    room = VoiceRoom(familiar, model, session, made)
    await session.start()
    try:
        yield room
    finally:
        await session.stop()
        await familiar.aclose()


def in_voice_room(talk: Callable[..., Awaitable[None]], home: Path, *replies: Answer, **more: Any) -> None:
    """Run *talk* in a room; *replies* are the model's."""

    async def run() -> None:
        async with voice_room(home, more.pop("model", replies), **more) as room:
            await talk(room)

    run_skipping(run())
