"""How long a model may take to its first token, and what is waited for meanwhile; all on simulated time."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from familiar_connect.config.llm import LLMSlotConfig
from familiar_connect.errors import ModelError, ModelSetupError, ModelTimeoutError
from familiar_connect.llm.call_clock import CallLimits
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.retry import RetryPolicy
from familiar_connect.llm.types import CompletionRequest, Message
from familiar_connect.support.simulated_time import SimulatedLoop, run_simulated
from familiar_connect.support.web_origin import is_own_network
from tests.fakes.model_server import (
    DONE,
    Answer,
    ModelServer,
    answer_late,
    error_answer,
    event,
    head,
    raw_answer,
    stall,
    stream_answer,
    whole_answer,
)

ASKED = [Message("user", "Hello")]
LOADING = error_answer(503, "Loading model")
Story = Callable[[SimulatedLoop], Coroutine[Any, Any, None]]


@asynccontextmanager
async def client_of(base_url: str, *, is_main: bool = True, **limits: Any) -> AsyncIterator[LLMClient]:
    """A client as the slots make them, unless told otherwise."""
    client = LLMClient(
        api_key=None,
        model="slow-model",
        base_url=base_url,
        is_main=is_main,
        limits=CallLimits(**limits),
        retry=RetryPolicy(waits_for_server=is_main, rng=random.Random(1)),
    )
    try:
        yield client
    finally:
        await client.close()


async def say(client: LLMClient) -> str:
    return "".join([piece async for piece in client.start(CompletionRequest(ASKED))])


def simulated(story: Story) -> Callable[[], None]:
    """A test whose waiting costs nothing."""

    def test() -> None:
        run_simulated(story)

    test.__doc__ = story.__doc__
    test.__name__ = story.__name__
    return test


@simulated
async def test_a_minute_to_the_first_token_is_waited_for(loop: SimulatedLoop) -> None:
    """At an address of one's own, with nothing set."""
    async with ModelServer([answer_late(60, stream_answer("at", " last"))]) as server, client_of(server.base_url) as it:
        assert await say(it) == "at last"
    assert 60 <= loop.time() < 62


@simulated
async def test_a_silent_model_ends_with_the_name_of_the_setting(loop: SimulatedLoop) -> None:
    """Once its time is over, without a further try that would begin its work anew."""
    async with ModelServer([stall]) as server, client_of(server.base_url) as it:
        with pytest.raises(ModelTimeoutError, match=r"within 120 s: .* raise `first_token_s` under \[llm\]"):
            await say(it)
        assert len(server.requests) == 1
    assert 120 <= loop.time() < 121


@simulated
async def test_an_empty_beginning_is_no_token(loop: SimulatedLoop) -> None:
    """Some servers open the stream at once and only then work through the prompt."""
    late = answer_late(100, raw_answer(event("here"), event(finish="stop"), DONE))
    async with ModelServer([raw_answer(head(), event(""), then=late)]) as server, client_of(server.base_url) as it:
        assert await say(it) == "here"
    assert loop.time() >= 100


@simulated
async def test_thoughts_count_as_a_sign_of_life(loop: SimulatedLoop) -> None:
    """A model that thinks for five minutes is not silent, and nothing of its thoughts is shown."""
    thought = b"data: " + json.dumps({"choices": [{"delta": {"reasoning_content": "SECRET"}}]}).encode() + b"\n\n"
    answer = raw_answer(event("Hello."), event(finish="stop"), DONE)
    for _ in range(6):
        answer = answer_late(50, raw_answer(thought, then=answer))
    async with ModelServer([raw_answer(head(), then=answer)]) as server, client_of(server.base_url) as it:
        assert await say(it) == "Hello."
    assert loop.time() >= 300


@simulated
async def test_a_model_that_loads_is_waited_for_and_that_is_shown(loop: SimulatedLoop) -> None:
    """llama.cpp answers 503 while it reads its model."""
    async with ModelServer([LOADING]) as server, client_of(server.base_url) as it:
        replying = asyncio.create_task(say(it))
        await asyncio.sleep(40)
        assert it.waiting_for is not None
        assert "it is loading slow-model" in it.waiting_for
        server.script[:] = [stream_answer("ready")]
        assert await replying == "ready"
        assert it.waiting_for is None
        assert len(server.requests) < 40
    assert loop.time() < 45


@simulated
async def test_a_model_that_never_loads_is_given_up_in_time(loop: SimulatedLoop) -> None:
    """After the time to the first token, with a sentence that says what to do."""
    async with ModelServer([LOADING]) as server, client_of(server.base_url, first_token_s=30.0) as it:
        with pytest.raises(ModelError, match=r"still loading 'slow-model' \(503\).* raise `first_token_s`"):
            await say(it)
    assert 27 <= loop.time() <= 30


