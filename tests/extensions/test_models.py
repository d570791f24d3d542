"""A model of an extension: its words are handed on, its errors are a model that failed, its streams are ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing

import pytest

from familiar_connect.errors import ModelError
from familiar_connect.extensions.models import ExtensionModel
from familiar_connect.extensions.thread import ExtensionThread
from familiar_connect.llm.types import Capabilities, Message

HELLO = [Message(role="user", content="hello")]


class WordyModel:
    """Says two words; tells when a stream of it was ended."""

    capabilities = Capabilities()

    def __init__(self, error: Exception | None = None) -> None:
        self.ended = threading.Event()
        self._error = error

    async def stream(self, messages: Sequence[Message]) -> AsyncIterator[str]:
        try:
            yield "one "
            if self._error is not None:
                raise self._error
            yield "two"
        finally:
            self.ended.set()

    async def chat(self, messages: list[Message]) -> Message:
        return Message(role="assistant", content="".join([piece async for piece in self.stream(messages)]))


@pytest.fixture
def thread() -> Iterator[ExtensionThread]:
    made = ExtensionThread("stranger")
    yield made
    made.close()


async def test_what_it_says_comes_whole_and_in_pieces(thread: ExtensionThread) -> None:
    """On a loop of its own, in its order."""
    model = ExtensionModel(WordyModel(), thread, "extension:stranger/wordy")

    assert [piece async for piece in model.stream(HELLO)] == ["one ", "two"]
    assert (await model.chat(HELLO)).content == "one two"


async def test_what_it_raises_is_a_model_that_failed(thread: ExtensionThread) -> None:
    """So that fallbacks, notices and traces treat it as any other."""
    model = ExtensionModel(WordyModel(KeyError("gone")), thread, "extension:stranger/wordy")

    with pytest.raises(ModelError, match="the extension stranger failed: KeyError"):
        await model.chat(HELLO)
    with pytest.raises(ModelError, match="the extension stranger failed: KeyError"):
        assert [piece async for piece in model.stream(HELLO)] == []


async def test_a_stream_that_nobody_reads_on_is_ended(thread: ExtensionThread) -> None:
    """An interrupted reply leaves no connection open."""
    said = WordyModel()
    model = ExtensionModel(said, thread, "extension:stranger/wordy")
    stream = model.stream(HELLO)

    async with aclosing(stream):  # type: ignore[type-var]
        assert await anext(stream) == "one "

    assert await asyncio.to_thread(said.ended.wait, 60)
