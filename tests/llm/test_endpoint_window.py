"""How large a model's window is, as its endpoint says it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from familiar_connect.llm.endpoint_window import WindowLookup, window_of_list, window_of_props, window_of_show
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.types import Capabilities
from tests.fakes.model_server import ModelServer, stream_answer


@pytest.mark.parametrize(
    ("row", "window"),
    [
        ({"context_length": 200_000}, 200_000),
        ({"context_length": 200_000, "top_provider": {"context_length": 64_000}}, 64_000),
        ({"max_model_len": 32_768}, 32_768),
        ({"meta": {"n_ctx_train": 8192}}, 8192),
        ({"meta": {"n_ctx_train": 131_072, "n_ctx": 4096}}, 4096),
        ({"context_length": "large"}, None),
        ({"context_length": True}, None),
        ({"context_length": -1}, None),
        ({"meta": "no table"}, None),
    ],
)
def test_a_list_of_models_tells_the_window(row: dict[str, Any], window: int | None) -> None:
    """In whichever of its words; nonsense is no answer."""
    assert (
        window_of_list({"data": ["noise", {"id": "other", "context_length": 1024}, {"id": "m", **row}]}, "m") == window
    )


def test_the_only_model_of_a_list_is_meant() -> None:
    """llama.cpp serves one, whatever it is called."""
    assert window_of_list({"data": [{"id": "file.gguf", "max_model_len": 4096}]}, "m") == 4096


def test_llama_cpp_tells_the_window_of_one_conversation() -> None:
    """In its properties."""
    assert window_of_props({"default_generation_settings": {"n_ctx": 16_384}}) == 16_384


@pytest.mark.parametrize(
    ("parameters", "most", "window"),
    [
        ("num_ctx 16384\nstop x", 131_072, 16_384),
        ("", 131_072, 4096),
        ("num_ctx 65536", 32_768, 32_768),
        ("", 2048, 2048),
    ],
)
def test_ollama_uses_what_it_is_set_to_and_no_more(parameters: str, most: int, window: int) -> None:
    """Its default is small whatever the model has, and it drops the rest of a prompt silently."""
    shown = {"parameters": parameters, "model_info": {"qwen2.context_length": most, "general.name": "x"}}

    assert window_of_show(shown) == window


@pytest.mark.parametrize(
    ("about", "window"),
    [
        ({"/v1/models": {"data": [{"id": "m", "context_length": 200_000}]}}, 200_000),
        ({"/props": {"default_generation_settings": {"n_ctx": 8192}}}, 8192),
        ({"/api/show": {"model_info": {"x.context_length": 32_768}, "parameters": "num_ctx 8192"}}, 8192),
        ({}, None),
    ],
)
async def test_an_endpoint_is_asked_once(about: dict[str, Any], window: int | None) -> None:
    """In all three ways at once; what it says is the model's window from then on."""
    async with ModelServer([stream_answer("x")], about=about) as server:
        client = LLMClient(api_key=None, model="m", base_url=server.base_url)
        await client.learn_limits()
        await client.learn_limits()
        await client.close()

    assert client.capabilities.window == window
    assert sorted(server.questions) == ["/api/show", "/props", "/v1/models"]


async def test_an_owner_who_says_the_window_is_believed() -> None:
    """And nobody is asked."""
    async with ModelServer([stream_answer("x")]) as server:
        known = Capabilities(window=9000, is_window_set=True)
        client = LLMClient(api_key=None, model="m", base_url=server.base_url, capabilities=known)
        await client.learn_limits()
        await client.close()

    assert (client.capabilities.window, server.questions) == (9000, [])


async def test_an_endpoint_that_is_away_is_asked_again() -> None:
    """Refusing a connection is no answer, and no error."""
    asked: list[int] = []

    async def ask() -> int | None:
        asked.append(1)
        if len(asked) == 1:
            raise OSError
        return 8192

    lookup = WindowLookup(ask)
    found = []
    for _ in range(3):
        await lookup.learn()
        found.append(lookup.window)

    assert (found, len(asked)) == ([None, 8192, 8192], 2)


async def test_a_slow_endpoint_keeps_no_reply_waiting_twice() -> None:
    """It is waited for once, for a moment; what it says later counts from then on."""
    told, now = asyncio.Event(), [0.0]

    async def ask() -> int | None:
        await told.wait()
        return 8192

    lookup = WindowLookup(ask, clock=lambda: now[0])
    await lookup.learn(wait_s=0.0)
    await asyncio.wait_for(lookup.learn(wait_s=1000.0), 100)  # returns at once
    early = lookup.window
    told.set()
    now[0] = 1000.0
    await lookup.learn(wait_s=5.0)
    await lookup.close()

    assert (early, lookup.window) == (None, 8192)
