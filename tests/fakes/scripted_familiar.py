"""ScriptedFamiliar: one familiar with scripted models in a folder of its own, for stories about the whole program."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config import CharacterConfig, load_character_config
from familiar_connect.config.character import change_section
from familiar_connect.config.llm import SLOT_TEMPERATURES
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.familiar import Familiar
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.llm.scripted import Answer, ScriptedModel
from familiar_connect.llm.types import Capabilities, Message
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.clock import Clock
from tests.fakes.place import RecordingPlace

CHANNEL = 7
ANA = Author(platform="discord", user_id="111", username="ana", display_name="Ana")
BEN = Author(platform="discord", user_id="222", username="ben", display_name="Ben")
NO_TYPING_DELAY = 'mode = "text_conversation_rp"\n[typing_simulation]\nenabled = false\n'
"""Settings of a channel in which nobody pretends to type."""
NOON = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)


ChangeSettings = Callable[[CharacterConfig], CharacterConfig]


def with_growing_replies(config: CharacterConfig) -> CharacterConfig:
    """Where messages can be changed, a reply grows in one."""
    return replace(config, delivery="growing")


def with_dms(dms: str) -> ChangeSettings:
    """Whose direct messages are heard."""
    return lambda config: change_section(config, "discord", dms=dms)


class ScriptedFamiliar:
    """A familiar, the model that speaks for it, and a channel."""

    def __init__(self, familiar: Familiar, model: ScriptedModel, place: RecordingPlace) -> None:
        self.familiar = familiar
        self.model = model
        self.place = place

    async def receive(
        self, text: str, *, author: Author = ANA, message_id: str | None = None, **more: Any
    ) -> IntakeResult:
        """Someone says *text*, to the familiar unless told otherwise."""
        facts: dict[str, Any] = {
            "platform": author.platform,
            "channel_id": CHANNEL,
            "author": author,
            "text": text,
            "timestamp": NOON,
            "message_id": message_id,
            "is_mention": True,
        }
        return await self.familiar.intake.receive(InboundMessage(**facts | more), self.place)

    async def wait_until_idle(self) -> None:
        """Wait until nothing is being answered and everything is kept."""
        await self.familiar.intake.wait_until_idle()
        await self.familiar.reply_path.queue.wait_until_channel_idle(CHANNEL)
        await self.familiar.reply_path.recorder.wait_until_idle()

    async def talk(self, text: str, **more: Any) -> IntakeResult:
        heard = await self.receive(text, **more)
        await self.wait_until_idle()
        return heard

    def history(self) -> list[HistoryTurn]:
        return self.familiar.history_store.recent(familiar_id=self.familiar.id, channel_id=CHANNEL, limit=100)

    def roles_and_texts(self) -> list[tuple[str, str]]:
        """Role and words of every stored turn, oldest first."""
        return [(turn.role, turn.content) for turn in self.history()]


def model_slots(main: ScriptedModel) -> dict[str, Any]:
    """*main* for the reply; every other slot is too small for side tasks and is never asked."""
    weak = ScriptedModel(model="weak", capabilities=Capabilities(side_tasks=False))
    return {slot: main if slot == "main_prose" else weak for slot in SLOT_TEMPERATURES}


@asynccontextmanager
async def scripted_familiar(
    home: Path,
    replies: Iterable[Answer] | Callable[[list[Message]], str] = ("Hello, Ana.",),
    *,
    streams: bool = False,
    subscribed: bool = True,
    capabilities: Capabilities | None = None,
    settings: ChangeSettings = lambda config: config,
    clock: Clock | None = None,
    transcriber: object = None,
) -> AsyncIterator[ScriptedFamiliar]:
    """A familiar that lives in *home*, made there if it is new, closed at the end; *settings* changes its own."""
    root = home / "familiars" / "ember"
    if not root.exists():
        make_starter(home, "ember")
        (root / "channels").mkdir()
        (root / "channels" / f"{CHANNEL}.toml").write_text(NO_TYPING_DELAY, encoding="utf-8")
    model = ScriptedModel(replies, capabilities=capabilities)
    config = settings(load_character_config(root / "character.toml"))
    familiar = Familiar.from_config(root, config, llm_clients=model_slots(model), clock=clock, transcriber=transcriber)
    if subscribed:
        familiar.subscriptions.add(channel_id=CHANNEL, kind=SubscriptionKind.text, guild_id=None)
    try:
        yield ScriptedFamiliar(familiar, model, RecordingPlace(streams=streams))
    finally:
        await familiar.aclose()
