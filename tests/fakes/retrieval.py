"""Actors of a search through memory: people with notes, retrievers and models that do what they are told."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from familiar_connect.config.types import PlaceSettings
from familiar_connect.context.types import ContextRequest, Modality
from familiar_connect.identity import Author
from familiar_connect.llm.types import Message
from familiar_connect.memory.index.protocols import RetrievedChunk
from familiar_connect.memory.store import MemoryStore

ADA = Author(platform="discord", user_id="1", username="ada_l", display_name="Ada")
BO = Author(platform="discord", user_id="2", username="bo", display_name="Bo")
CY = Author(platform="discord", user_id="3", username="cy", display_name="Cy")
NOTES = {"discord-1": "Ada keeps bees.", "discord-2": "Bo paints boats.", "discord-3": "Cy is afraid of geese."}


def a_memory(root: Path, files: Mapping[str, str] | None = None, *, aliases: Any = None) -> MemoryStore:
    """A memory that holds *files*, by default notes on Ada, Bo and Cy."""
    store = MemoryStore(root)
    texts = {f"people/{slug}.md": text for slug, text in NOTES.items()} if files is None else files
    for path, text in texts.items():
        store.write_file(path, text, source="test")
    if aliases is not None:
        text = aliases if isinstance(aliases, str) else json.dumps(aliases)
        store.write_file("people/_aliases.json", text, source="test")
    return store


def a_question(utterance: str = "Which lantern hangs there?", **changes: Any) -> ContextRequest:
    """Ada says something in channel 7, with time enough, but for *changes*."""
    facts: dict[str, Any] = {
        "familiar_id": "wren",
        "channel_id": 7,
        "guild_id": None,
        "author": ADA,
        "utterance": utterance,
        "modality": Modality.text,
        "budget_tokens": 6000,
        "deadline_s": 24.0,
    }
    return ContextRequest(**facts | changes)


def a_filtered_question(utterance: str = "Which lantern hangs there?", **changes: Any) -> ContextRequest:
    """The same where the owner has a side model pick from what was found, whether it fits or not."""
    return a_question(utterance, **{"settings": PlaceSettings(content_filter="always")} | changes)


def a_chunk(text: str = "The lantern was lit at dusk.", **changes: Any) -> RetrievedChunk:
    return replace(RetrievedChunk("topics/lantern.md", "Lantern > Lighting", text, 0.5), **changes)


class FixedRetriever:
    """A retriever that always finds the same, and remembers what it was asked."""

    def __init__(self, *chunks: RetrievedChunk) -> None:
        self.chunks = list(chunks)
        self.asked: list[tuple[str, int, set[str] | None]] = []

    async def query(self, utterance: str, top_k: int, *, exclude_paths: set[str] | None = None) -> list[RetrievedChunk]:
        self.asked.append((utterance, top_k, exclude_paths))
        return self.chunks


class CallbackRetriever:
    """A retriever that does what it is told instead of searching."""

    def __init__(self, what: Callable[[], Any]) -> None:
        self.what = what

    async def query(self, utterance: str, top_k: int, *, exclude_paths: set[str] | None = None) -> list[RetrievedChunk]:
        found: list[RetrievedChunk] = await self.what()
        return found


class CallbackModel:
    """A side model that does what it is told instead of answering."""

    def __init__(self, what: Callable[[], Any]) -> None:
        self.what = what
        self.calls: list[list[Message]] = []

    async def chat(self, messages: list[Message]) -> Message:
        self.calls.append(messages)
        answer: Message = await self.what()
        return answer


async def hang() -> Any:
    """Never ends by itself."""
    await asyncio.Event().wait()


class UncancellableWork:
    """Work that does not let itself be cancelled until `free` is set."""

    def __init__(self) -> None:
        self.free = asyncio.Event()

    async def __call__(self) -> Any:
        while not self.free.is_set():
            try:
                await self.free.wait()
            except asyncio.CancelledError:
                continue
        return []


class StuckThread:
    """Work stuck in a thread until `free` is set."""

    def __init__(self) -> None:
        self.free = threading.Event()

    async def __call__(self) -> Any:
        await asyncio.to_thread(self.free.wait)
        return []


def raising(error: BaseException) -> Callable[[], Any]:
    """Work that fails at once."""

    async def fail() -> Any:
        raise error

    return fail


def answering(text: str) -> Callable[[], Any]:
    """A model's work: saying *text*."""

    async def say() -> Any:
        return Message(role="assistant", content=text)

    return say
