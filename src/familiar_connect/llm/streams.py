"""open_stream: the reply of any model as a stream of pieces, also of one that can only answer whole.

A model may offer `start` (pieces and facts), `stream` (pieces) or only `chat` (the whole text): the first of them
that its class has is asked. `chat` gives back words; what they cost is in the completions behind them, of every try and
every fallback, which `collect_completions` keeps.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeGuard

from familiar_connect.llm.protocols import ChatModel, CompletingModel, CompletionStream, SideModel
from familiar_connect.llm.types import Completion, CompletionRequest, Message

_reports: ContextVar[list[Completion] | None] = ContextVar("completion_reports", default=None)


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


async def pieces_of(stream: CompletionStream) -> AsyncGenerator[str, None]:
    """The pieces of *stream*, which is closed whatever happens."""
    try:
        async for piece in stream:
            yield piece
    finally:
        await stream.aclose()


def open_stream(model: ChatModel, request: CompletionRequest) -> CompletionStream:
    """Start a reply of *model*. All of *request* but its messages reaches only the models that can heed it."""
    if _can_start(model):
        return model.start(request)
    if _defines(model, "stream"):
        return stream_with_timing(model, lambda: model.stream(request.messages))
    return stream_from_chat(model, request.messages)


def _can_start(model: ChatModel) -> TypeGuard[CompletingModel]:
    return _defines(model, "start")


def _defines(model: object, method: str) -> bool:
    """Whether the class of *model* has *method*; a stand-in that answers to every name has none of its own."""
    return callable(getattr(type(model), method, None))


def stream_from_chat(model: SideModel, messages: Sequence[Message]) -> PieceStream:
    """The answer of `model.chat` as a stream of one piece."""

    async def once() -> AsyncGenerator[str, None]:
        answer = await model.chat(list(messages))
        if answer.content:
            yield answer.content

    return stream_with_timing(model, once)


def stream_with_timing(model: object, begin: Callable[[], AsyncIterator[str]]) -> PieceStream:
    """A stream over plain pieces, with the text and the times noted beside them."""
    named = getattr(model, "model", None)
    completion = Completion(model=named if isinstance(named, str) else type(model).__name__)
    return PieceStream(completion, _time(completion, begin))


async def _time(completion: Completion, begin: Callable[[], AsyncIterator[str]]) -> AsyncGenerator[str, None]:
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


@contextmanager
def collect_completions() -> Iterator[list[Completion]]:
    """A list that is filled with the completion of every call that ends while this is open."""
    collected: list[Completion] = []
    token = _reports.set(collected)
    try:
        yield collected
    finally:
        _reports.reset(token)


def report_completion(completion: Completion) -> None:
    """A call ended, well or not."""
    collected = _reports.get()
    if collected is not None:
        collected.append(completion)
