"""Actors and props for measuring whole turns: a familiar on disk, scripted models, a channel that keeps quiet."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.llm import SLOT_TEMPERATURES
from familiar_connect.context.types import ContextRequest, Contribution, Modality
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities, Message
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.clock import Clock

CHANNEL_ID = 4242
GUILD_ID = 77
ANA = Author("discord", "111222333", "ana_l", "Ana")
BEN = Author("discord", "444555666", "ben", "Ben")
CLEO = Author("discord", "777888999", "cleo.m", "Cleo")
PEOPLE = (ANA, BEN, CLEO)


class QuietPlace(Place):
    """A channel that takes every piece and shows nobody."""

    features = PlaceFeatures(limit=2000, streams=True)

    def __init__(self) -> None:
        self.said: list[str] = []
        self.notices: list[str] = []

    async def send(self, text: str) -> None:
        self.said.append(text)

    async def notice(self, text: str) -> None:
        self.notices.append(text)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return ()

    async def scene(self) -> Scene:
        return Scene(channel=ChannelContext("lantern-room", ChannelKind.text), participants=PEOPLE)


class FixedProvider:
    """A provider that has its contributions ready."""

    def __init__(self, id_: str, contributions: Sequence[Contribution], *, deadline_s: float = 10.0) -> None:
        self.id = id_
        self.deadline_s = deadline_s
        self._contributions = list(contributions)

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        return self._contributions


def a_request(
    text: str = "What did the lantern look like?", *, deadline_s: float, budget_tokens: int
) -> ContextRequest:
    return ContextRequest("wren", CHANNEL_ID, GUILD_ID, ANA, text, Modality.text, budget_tokens, deadline_s)


def write_character(root: Path, texts: Mapping[str, str], settings: str = "") -> None:
    """A familiar's folder: its `self/` files and what its `character.toml` says."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "character.toml").write_text(f"{settings}\n[limits]\nreplies_per_person_per_minute = 0\n", encoding="utf-8")
    store = MemoryStore(root / "memory", audit_dir=root / "audit")
    for stem, text in texts.items():
        store.write_file(f"self/{stem}.md", text, source="benchmark")


def scripted_clients(
    reply: Callable[[list[Message]], str], side: Callable[[list[Message]], str], *, window: int | None = None
) -> dict[str, ScriptedModel]:
    """A model for every slot: *reply* speaks, *side* does all side work. *window* is what the first reads at once."""
    main = ScriptedModel(reply, model="scripted-main", capabilities=Capabilities(window=window))
    other = ScriptedModel(side, model="scripted-side")
    return {slot: main if slot == "main_prose" else other for slot in SLOT_TEMPERATURES}


def load_familiar(root: Path, clients: Mapping[str, Any], clock: Clock | None = None) -> Familiar:
    return Familiar.load_from_disk(root, llm_clients=dict(clients), clock=clock)


async def say(familiar: Familiar, place: QuietPlace, author: Author, text: str, at: datetime) -> str:
    """Let *author* say something, the way a platform does, and wait for the answer, which is returned."""
    before = len(place.said)
    message = InboundMessage(
        platform="terminal", channel_id=CHANNEL_ID, author=author, text=text, timestamp=at, guild_id=GUILD_ID
    )
    heard = await familiar.intake.receive(message, place)
    assert heard is IntakeResult.answering, heard
    await familiar.reply_path.queue.wait_until_channel_idle(CHANNEL_ID)
    return "".join(place.said[before:])


@contextmanager
def without_warnings(*names: str) -> Iterator[None]:
    """Without the warnings that a measurement provokes on purpose."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
