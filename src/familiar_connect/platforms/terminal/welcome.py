"""The first moments of a chat: which model answers, the familiar's greeting, and warming up meanwhile."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from familiar_connect.context.types import ContextRequest, Modality
from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author
from familiar_connect.memory.store import MemoryStoreError
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from familiar_connect.platforms.terminal.screen import Screen, printable
from familiar_connect.support.aio import off_loop

logger = logging.getLogger(__name__)


def model_line(familiar: Familiar) -> str:
    """One honest line about the model that will answer."""
    slot = familiar.config.llm["main_prose"]
    if not slot.is_embedded:
        return f"{familiar.name} speaks through {slot.model}."
    return (
        f"{familiar.name} speaks through a small model inside this program: private, offline, a bit simple-minded.\n"
        "`familiar connect` gives it a better one."
    )


async def greet(familiar: Familiar, screen: Screen) -> None:
    """Say the character's first words where nothing was ever said, and record them as said. A pipe is not greeted."""
    if screen.plain:
        return
    if await off_loop(familiar.history_store.count, familiar_id=familiar.id, channel_id=CHANNEL_ID):
        return
    try:
        words = (await off_loop(familiar.memory_store.read_file, "self/first_mes.md")).strip()
    except MemoryStoreError:
        return
    if not words:
        return
    screen.line(screen.paint(f"{printable(familiar.name)}: ", "name") + printable(words))
    await off_loop(
        familiar.history_store.append_turn,
        familiar_id=familiar.id,
        channel_id=CHANNEL_ID,
        role="assistant",
        content=words,
        mode=familiar.channel_configs.get(channel_id=CHANNEL_ID).mode,
    )


def warm_up(familiar: Familiar, user: Author) -> asyncio.Task[None]:
    """Let a model that keeps its prompt work the beginning of the next one while the person types."""
    return asyncio.get_running_loop().create_task(_warm_up(familiar, user), name="warm-up")


async def _warm_up(familiar: Familiar, user: Author) -> None:
    model: Any = familiar.llm_clients["main_prose"]
    if not hasattr(model, "prime"):
        return
    channel = familiar.path.runner.channel(CHANNEL_ID)
    request = ContextRequest(
        familiar.id,
        CHANNEL_ID,
        None,
        user,
        "",
        Modality.text,
        channel.budget_tokens,
        channel.deadline_s,
        mode=channel.mode,
    )
    try:
        messages = await familiar.build_pipeline(channel).opening(request)
        await model.prime(messages)
    except Exception as error:  # isolation: warming up is a courtesy
        logger.debug("warming up failed", extra={"error": type(error).__name__})
