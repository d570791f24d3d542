"""Which failures are tried again, how long the wait is, and who is asked next."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import ModelError, ModelSetupError
from familiar_connect.llm.connection import url_without_secrets
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.request_limit import request_semaphore
from familiar_connect.llm.retry import (
    Endpoint,
    RetryPolicy,
    error_of_object,
    error_of_status,
    read_retry_after,
    safe_detail,
)
from familiar_connect.llm.types import CompletionRequest, Message
from tests.fakes.model_server import (
    Answer,
    ModelServer,
    error_answer,
    event,
    head,
    raw_answer,
    reset_connection,
    stall,
    stream_answer,
    whole_answer,
)

Make = Callable[..., LLMClient]
ASKED = [Message("user", "Hello")]


@pytest.mark.parametrize(
    "trouble", [error_answer(429), error_answer(500), error_answer(503), reset_connection, raw_answer(b"")]
)
async def test_passing_trouble_is_tried_again(client_of: Make, waits: list[float], trouble: Answer) -> None:
    """429, 5xx, resets and empty answers cost a wait each, not the reply."""
    async with ModelServer([trouble, trouble, whole_answer("at last")]) as server:
        answer = await client_of(server).chat(ASKED)

    assert (answer.content, len(waits)) == ("at last", 2)
    assert 1 <= waits[0] <= 1.25
    assert 2 <= waits[1] <= 2.5


@pytest.mark.slow
async def test_a_silent_server_is_tried_again(client_of: Make, waits: list[float]) -> None:
    """A timeout before the first byte may pass."""
    async with ModelServer([stall, whole_answer("at last")]) as server:
        answer = await client_of(server, timeout_s=1.5).chat(ASKED)

    assert (answer.content, len(waits)) == ("at last", 1)


async def test_a_stream_is_tried_again_before_its_first_piece(client_of: Make) -> None:
    """Nobody has heard anything yet, so nothing is said twice; the attempts are counted."""
    async with ModelServer(
        [error_answer(500), raw_answer(head(), then=reset_connection), stream_answer("hi")]
    ) as server:
        stream = client_of(server).start(CompletionRequest(ASKED))
        text = [piece async for piece in stream]

    assert (text, stream.completion.attempts) == (["hi"], 3)


async def test_after_four_retries_the_last_error_is_raised(client_of: Make, waits: list[float]) -> None:
    """Patience ends."""
    async with ModelServer([error_answer(500, "tired")]) as server:
        with pytest.raises(ModelError, match="tired"):
            await client_of(server).chat(ASKED)

        assert (len(server.requests), len(waits)) == (5, 4)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422])
async def test_other_refusals_are_final(client_of: Make, waits: list[float], status: int) -> None:
    """What would fail the same way is not repeated."""
    async with ModelServer([error_answer(status)]) as server:
        with pytest.raises(ModelError):
            await client_of(server).chat(ASKED)

        assert (len(server.requests), waits) == (1, [])


async def test_the_servers_wish_is_honoured(client_of: Make, waits: list[float]) -> None:
    """Retry-After in seconds decides the wait."""
    async with ModelServer([error_answer(429, Retry_After="7"), whole_answer("thanks")]) as server:
        await client_of(server).chat(ASKED)

    assert len(waits) == 1
    assert 7 <= waits[0] <= 8.75


def test_retry_after_may_be_a_date() -> None:
    """An HTTP date counts from now; a past one means at once; nonsense means nothing."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    header = format_datetime(now + timedelta(seconds=12), usegmt=True)

    assert read_retry_after(header, now) == 12
    assert read_retry_after(header, now + timedelta(hours=1)) == 0
    assert [read_retry_after(value) for value in ("soon", "", None, "nan")] == [None] * 4


@given(attempt=st.integers(0, 50), wish=st.none() | st.floats(0, 1e9), seed=st.integers())
def test_no_wait_is_longer_than_thirty_seconds(attempt: int, wish: float | None, seed: int) -> None:
    """Whatever a server asks for."""
    policy = RetryPolicy(rng=random.Random(seed))
    wait = policy.wait_s(ModelError("x", retry_after_s=wish), attempt)

    assert min(30.0, 2.0**attempt if wish is None else wish) <= wait <= 30.0


async def test_a_waiting_retry_holds_no_place(client_of: Make) -> None:
    """Others may call while one waits to try again."""
    inside: list[int] = []

    async def look(seconds: float) -> None:
        inside.append(request_semaphore().running)

    async with ModelServer([error_answer(500), whole_answer("ok")]) as server:
        await client_of(server, sleep=look).chat(ASKED)

    assert inside == [0]


async def test_the_next_model_is_asked_when_one_fails(client_of: Make) -> None:
    """Fallbacks are tried in order."""
    async with ModelServer([error_answer(404), error_answer(404), whole_answer("third time lucky")]) as server:
        second, third = client_of(server, model="second"), client_of(server, model="third")
        answer = await client_of(server, model="first", fallbacks=(second, third)).chat(ASKED)

    assert answer.content == "third time lucky"
    assert [request.payload["model"] for request in server.requests] == ["first", "second", "third"]


