"""Start of a terminal chat: names the model, greets, and warms the model up."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from familiar_connect.audience import Confidence
from familiar_connect.config.llm import MAIN_SLOT, LLMSlotConfig, local_model_name
from familiar_connect.errors import ConfigError
from familiar_connect.familiar import Familiar
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.slash.greeting import choose_greeting, list_greetings
from familiar_connect.support.aio import cancel_and_wait, off_loop
from familiar_connect.support.text import join_names, one_line, printable, shorten
from familiar_connect.support.translate import tr

logger = logging.getLogger(__name__)

EXACT = "sillytavern"
SHOWN_FROM_LAST_TIME = 2
SHOWN_CHARS = 200


def describe_model(familiar: Familiar) -> str:
    """One honest line about the model that will answer."""
    return describe_models([familiar])[0]


def describe_models(familiars: Sequence[Familiar]) -> list[str]:
    """A line about each model that will answer, with the names of all who speak through it."""
    speakers: dict[str, list[str]] = {}
    for familiar in familiars:
        speakers.setdefault(_describe_slot(familiar.config.llm[MAIN_SLOT]), []).append(familiar.name)
    return [
        (tr("{names} speaks through {model}.") if len(names) == 1 else tr("{names} speak through {model}.")).format(
            names=join_names(names), model=model
        )
        for model, names in speakers.items()
    ]


def _describe_slot(slot: LLMSlotConfig) -> str:
    if not slot.is_embedded:
        return tr("{model} at {address}").format(model=slot.model, address=urlsplit(slot.address or "").netloc)
    if not slot.is_small_default:
        return tr("{model} inside this program: private, offline").format(model=local_model_name(slot.model))
    return tr("a small model inside this program: private and offline, but not very bright")


def describe_confidence(familiar: Familiar) -> str | None:
    """Where what is said here goes, for somebody whose familiar lives in other places too; None: it does not."""
    if familiar.config.confidence is Confidence.open or not familiar.subscriptions.all():
        return None
    return tr("What you say here stays here, unless `shares_with` of {familiar} names other places.").format(
        familiar=familiar.name
    )


async def greet(
    familiar: Familiar,
    screen: Screen,
    user: Author | None = None,
    *,
    greeting: int | None = None,
    channel_id: int = CHANNEL_ID,
) -> None:
    """Say the character's first words where nothing was ever said, and record them as said.

    *greeting* chooses among them: 0 the first message, then the alternate ones. A pipe is greeted only so; where
    prompts are as in SillyTavern, the first words stand in its chat all the same.
    """
    if screen.plain and greeting is None and not await off_loop(_begins_as_in_sillytavern, familiar, channel_id):
        return
    if await off_loop(familiar.history_store.count, familiar_id=familiar.id, channel_id=channel_id):
        if greeting is not None:
            screen.note(tr("You have talked before, so there is no greeting."))
        if not screen.plain:
            await show_last_words(familiar, screen, channel_id, user)
        return
    if not screen.plain and (sentence := describe_confidence(familiar)) is not None:
        screen.note(sentence)
    words = choose_greeting(await off_loop(list_greetings, familiar, user), greeting)
    if not words:
        return
    if not screen.plain or greeting is not None:
        label, flow = screen.speech(familiar.name)
        shown = printable(words)
        screen.write(label + (shown if flow is None else flow.feed(shown) + flow.close()) + "\n")
    await keep_greeting(words, familiar, channel_id)


def _begins_as_in_sillytavern(familiar: Familiar, channel_id: int) -> bool:
    """Whether prompts of the chat are as in SillyTavern, where a chat begins with the character's words."""
    try:
        channel = familiar.channel_configs.get(channel_id=channel_id)
    except ConfigError:  # the reply says so
        return False
    return (channel.preset_fidelity or familiar.config.preset_fidelity) == EXACT


async def keep_greeting(words: str, familiar: Familiar, channel_id: int) -> HistoryTurn:
    """Record *words* as the first that the familiar said."""
    return await off_loop(record_greeting, words, familiar, channel_id)


def record_greeting(words: str, familiar: Familiar, channel_id: int) -> HistoryTurn:
    """`keep_greeting` for plain synchronous code."""
    return familiar.history_store.append_turn(
        familiar_id=familiar.id,
        channel_id=channel_id,
        role="assistant",
        content=words,
        mode=familiar.channel_configs.get(channel_id=channel_id).mode,
    )


async def show_last_words(familiar: Familiar, screen: Screen, channel_id: int, user: Author | None = None) -> None:
    """The last words of the last time, so that both know where they left off; *user* by the name they gave since."""
    turns = await off_loop(
        familiar.history_store.recent, familiar_id=familiar.id, channel_id=channel_id, limit=SHOWN_FROM_LAST_TIME
    )
    if not turns:
        return
    when = turns[-1].timestamp.astimezone(ZoneInfo(familiar.config.display_tz))
    screen.note(
        tr("Last time, {when:%-d %B %H:%M}:").format(when=when)
        if sys.platform != "win32"
        else tr("Last time, {when:%d %B %H:%M}:").format(when=when)
    )
    for turn in turns:
        author = turn.author
        if author and user and author.canonical_key == user.canonical_key and not author.is_named:
            author = user
        who = author.label if author else familiar.name
        screen.note(f"  {who}: {shorten(one_line(turn.display_text), SHOWN_CHARS)}")


def warm_up(familiar: Familiar, user: Author, channel_id: int = CHANNEL_ID) -> asyncio.Task[None]:
    """Let a model that keeps its prompt work the beginning of the next one while the person types."""
    return asyncio.get_running_loop().create_task(_warm_up(familiar, user, channel_id), name="warm-up")


class WarmUps:
    """Warming up after each reply of a door, for the next message; the newest counts."""

    def __init__(self, familiar: Familiar) -> None:
        self._familiar = familiar
        self._newest: asyncio.Task[None] | None = None

    def start(self, user: Author, channel_id: int) -> None:
        if self._newest is not None:
            self._newest.cancel()
        self._newest = warm_up(self._familiar, user, channel_id)

    async def aclose(self) -> None:
        if self._newest is not None:
            await cancel_and_wait(self._newest)


async def _warm_up(familiar: Familiar, user: Author, channel_id: int) -> None:
    model: object = familiar.llm_clients[MAIN_SLOT]
    if not hasattr(model, "prime"):
        return
    try:
        channel, request = await familiar.reply_path.turns.preview_request(familiar.id, channel_id, user)
        messages = await familiar.build_pipeline(channel).prompt_prefix(request)
        await model.prime(messages)
    except Exception as error:  # isolation: warming up is a courtesy
        logger.debug("warming up failed", extra={"error": type(error).__name__})
