"""What an endpoint may take and send: the time of a whole reply, and the length of every field of its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from familiar_connect.config.llm import DEFAULT_REPLY_TIMEOUT_S
from familiar_connect.errors import ModelError
from familiar_connect.llm import sse
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.retry import MAX_DETAIL_CHARS
from familiar_connect.llm.sse import MAX_ARGUMENT_CHARS, MAX_ID_CHARS, MAX_NAME_CHARS, MAX_TOOL_CALLS
from familiar_connect.llm.types import Completion, CompletionRequest, Message
from tests.fakes.model_server import DONE, ModelServer, event, head, raw_answer, stall, stream_answer, whole_answer

Make = Callable[..., LLMClient]
ASKED = [Message("user", "Hello there, little flame!")]
LONG = "x" * 300_000


async def read(client: LLMClient) -> Completion:
    stream = client.start(CompletionRequest(ASKED))
    async for _ in stream:
        pass
    return stream.completion


async def drip(server: ModelServer, writer: asyncio.StreamWriter) -> None:
    """A word every hundredth of a second, for ever."""
    while True:
        writer.write(event("a "))
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_a_reply_that_drips_for_ever_is_ended(client_of: Make) -> None:
    """It is never silent for long, so only the time of the whole can end it; what came stays known."""
    async with ModelServer([raw_answer(head(), then=drip)]) as server:
        stream = client_of(server, reply_timeout_s=2.0).start(CompletionRequest(ASKED))
        with pytest.raises(ModelError, match=r"took longer than 2 s for one reply: raise `reply_timeout_s`") as ended:
            async for _ in stream:
                pass

    assert not ended.value.retryable
    assert stream.completion.text.startswith("a a ")
    assert len(server.requests) == 1


async def test_a_whole_answer_that_never_ends_is_ended(client_of: Make) -> None:
    """Streamed or not, the limit is the same."""

    async def blanks(server: ModelServer, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with ModelServer([raw_answer(head(kind="application/json"), then=blanks)]) as server:
        with pytest.raises(ModelError, match="for one reply"):
            await client_of(server, reply_timeout_s=0.3).complete(CompletionRequest(ASKED))


@pytest.mark.slow
async def test_further_tries_count_towards_the_time_of_a_reply(client_of: Make) -> None:
    """A server that is silent again and again does not begin the time anew."""
    async with ModelServer([stall]) as server:
        with pytest.raises(ModelError, match="for one reply"):
            await read(client_of(server, timeout_s=0.4, reply_timeout_s=1.0))

    assert 1 < len(server.requests) <= 4


async def test_a_reply_has_ten_minutes_unless_told_otherwise(client_of: Make) -> None:
    """A default nobody has to set."""
    assert LLMClient(api_key=None, model="m").reply_timeout_s == DEFAULT_REPLY_TIMEOUT_S == 600
    async with ModelServer([stream_answer("fine")]) as server:
        assert (await read(client_of(server))).text == "fine"


@pytest.mark.parametrize("streams", [True, False])
async def test_names_an_endpoint_gives_are_short(client_of: Make, streams: bool) -> None:
    """Provider, reason and timings go into records; they are cut, however long they come."""
    timings = {f"{number}{LONG[:200]}": 1.0 for number in range(500)}
    facts: dict[str, Any] = {"provider": LONG, "timings": timings}
    if streams:
        answer = raw_answer(head(), event("hi", finish=LONG, **facts), DONE)
    else:
        choice = {"message": {"content": "hi"}, "finish_reason": LONG}
        body = json.dumps({"choices": [choice], **facts}).encode()
        answer = raw_answer(head(kind="application/json") + body)
    async with ModelServer([answer]) as server:
        client = client_of(server)
        found = await read(client) if streams else await client.complete(CompletionRequest(ASKED))

    assert found.text == "hi"
    assert found.provider == LONG[: sse.MAX_PROVIDER_CHARS]
    assert found.finish_reason == LONG[: sse.MAX_REASON_CHARS]
    assert len(found.timings) == sse.MAX_TIMINGS
    assert max(map(len, found.timings)) <= sse.MAX_TIMING_NAME_CHARS


async def test_tool_calls_are_few_and_short(client_of: Make) -> None:
    """Their number, names, ids and arguments."""
    function = {"name": LONG[:5000], "arguments": LONG[:40_000]}
    calls = [{"index": number, "id": LONG[:5000], "function": function} for number in range(20)]
    pieces = [{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls for _ in range(2)]
    lines = [b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in pieces]
    async with ModelServer([raw_answer(head(), *lines, event(finish="tool_calls"), DONE)]) as server:
        found = await read(client_of(server))

    assert len(found.tool_calls) == MAX_TOOL_CALLS
    assert {len(call.id) for call in found.tool_calls} == {MAX_ID_CHARS}
    assert {len(call.name) for call in found.tool_calls} == {MAX_NAME_CHARS}
    assert {len(call.arguments) for call in found.tool_calls} == {MAX_ARGUMENT_CHARS}


async def test_a_text_longer_than_a_reply_is_cut_or_refused(client_of: Make) -> None:
    """Whole answers are cut; a stream is ended."""
    async with ModelServer([whole_answer(LONG)]) as server:
        assert len((await client_of(server).complete(CompletionRequest(ASKED))).text) == sse.MAX_REPLY_CHARS
    async with ModelServer([raw_answer(head(), event(LONG))]) as server:
        with pytest.raises(ModelError, match="did not stop"):
            await read(client_of(server))


async def test_thoughts_without_end_are_ended(client_of: Make) -> None:
    """Reasoning is not kept; how much of it may be sent is bounded all the same."""
    thought = b"data: " + json.dumps({"choices": [{"delta": {"reasoning": LONG}}]}).encode() + b"\n\n"
    async with ModelServer([raw_answer(head(), *([thought] * 60))]) as server:
        with pytest.raises(ModelError, match="more than 16 MiB"):
            await read(client_of(server))


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_an_endless_error_is_one_short_sentence(client_of: Make, status: int) -> None:
    """Its body is read no further than an error goes."""

    async def endless(server: ModelServer, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    started = raw_answer(head(status, "application/json"), b'{"error": {"message": "', then=endless)
    async with ModelServer([started]) as server:
        with pytest.raises(ModelError) as told:
            await client_of(server).complete(CompletionRequest(ASKED))
    assert len(str(told.value)) < 400

    body = json.dumps({"error": {"message": "no " * 5000}}).encode()
    async with ModelServer([raw_answer(head(status, "application/json") + body)]) as server:
        with pytest.raises(ModelError) as told:
            await client_of(server).complete(CompletionRequest(ASKED))
    assert len(str(told.value)) < 250 + MAX_DETAIL_CHARS


async def test_a_page_without_a_content_type_is_no_answer(client_of: Make) -> None:
    """A sentence that names the address, and no further tries."""
    page = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<html>\n<body>Welcome!</body>\n</html>\n"
    async with ModelServer([raw_answer(page)]) as server:
        with pytest.raises(ModelError, match="not a chat completion: check `base_url`"):
            await read(client_of(server))
        assert len(server.requests) == 1