@simulated
async def test_a_server_that_comes_up_is_waited_for(loop: SimulatedLoop) -> None:
    """Nobody listens at first."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    async with client_of(f"http://127.0.0.1:{port}/v1") as it:
        replying = asyncio.create_task(say(it))
        await asyncio.sleep(20)
        assert it.waiting_for is not None
        assert "nothing answers there yet" in it.waiting_for
        async with ModelServer([stream_answer("up")], port=port):
            assert await replying == "up"


@simulated
async def test_a_server_that_never_listens_is_given_up_sooner(loop: SimulatedLoop) -> None:
    """After a third of the time: it is probably not going to be started."""
    async with client_of("http://127.0.0.1:9/v1") as it:
        with pytest.raises(ModelSetupError, match=r"No server answers at .* is it running"):
            await say(it)
    assert 35 <= loop.time() <= 40


@simulated
async def test_a_side_call_does_not_wait_for_a_server(loop: SimulatedLoop) -> None:
    """It is left out meanwhile; the reply is what people wait for."""
    async with client_of("http://127.0.0.1:9/v1", is_main=False) as it:
        with pytest.raises(ModelSetupError, match="No server answers"):
            await it.chat(ASKED)
    assert loop.time() < 1


@simulated
async def test_waiting_behind_another_reply_is_not_silence(loop: SimulatedLoop) -> None:
    """A server that works on one request at a time lets the second wait; its time begins when the first is done."""
    lane = asyncio.Lock()

    def in_turn(answer: Answer) -> Answer:
        async def take_turn(server: ModelServer, writer: asyncio.StreamWriter) -> None:
            async with lane:
                await answer(server, writer)

        return take_turn

    async with (
        ModelServer([in_turn(answer_late(90, stream_answer("mine")))]) as server,
        client_of(server.base_url) as one,
        client_of(server.base_url) as other,
    ):
        assert set(await asyncio.gather(say(one), say(other))) == {"mine"}
    assert loop.time() >= 180


@simulated
async def test_a_side_call_gives_its_place_to_a_reply_and_is_made_again(loop: SimulatedLoop) -> None:
    """It is broken off when the reply comes, waits until that is written, and then gets its answer."""
    slow = answer_late(30, whole_answer("side"))
    script = [slow, answer_late(10, stream_answer("reply")), slow]
    async with (
        ModelServer(script) as server,
        client_of(server.base_url, is_main=False) as side,
        client_of(server.base_url) as main,
    ):
        asking = asyncio.create_task(side.chat(ASKED))
        await asyncio.sleep(5)
        assert await say(main) == "reply"
        assert (loop.time() < 16, server.most_running) == (True, 1)
        assert (await asking).content == "side"
        assert [request.payload.get("stream", False) for request in server.requests] == [False, True, False]
    assert 44 <= loop.time() < 50


@simulated
async def test_a_side_call_waits_while_a_reply_is_asked_at_its_server(loop: SimulatedLoop) -> None:
    """One that comes during a reply is deferred; at another server it goes on."""
    async with (
        ModelServer([answer_late(10, stream_answer("reply")), whole_answer("side")]) as server,
        ModelServer([whole_answer("elsewhere")]) as elsewhere,
        client_of(server.base_url) as main,
        client_of(server.base_url, is_main=False) as side,
        client_of(elsewhere.base_url, is_main=False) as other,
    ):
        replying = asyncio.create_task(say(main))
        await asyncio.sleep(1)
        asking = asyncio.create_task(side.chat(ASKED))
        assert (await other.chat(ASKED)).content == "elsewhere"
        assert loop.time() < 2
        assert (await asking).content == "side"
        assert loop.time() >= 10
        assert await replying == "reply"


@pytest.mark.parametrize(
    ("address", "seconds"),
    [
        ("http://127.0.0.1:11434/v1", 120),
        ("http://localhost:8080/v1", 120),
        ("http://[::1]:8080/v1", 120),
        ("http://192.168.1.20:8000/v1", 120),
        ("http://10.0.0.3/v1", 120),
        ("http://gpu-box:8000/v1", 120),
        ("http://gpu-box.local/v1", 120),
        ("http://100.101.102.103:8000/v1", 120),
        ("https://openrouter.ai/api/v1", 60),
        ("https://8.8.8.8/v1", 60),
    ],
)
def test_endpoints_of_ones_own_get_minutes(address: str, seconds: float) -> None:
    """Loopback, private networks and names that only such a network gives out."""
    assert LLMSlotConfig("m", base_url=address).first_token_limit_s == seconds
    assert is_own_network(address) == (seconds == 120)
    assert LLMSlotConfig("m", base_url=address, first_token_s=7.0).first_token_limit_s == 7.0
    assert LLMSlotConfig("m", base_url=address, timeout_s=300.0).first_token_limit_s == 300.0
    assert LLMSlotConfig("embedded").first_token_limit_s == 120


@pytest.mark.parametrize("streams", [True, False])
async def test_every_call_names_its_longest_answer(streams: bool) -> None:
    """Whatever is set or not: no call goes on for ever."""
    async with ModelServer([whole_answer("fine")]) as server, client_of(server.base_url) as it:
        await (say(it) if streams else it.chat(ASKED))

        assert server.requests[0].payload["max_tokens"] == 2048
