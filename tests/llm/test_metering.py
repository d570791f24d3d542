"""MeteredModel: every call is asked for first and counted afterwards, whatever way it is made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from familiar_connect.errors import ModelError, SpendingLimitError
from familiar_connect.llm.model_slots import ModelSlots
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.retry import RetryPolicy
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.streams import open_stream
from familiar_connect.llm.types import Capabilities, CompletionRequest, Message, Usage
from tests.fakes.model_server import ModelServer, error_answer, stream_answer, whole_answer

ASKED = [Message("user", "x" * 40)]
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "cost": 0.125}


class RecordingMeter:
    def __init__(self, *, is_spent: bool = False) -> None:
        self.calls: list[tuple[str, Usage]] = []
        self._is_spent = is_spent

    def check_call(self, slot: str) -> None:
        if self._is_spent:
            raise SpendingLimitError("no more today")

    def record_call(self, slot: str, usage: Usage) -> None:
        self.calls.append((slot, usage))


class BareModel:
    """A stand-in that can only answer whole, and counts nothing."""

    capabilities = Capabilities()

    async def chat(self, messages: list[Message]) -> Message:
        return Message("assistant", "y" * 20)

    def stream(self, messages: Sequence[Message]) -> AsyncIterator[str]:
        raise NotImplementedError


def client_at(server: ModelServer, **more: LLMClient) -> LLMClient:
    fallbacks = tuple(more.values())
    return LLMClient(
        api_key=None, model="m", base_url=server.base_url, fallbacks=fallbacks, retry=RetryPolicy(max_retries=0)
    )


async def test_an_answer_in_one_and_one_in_pieces_are_counted_as_the_endpoint_says() -> None:
    """What OpenRouter and others tell a call cost, too."""
    meter = RecordingMeter()
    async with ModelServer([whole_answer("Hi", usage=USAGE), stream_answer("Hi", usage=USAGE)]) as server:
        client = client_at(server)
        slots = ModelSlots({"main_prose": client}, meter)
        await slots.model("main_prose").chat(ASKED)
        model = slots.get("main_prose")
        assert model is not None
        stream = open_stream(model, CompletionRequest(ASKED))
        pieces = [piece async for piece in stream]
        await client.close()

    assert pieces == ["Hi"]
    assert meter.calls == [("main_prose", Usage(7, 3, cost=0.125))] * 2


async def test_a_fallback_is_counted_and_a_failure_before_the_first_word_is_free() -> None:
    """The next model's answer is what was paid for."""
    meter = RecordingMeter()
    async with ModelServer([error_answer(400), whole_answer("Hi", usage=USAGE), error_answer(400)]) as server:
        other = client_at(server)
        client = client_at(server, other=other)
        slots = ModelSlots({"mood_eval": client, "main_prose": other}, meter)
        await slots.model("mood_eval").chat(ASKED)
        with pytest.raises(ModelError):
            await slots.model("main_prose").chat(ASKED)
        await client.close()

    assert meter.calls == [("mood_eval", Usage(7, 3, cost=0.125))]


async def test_what_nobody_counted_is_estimated_from_the_text() -> None:
    """Four characters a token."""
    meter = RecordingMeter()
    await ModelSlots({"main_prose": BareModel()}, meter).model("main_prose").chat(ASKED)

    assert meter.calls == [("main_prose", Usage(10, 5))]


async def test_a_stream_that_is_broken_off_is_counted_as_far_as_it_went() -> None:
    """The prompt was read, and some words were written."""
    meter = RecordingMeter()
    model = ModelSlots({"main_prose": ScriptedModel(["one two three four"])}, meter).get("main_prose")
    assert model is not None
    stream = open_stream(model, CompletionRequest(ASKED))
    async for _ in stream:
        break
    await stream.aclose()

    assert meter.calls == [("main_prose", Usage(10, 1))]


async def test_no_call_is_made_once_the_meter_says_no() -> None:
    """Neither way of asking reaches the model."""
    asked = ScriptedModel(["never"])
    slots = ModelSlots({"main_prose": asked}, RecordingMeter(is_spent=True))
    model = slots.get("main_prose")
    assert model is not None
    with pytest.raises(SpendingLimitError):
        await slots.model("main_prose").chat(ASKED)
    with pytest.raises(SpendingLimitError):
        _ = [piece async for piece in open_stream(model, CompletionRequest(ASKED))]

    assert asked.calls == []


@pytest.mark.parametrize("cost", [True, "0.1", -1, float("inf"), 1e9, None, []])
async def test_a_cost_that_makes_no_sense_is_none(cost: object) -> None:
    """A server's number is taken only where it can be one."""
    meter = RecordingMeter()
    async with ModelServer([whole_answer("Hi", usage={**USAGE, "cost": cost})]) as server:
        client = client_at(server)
        await ModelSlots({"main_prose": client}, meter).model("main_prose").chat(ASKED)
        await client.close()

    assert meter.calls == [("main_prose", Usage(7, 3))]
