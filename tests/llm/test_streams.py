"""open_stream takes anything that can answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, cast
from unittest.mock import AsyncMock, MagicMock

import pytest

from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.streams import open_stream
from familiar_connect.llm.types import CompletionRequest, Message

ASKED = [Message("user", "hi")]


class OnlyChat:
    async def chat(self, messages: list[Message]) -> Message:
        return Message("assistant", "from chat")


class OnlyStream:
    model = "streamer"

    async def stream(self, messages: Sequence[Message]) -> AsyncIterator[str]:
        yield "from "
        yield ""
        yield "stream"


class ChatOverridden(LLMClient):
    def __init__(self) -> None:
        super().__init__(api_key=None, model="own")

    async def chat(self, messages: list[Message]) -> Message:
        return Message("assistant", "from chat")


def mocked() -> Any:
    model = MagicMock()
    model.chat = AsyncMock(return_value=Message("assistant", "from chat"))
    return model


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (OnlyChat(), "from chat"),
        (OnlyStream(), "from stream"),
        (ScriptedModel(["from start"]), "from start"),
        (ChatOverridden(), "from chat"),
        (mocked(), "from chat"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_whatever_a_model_can_do_is_used(model: Any, text: str) -> None:
    """The richest of start, stream and chat that it has answers, and the completion has the text."""
    stream = open_stream(model, CompletionRequest(ASKED))
    pieces = [piece async for piece in stream]

    assert "".join(pieces) == text == stream.completion.text
    assert stream.completion.first_token_s is not None


async def test_an_empty_answer_is_no_piece() -> None:
    """Nothing said is nothing yielded."""

    class Silent:
        async def chat(self, messages: list[Message]) -> Message:
            return Message("assistant", "")

    assert [piece async for piece in open_stream(cast("ChatModel", Silent()), CompletionRequest(ASKED))] == []


async def test_a_stream_never_read_can_be_closed() -> None:
    """Opening alone asks nobody."""
    model = ScriptedModel(["unused"])
    await open_stream(model, CompletionRequest(ASKED)).aclose()

    assert model.calls == []