async def test_when_every_model_fails_the_last_error_is_raised(client_of: Make) -> None:
    """The operator reads of the last one tried."""
    async with ModelServer([error_answer(404), error_answer(401)]) as server:
        second = client_of(server, model="second", key_name="SECOND_KEY")
        with pytest.raises(ModelSetupError, match="SECOND_KEY"):
            await client_of(server, fallbacks=(second,)).chat(ASKED)


async def test_cancelling_a_wait_ends_the_call(client_of: Make) -> None:
    """A turn that is over does not keep trying."""
    waiting = asyncio.Event()

    async def wait(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async with ModelServer([error_answer(500)]) as server:
        call = asyncio.create_task(client_of(server, sleep=wait).chat(ASKED))
        await waiting.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        assert len(server.requests) == 1


async def test_an_unfinished_stream_of_nothing_is_tried_again(client_of: Make) -> None:
    """A stream that ends before it began has lost nothing."""
    async with ModelServer([raw_answer(head()), raw_answer(head(), event("hi", finish="stop"))]) as server:
        assert [piece async for piece in client_of(server).stream(ASKED)] == ["hi"]


def test_an_address_is_shown_without_what_may_be_a_key() -> None:
    """User, password and query stay out of sight."""
    assert url_without_secrets("https://me:pw@host:8443/v1/?key=sk-1#x") == "https://host:8443/v1"


@given(key=st.text(min_size=8, max_size=60), before=st.text(max_size=100), after=st.text(max_size=100))
def test_no_detail_ever_shows_the_key(key: str, before: str, after: str) -> None:
    """A server that repeats the key is not quoted."""
    endpoint = Endpoint(base_url="http://x", model="m", api_key=key)

    assert key not in safe_detail(before + key + after, endpoint)


def test_the_servers_words_are_shortened() -> None:
    """One line of at most two hundred characters."""
    error = error_of_status(Endpoint(base_url="http://x", model="m"), 400, b'{"error": "%s"}' % (b"word\\n" * 500))

    assert "\n" not in str(error)
    assert len(str(error)) < 300


@pytest.mark.parametrize("shown", ["q9secretkeyABCDEF", "ZQ9SECRETKEYABCDEF", "secretke"])
def test_a_piece_of_the_key_is_as_secret_as_the_key(shown: str) -> None:
    """Eight characters of it in a row, in capitals or not, are enough to keep a server's words back."""
    endpoint = Endpoint(base_url="http://x", model="m", api_key="Zq9secretkeyABCDEF")

    assert safe_detail(f"invalid key {shown}…", endpoint) == ""
    assert safe_detail("no such secret", endpoint) == "no such secret"


@given(key=st.text(min_size=8, max_size=40), at=st.integers(0, 32), around=st.text(max_size=20))
def test_no_eight_characters_of_a_key_are_shown(key: str, at: int, around: str) -> None:
    """Wherever in the key they stand."""
    piece = key[min(at, len(key) - 8) :][:8]

    assert piece not in safe_detail(around + piece + around, Endpoint(base_url="http://x", model="m", api_key=key))


DEEP = b"[" * 200_000


async def test_an_error_body_nobody_can_read_leaves_the_status_in_force(client_of: Make, waits: list[float]) -> None:
    """Brackets without end are no words; the call is tried again as the status asks."""
    async with ModelServer([raw_answer(head(500, "application/json"), DEEP), whole_answer("at last")]) as server:
        answer = await client_of(server).chat(ASKED)

    assert (answer.content, len(waits)) == ("at last", 1)


async def test_an_error_body_that_breaks_off_leaves_the_status_in_force(client_of: Make, waits: list[float]) -> None:
    """A refused key stays refused, whatever became of the words about it."""
    broken = raw_answer(head(401, "application/json", Content_Length="1000"), b'{"err', then=reset_connection)
    async with ModelServer([broken]) as server:
        with pytest.raises(ModelSetupError, match="401"):
            await client_of(server).chat(ASKED)

    assert waits == []


@pytest.mark.parametrize("code", ["5000000000" * 500, "²²²", 10**30, True, {}])
def test_no_code_of_an_error_breaks_the_reading_of_it(code: object) -> None:
    """What is no status is none."""
    error = error_of_object(Endpoint(base_url="http://x", model="m"), {"code": code, "message": "odd"})

    assert (error.status, "odd" in str(error)) == (None, True)


@pytest.mark.parametrize("zone", ["+99999999999999999999", "-9999"])
def test_a_date_beyond_every_calendar_is_no_wish(zone: str) -> None:
    """The usual wait is kept instead."""
    assert read_retry_after(f"Mon, 01 Jan 2024 00:00:00 {zone}") in (None, 0.0)
    assert read_retry_after(f"Fri, 31 Dec 9999 23:59:59 {zone}") is None
