"""Clients as the tests of this room want them: no waiting, closed at the end."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from familiar_connect.llm.openai_compatible import CallLimits, LLMClient
from familiar_connect.llm.retry import RetryPolicy
from tests.fakes.model_server import ModelServer


class Waits(list[float]):
    """Stands in for sleeping: notes how long it would have been."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
async def client_of(waits: Waits) -> AsyncIterator[Callable[..., LLMClient]]:
    """Makes clients of a server and closes them afterwards."""
    made: list[LLMClient] = []

    def make(server: ModelServer | str, **settings: Any) -> LLMClient:
        base_url = server if isinstance(server, str) else server.base_url
        retry = RetryPolicy(sleep=settings.pop("sleep", waits), rng=random.Random(1))
        limits = CallLimits(
            timeout_s=settings.pop("timeout_s", None), reply_timeout_s=settings.pop("reply_timeout_s", None)
        )
        given = {"api_key": "sk-secret-key-123", "model": "test-model", "retry": retry, "limits": limits}
        client = LLMClient(base_url=base_url, **{**given, **settings})
        made.append(client)
        return client

    yield make
    for client in made:
        await client.close()
