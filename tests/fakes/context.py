"""Actors of the context room: people, requests, contributions, and providers that do what they are told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from familiar_connect.context.types import (
    BudgetResult,
    ContextItem,
    ContextRequest,
    Contribution,
    ItemTag,
    Layer,
    Modality,
    PipelineOutput,
)
from familiar_connect.identity import Author
from familiar_connect.support.tokens import estimate_tokens

ADA = Author(platform="discord", user_id="1", username="ada_l", display_name="Ada")
BO = Author(platform="discord", user_id="2", username="bo", display_name="Bo")
CY = Author(platform="discord", user_id="3", username="cy", display_name="Cy")
PLENTY = dict.fromkeys(Layer, 100_000)


def a_request(**changes: Any) -> ContextRequest:
    """Ada says hello in channel 7, with all the room and time in the world, but for *changes*."""
    facts: dict[str, Any] = {
        "familiar_id": "wren",
        "channel_id": 7,
        "guild_id": None,
        "author": ADA,
        "utterance": "hello",
        "modality": Modality.text,
        "budget_tokens": 0,
        "deadline_s": 0.0,
    }
    return ContextRequest(**facts | changes)


def a_piece(
    text: str, layer: Layer = Layer.content, *, priority: int = 50, source: str = "test", **more: Any
) -> Contribution:
    """A contribution whose tokens are those of its text."""
    return Contribution(layer, priority, text, estimate_tokens(text), source, **more)


def said(role: Any, text: str, **more: Any) -> ContextItem:
    """One dialogue turn, as it will be sent."""
    return ContextItem.of(role, text, tag=ItemTag.DIALOGUE, source="history:recent", **more)


def a_dialogue(*items: ContextItem, layer: Layer = Layer.recent_history, **more: Any) -> Contribution:
    """The recent turns as the history brings them."""
    text = "\n".join(item.text for item in items)
    tokens = sum(estimate_tokens(item.text) for item in items)
    return Contribution(layer, 80, text, tokens, "history:recent", items=items, **more)


def an_output(*kept: Contribution, request: ContextRequest | None = None, **more: Any) -> PipelineOutput:
    """What assembly leaves when everything fits, already in prompt order."""
    return PipelineOutput(request or a_request(), BudgetResult(kept=list(kept)), **more)


class FixedProvider:
    """A provider that answers at once."""

    def __init__(self, *contributions: Contribution, id: str = "giving", deadline_s: float = 5.0) -> None:
        self.id = id
        self.deadline_s = deadline_s
        self.contributions = list(contributions)
        self.asked: list[ContextRequest] = []

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        self.asked.append(request)
        return self.contributions


class FailingProvider:
    """A provider that raises."""

    def __init__(self, error: BaseException, *, id: str = "failing") -> None:
        self.id = id
        self.deadline_s = 5.0
        self.error = error

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        raise self.error


class WaitingProvider:
    """A provider that answers when told, and remembers whether it was cancelled."""

    def __init__(self, *contributions: Contribution, id: str = "waiting", deadline_s: float = 5.0) -> None:
        self.id = id
        self.deadline_s = deadline_s
        self.contributions = list(contributions)
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self.cancelled = False

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        self.asked.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return self.contributions


class UncancellableProvider(WaitingProvider):
    """A provider that does not let itself be cancelled."""

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        while not self.go.is_set():
            try:
                await super().contribute(request)
            except asyncio.CancelledError:
                continue
        return self.contributions


class BlockedThreadProvider:
    """A provider whose thread is stuck until `free` is set."""

    def __init__(self, *, id: str = "blocked", deadline_s: float = 0.02) -> None:
        self.id = id
        self.deadline_s = deadline_s
        self.free = threading.Event()

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        await asyncio.to_thread(self.free.wait)
        return []


class AddingPreProcessor:
    """A pre-processor that adds a note, or does what *instead* says."""

    def __init__(self, text: str = "note", *, id: str = "adding", instead: Callable[[], Any] | None = None) -> None:
        self.id = id
        self.text = text
        self.instead = instead
        self.seen: list[ContextRequest] = []

    async def process(self, request: ContextRequest) -> ContextRequest:
        self.seen.append(request)
        if self.instead is not None:
            result = self.instead()
            if asyncio.iscoroutine(result):
                await result
        note = a_piece(self.text, Layer.depth_inject, source=self.id)
        return replace(request, preprocessor_contributions=(*request.preprocessor_contributions, note))


class AppendingPostProcessor:
    """A post-processor that appends its id, or raises."""

    def __init__(self, id: str, error: BaseException | None = None) -> None:
        self.id = id
        self.error = error

    async def process(self, reply_text: str, request: ContextRequest) -> str:
        if self.error is not None:
            raise self.error
        return f"{reply_text} {self.id}"


def contents(messages: Sequence[Any]) -> list[str]:
    return [message.content for message in messages]
