"""The first moments of a chat: which model answers, the familiar's greeting, and warming up meanwhile."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any
from zoneinfo import ZoneInfo

from familiar_connect.config.secrets import started_as
from familiar_connect.context.types import ContextRequest, Modality
from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author
from familiar_connect.memory.store import MemoryStoreError
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import one_line, printable, truncate_chars

logger = logging.getLogger(__name__)

SHOWN_FROM_LAST_TIME = 2
SHOWN_CHARS = 200


def model_line(familiar: Familiar) -> str:
    """One honest line about the model that will answer."""
    slot = familiar.config.llm["main_prose"]
    if not slot.is_embedded:
        return f"{familiar.name} speaks through {slot.model}."
    return (
        f"{familiar.name} speaks through a small model inside this program: private, offline, a bit simple-minded.\n"
        f"`{started_as()} connect` gives it a better one."
    )


async def greet(familiar: Familiar, screen: Screen) -> None:
    """Say the character's first words where nothing was ever said, and record them as said. A pipe is not greeted."""
    if screen.plain:
        return
    if await off_loop(familiar.history_store.count, familiar_id=familiar.id, channel_id=CHANNEL_ID):
        await _welcome_back(familiar, screen)
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


async def _welcome_back(familiar: Familiar, screen: Screen) -> None:
    """The last words of the last time, so that both know where they left off."""
    turns = await off_loop(
        familiar.history_store.recent, familiar_id=familiar.id, channel_id=CHANNEL_ID, limit=SHOWN_FROM_LAST_TIME
    )
    if not turns:
        return
    when = turns[-1].timestamp.astimezone(ZoneInfo(familiar.config.display_tz))
    screen.note(f"Last time, {when:%-d %B %H:%M}:" if sys.platform != "win32" else f"Last time, {when:%d %B %H:%M}:")
    for turn in turns:
        who = turn.author.label if turn.author else familiar.name
        words = one_line(turn.content)
        screen.note(f"  {who}: {words if len(words) <= SHOWN_CHARS else truncate_chars(words, SHOWN_CHARS) + ' …'}")


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
