"""open_stream: the pieces of a reply from any model, however little of a model it is.

A model may offer `start` (pieces and facts), `stream` (pieces) or only `chat` (the whole text). What a
subclass, or a test on an instance, has redefined last is what is asked.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any

from familiar_connect.llm.protocols import CompletionStream
from familiar_connect.llm.types import Completion, Message, ToolSpec

STREAM_METHODS = ("start", "stream", "chat")
_NOWHERE = 1 << 20


class PieceStream:
    """A CompletionStream over an async generator. Iterate it once."""

    def __init__(self, completion: Completion, pieces: AsyncGenerator[str, None]) -> None:
        self.completion = completion
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[str]:
        return self._pieces

    async def aclose(self) -> None:
        """End the call. Not while another task waits for a piece: cancel that task instead."""
        await self._pieces.aclose()


def open_stream(
    model: Any,
    messages: Sequence[Message],
    *,
    stop: Sequence[str] = (),
    max_tokens: int | None = None,
    tools: Sequence[ToolSpec] = (),
    may_call: bool = True,
) -> CompletionStream:
    """Start a reply of *model*. *stop*, *max_tokens* and *tools* reach the models that can heed them."""
    way = closest_method(model)
    if way == "start":
        offered: dict[str, Any] = {"tools": tools, "may_call": may_call} if tools else {}
        started: CompletionStream = model.start(messages, stop=stop, max_tokens=max_tokens, **offered)
        return started
    if way == "stream":
        return stream_with_timing(model, lambda: model.stream(messages))
    return stream_from_chat(model, messages)


def stream_from_chat(model: Any, messages: Sequence[Message]) -> PieceStream:
    """The answer of `model.chat` as a stream of one piece."""

    async def once() -> AsyncGenerator[str, None]:
        answer = await model.chat(list(messages))
        if answer.content:
            yield answer.content

    return stream_with_timing(model, once)


def closest_method(model: Any) -> str:
    """Which of `start`, `stream`, `chat` *model* defines most closely; at equal distance the richest."""
    nearest = min(STREAM_METHODS, key=lambda way: _distance(model, way))
    if _distance(model, nearest) < _NOWHERE:
        return nearest
    return next((way for way in STREAM_METHODS if hasattr(model, way)), "chat")


def _distance(model: Any, name: str) -> int:
    """How many classes up *name* is defined: -1 on the instance itself."""
    if name in getattr(model, "__dict__", {}):
        return -1
    for steps, cls in enumerate(type(model).__mro__):
        if name in vars(cls):
            return steps
    return _NOWHERE


def stream_with_timing(model: Any, begin: Callable[[], AsyncIterator[str]]) -> PieceStream:
    """A stream over plain pieces, with the text and the times noted beside them."""
    named = getattr(model, "model", None)
    completion = Completion(model=named if isinstance(named, str) else type(model).__name__)
    return PieceStream(completion, _timed(completion, begin))


async def _timed(completion: Completion, begin: Callable[[], AsyncIterator[str]]) -> AsyncGenerator[str, None]:
    began = time.monotonic()
    pieces = begin()
    try:
        async for piece in pieces:
            if not piece:
                continue
            if completion.first_token_s is None:
                completion.first_token_s = time.monotonic() - began
            completion.text += piece
            yield piece
    finally:
        completion.duration_s = time.monotonic() - began
        close = getattr(pieces, "aclose", None)
        if close is not None:
            await close()
