"""LLMClient against a real server on loopback: what goes out, what comes back."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

import familiar_connect.llm as llm
from familiar_connect.errors import ModelError, ModelSetupError, NoChoicesError
from familiar_connect.llm.openai_compatible import OPENROUTER_BASE_URL, LLMClient
from familiar_connect.llm.protocols import ChatModel, CompletionStream
from familiar_connect.llm.sse import MAX_REPLY_CHARS
from familiar_connect.llm.types import Completion, CompletionRequest, Message, Usage
from tests.fakes.model_server import (
    DONE,
    ModelServer,
    error_answer,
    event,
    head,
    json_answer,
    raw_answer,
    reset_connection,
    stall,
    stream_answer,
    whole_answer,
)

Make = Callable[..., LLMClient]
ASKED = [Message("system", "You are Ember."), Message("user", "Hello there, little flame!", name="Sam")]


async def read(stream: CompletionStream) -> str:
    return "".join([piece async for piece in stream])


class TestOutgoing:
    def test_headers_carry_the_key_as_bearer(self) -> None:
        """The key travels in a header, beside the kind of content."""
        client = LLMClient(api_key="k", model="m")

        assert client.build_headers() == {"Authorization": "Bearer k", "Content-Type": "application/json"}

    def test_no_key_sends_no_authorization(self) -> None:
        """A server that needs no key gets none."""
        assert "Authorization" not in LLMClient(api_key=None, model="m").build_headers()

    def test_payload_is_model_and_messages_and_a_temperature_if_set(self) -> None:
        """Nothing is sent that was not asked for."""
        plain = LLMClient(api_key="k", model="m").build_payload([Message("user", "hi")])
        warm = LLMClient(api_key="k", model="m", temperature=0.0).build_payload([])

        assert plain == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        assert warm["temperature"] == 0.0

    def test_attributes_bear_the_names_of_the_arguments(self) -> None:
        """What was given can be read back."""
        client = LLMClient(api_key="k", model="m", temperature=0.5)

        assert (client.api_key, client.model, client.base_url, client.temperature) == (
            "k",
            "m",
            OPENROUTER_BASE_URL,
            0.5,
        )
        assert isinstance(client, ChatModel)

    def test_the_repr_shows_no_key(self) -> None:
        """A client in a log line gives nothing away."""
        assert "sk-1" not in repr(LLMClient(api_key="sk-1", model="m"))

    async def test_a_stream_asks_for_usage_stop_and_length(self, client_of: Make) -> None:
        """Stop strings and the longest answer reach the server, and usage is asked for."""
        async with ModelServer([stream_answer("hi")]) as server:
            await read(client_of(server).start(CompletionRequest(ASKED, stop=("\n",), max_tokens=7)))

            asked = server.requests[0]
            assert asked.path == "/v1/chat/completions"
            assert asked.headers["authorization"] == "Bearer sk-secret-key-123"
            assert asked.payload["stop"] == ["\n"]
            assert asked.payload["max_tokens"] == 7
            assert asked.payload["stream_options"] == {"include_usage": True}

    async def test_half_a_character_does_not_keep_the_rest_from_being_sent(self, client_of: Make) -> None:
        """A lone surrogate becomes a question mark."""
        async with ModelServer([whole_answer("ok")]) as server:
            await client_of(server).chat([Message("user", "broken \udc80 text")])

            assert server.requests[0].payload["messages"][0]["content"] == "broken ? text"


class TestAnswers:
    async def test_chat_returns_the_whole_answer(self, client_of: Make) -> None:
        """The text comes back as the assistant's message."""
        async with ModelServer([whole_answer("Hello, Sam!")]) as server:
            assert await client_of(server).chat(ASKED) == Message("assistant", "Hello, Sam!")

    async def test_null_content_is_an_empty_reply(self, client_of: Make) -> None:
        """Null is nothing said, whole or streamed."""
        async with ModelServer(
            [whole_answer(None), raw_answer(head(), event(None), event(finish="stop"), DONE)]
        ) as server:
            client = client_of(server)

            assert (await client.chat(ASKED)).content == ""
            assert await read(client.start(CompletionRequest(ASKED))) == ""

    @pytest.mark.parametrize("answer", [{}, {"choices": []}, {"choices": None}, {"choices": [None]}])
    async def test_no_choices_is_a_value_error_that_says_so(self, client_of: Make, answer: Any) -> None:
        """An answer without a choice is named as what it is."""
        async with ModelServer([json_answer(answer)]) as server:
            with pytest.raises(ValueError, match="no choices") as caught:
                await client_of(server).chat(ASKED)

        assert isinstance(caught.value, NoChoicesError)

    async def test_a_stream_yields_pieces_and_fills_the_completion(self, client_of: Make) -> None:
        """Text, usage with cached tokens, provider, finish and times are there at the end."""
        usage = {"prompt_tokens": 50, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 40}}
        async with ModelServer([stream_answer("Hel", "lo", usage=usage, provider="Acme")]) as server:
            stream = client_of(server).start(CompletionRequest(ASKED))
            text = [piece async for piece in stream]

        done = stream.completion
        assert text == ["Hel", "lo"]
        assert (done.text, done.finish_reason, done.provider, done.attempts) == ("Hello", "stop", "Acme", 1)
        assert done.usage == Usage(prompt_tokens=50, completion_tokens=2, cached_tokens=40)
        assert done.first_token_s is not None
        assert 0 < done.first_token_s <= done.duration_s

    async def test_stream_is_the_text_alone(self, client_of: Make) -> None:
        """`stream` gives the pieces and nothing else."""
        async with ModelServer([stream_answer("a", "b")]) as server:
            assert [piece async for piece in client_of(server).stream(ASKED)] == ["a", "b"]

    async def test_an_endpoint_that_cannot_stream_answers_whole(self, client_of: Make) -> None:
        """A JSON answer to a streaming call is one piece."""
        async with ModelServer([whole_answer("all at once")]) as server:
            assert await read(client_of(server).start(CompletionRequest(ASKED))) == "all at once"

    async def test_line_ends_comments_and_split_characters_do_not_matter(self, client_of: Make) -> None:
        """CRLF, keep-alive comments and a character cut in the middle read like any other stream."""
        body = b": waiting\r\n\r\n" + event("fl🔥me").replace(b"\n", b"\r\n") + event("é", finish="stop") + DONE
        async with ModelServer([raw_answer(head(), *(body[at : at + 1] for at in range(len(body))))]) as server:
            assert await read(client_of(server).start(CompletionRequest(ASKED))) == "fl🔥meé"

    async def test_a_little_garbage_is_passed_over(self, client_of: Make) -> None:
        """A few lines that make no sense cost nothing."""
        async with ModelServer(
            [raw_answer(head(), b"what?\ndata: {broken\n\n", event("fine", finish="stop"), DONE)]
        ) as server:
            assert await read(client_of(server).start(CompletionRequest(ASKED))) == "fine"

    async def test_nothing_but_garbage_is_an_error(self, client_of: Make) -> None:
        """An address that serves something else is named."""
        async with ModelServer([raw_answer(head(), b"<html>\n" * 100)]) as server:
            with pytest.raises(ModelError, match="not a chat completion"):
                await read(client_of(server).start(CompletionRequest(ASKED)))

    async def test_a_character_split_over_two_events_comes_whole(self, client_of: Make) -> None:
        """Its halves, written as escapes, are joined; one that stays alone is marked."""
        halves = [
            b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % half for half in (b"\\ud83d", b"\\ude00 ok\\ud83d")
        ]
        async with ModelServer([raw_answer(head(), *halves, event(finish="stop"), DONE)]) as server:
            stream = client_of(server).start(CompletionRequest(ASKED))
            text = await read(stream)

        assert (text, stream.completion.text) == ("😀 ok\ufffd",) * 2

    async def test_a_whole_answer_holds_no_half_characters(self, client_of: Make) -> None:
        """It can be stored and shown."""
        async with ModelServer([whole_answer("ok \ud83d")]) as server:
            assert (await client_of(server).chat(ASKED)).content == "ok \ufffd"

    async def test_an_answer_nested_without_end_is_an_error(self, client_of: Make) -> None:
        """One sentence, as for any other page that is no answer."""
        async with ModelServer([raw_answer(head(200, "application/json"), b"[" * 200_000)]) as server:
            with pytest.raises(ModelError, match="not a chat completion"):
                await client_of(server).chat(ASKED)

    async def test_a_page_instead_of_an_answer_is_an_error(self, client_of: Make) -> None:
        """HTML with status 200 is no answer."""
        async with ModelServer([raw_answer(head(kind="text/html") + b"<html></html>")]) as server:
            with pytest.raises(ModelError, match="check `base_url`"):
                await client_of(server).chat(ASKED)

    async def test_a_giant_line_is_refused(self, client_of: Make) -> None:
        """A line has an end, or the call has."""
        async with ModelServer([raw_answer(head(), b"data: ", *([b"x" * 65536] * 17))]) as server:
            with pytest.raises(ModelError, match="1 MiB"):
                await read(client_of(server).start(CompletionRequest(ASKED)))

    async def test_a_reply_without_end_is_cut(self, client_of: Make) -> None:
        """A model that does not stop is stopped."""
        piece = event("x" * 50_000)
        async with ModelServer([raw_answer(head(), *([piece] * 6))]) as server:
            stream = client_of(server).start(CompletionRequest(ASKED))
            with pytest.raises(ModelError, match="did not stop"):
                await read(stream)

        assert len(stream.completion.text) <= MAX_REPLY_CHARS

    async def test_an_error_inside_the_stream_is_raised(self, client_of: Make) -> None:
        """What was said before stays in the completion."""
        error = b'data: {"error": {"message": "overloaded", "code": 400}}\n\n'
        async with ModelServer([raw_answer(head(), event("Well, "), error)]) as server:
            stream = client_of(server).start(CompletionRequest(ASKED))
            with pytest.raises(ModelError, match="overloaded"):
                await read(stream)

        assert stream.completion.text == "Well, "

    async def test_an_observer_hears_of_every_call(self, client_of: Make) -> None:
        """Whole and streamed calls are both told of."""
        heard: list[Completion] = []
        async with ModelServer([whole_answer("one"), stream_answer("two")]) as server:
            client = client_of(server)
            client.on_completion = heard.append
            await client.chat(ASKED)
            await read(client.start(CompletionRequest(ASKED)))

        assert [completion.text for completion in heard] == ["one", "two"]


class TestTroubleOnTheWay:
    async def test_a_stalled_stream_ends_with_a_retryable_error(self, client_of: Make) -> None:
        """Silence after a piece has an end."""
        async with ModelServer([raw_answer(head(), event("Once "), then=stall)]) as server:
            stream = client_of(server, timeout_s=0.1).start(CompletionRequest(ASKED))
            with pytest.raises(ModelError, match="silent") as caught:
                await read(stream)

        assert caught.value.retryable
        assert stream.completion.text == "Once "
        assert len(server.requests) == 1

    async def test_comments_do_not_keep_a_silent_model_alive(self, client_of: Make) -> None:
        """A server that only says it is working is silent too."""

        async def hum(server: ModelServer, writer: asyncio.StreamWriter) -> None:
            while True:
                writer.write(b": working\n\n")
                await writer.drain()
                await asyncio.sleep(0.01)

        async with ModelServer([raw_answer(head(), then=hum)]) as server:
            with pytest.raises(ModelError, match="silent"):
                await read(client_of(server, timeout_s=0.1).start(CompletionRequest(ASKED)))

    async def test_a_cut_stream_is_never_started_over(self, client_of: Make) -> None:
        """After the first piece an error is an error."""
        answers = [
            raw_answer(head(Transfer_Encoding="chunked"), _chunk(event("Once ")), then=reset_connection),
            stream_answer("twice"),
        ]
        async with ModelServer(answers) as server:
            stream = client_of(server).start(CompletionRequest(ASKED))
            with pytest.raises(ModelError) as caught:
                await read(stream)

            assert (stream.completion.text, caught.value.retryable, len(server.requests)) == ("Once ", True, 1)

    async def test_a_stream_that_just_ends_is_not_taken_for_finished(self, client_of: Make) -> None:
        """Without an end mark half a reply does not pass for a whole one."""
        async with ModelServer([raw_answer(head(), event("Once upon"))]) as server:
            with pytest.raises(ModelError, match="before it was finished"):
                await read(client_of(server).start(CompletionRequest(ASKED)))

    async def test_closing_a_stream_hangs_up(self, client_of: Make) -> None:
        """A reply nobody wants any more is not paid for."""
        async with ModelServer([raw_answer(head(), event("Once "), then=stall)]) as server:
            stream = client_of(server).start(CompletionRequest(ASKED))
            async for _ in stream:
                break
            await stream.aclose()

            await asyncio.wait_for(server.left.wait(), 100)

    async def test_cancelling_the_reader_hangs_up(self, client_of: Make) -> None:
        """An interrupted turn frees the server and its place."""
        async with ModelServer([raw_answer(head(), event("Once "), then=stall)]) as server:
            reading = asyncio.create_task(read(client_of(server).start(CompletionRequest(ASKED))))
            await server.arrived.wait()
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading

            await asyncio.wait_for(server.left.wait(), 100)
        assert llm.get_request_semaphore().running == 0

    async def test_nobody_listening_names_the_address_and_the_fix(self, client_of: Make, waits: list[float]) -> None:
        """A dead endpoint is the operator's to mend, at once."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
            with pytest.raises(ModelSetupError, match="is it running") as caught:
                await client_of(url).chat(ASKED)

        assert url in str(caught.value)
        assert waits == []

    async def test_an_address_of_no_kind_is_named(self, client_of: Make) -> None:
        """A base_url that is none is a mistake in the settings."""
        with pytest.raises(ModelSetupError, match="not an http or https address"):
            await client_of("localhost:8080").chat(ASKED)

    async def test_a_proxy_of_no_kind_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What the environment says of proxies may be wrong too."""
        monkeypatch.setenv("HTTPS_PROXY", "gopher://proxy.invalid")
        with pytest.raises(ModelSetupError, match="HTTPS_PROXY"):
            await LLMClient(api_key="k", model="m", base_url="https://model.invalid/v1").chat(ASKED)

    async def test_openrouter_without_a_key_is_not_even_called(self) -> None:
        """The missing variable is named."""
        with pytest.raises(ModelSetupError, match="OPENROUTER_API_KEY"):
            await LLMClient(api_key=None, model="m").chat(ASKED)

    @pytest.mark.parametrize(
        ("status", "words"),
        [
            (401, "the key in MY_KEY"),
            (403, "the key in MY_KEY"),
            (402, "credit"),
            (404, "'test-model' was not found"),
            (307, "redirect"),
        ],
    )
    async def test_a_refusal_says_what_to_mend(self, client_of: Make, status: int, words: str) -> None:
        """Key, model, address: the sentence names the one that is wrong, and never the key."""
        async with ModelServer(
            [error_answer(status, "bad key sk-secret-key-123", Location="http://elsewhere.invalid")]
        ) as server:
            with pytest.raises(ModelSetupError, match=words) as caught:
                await client_of(server, key_name="MY_KEY").chat(ASKED)

            assert caught.value.status == status
            assert "sk-secret" not in str(caught.value)
            assert len(server.requests) == 1

    async def test_a_prompt_too_long_is_said_plainly(self, client_of: Make) -> None:
        """The window is named as the reason."""
        async with ModelServer([error_answer(400, "exceeds the available context size (4096 tokens)")]) as server:
            with pytest.raises(ModelError, match="longer than the window"):
                await client_of(server).chat(ASKED)

    async def test_an_error_that_quotes_the_conversation_is_not_repeated(self, client_of: Make) -> None:
        """What people said stays out of error texts."""
        async with ModelServer([error_answer(422, "bad input: Hello there, little flame! is not valid")]) as server:
            with pytest.raises(ModelError, match="422") as caught:
                await client_of(server).chat(ASKED)

        assert "little flame" not in str(caught.value)

    async def test_a_huge_error_body_is_not_swallowed_whole(self, client_of: Make) -> None:
        """An error is read up to a limit and then left."""
        async with ModelServer([raw_answer(head(400), *([b"x" * 65536] * 64), then=stall)]) as server:
            with pytest.raises(ModelError, match="400"):
                await client_of(server, timeout_s=5.0).chat(ASKED)

    async def test_a_key_with_a_line_end_is_refused_without_showing_it(self, client_of: Make) -> None:
        """A badly pasted key gives a sentence, not a traceback with the key in it."""
        async with ModelServer([whole_answer("hi")]) as server:
            with pytest.raises(ModelSetupError, match="characters no key has") as caught:
                await client_of(server, api_key="sk-line\nend").chat(ASKED)

        assert "sk-line" not in str(caught.value)
        assert server.requests == []


class TestOverriding:
    async def test_a_client_that_overrides_only_chat_streams_its_text_once(self) -> None:
        """Such a client works wherever a stream is wanted."""

        class Parrot(LLMClient):
            async def chat(self, messages: list[Message]) -> Message:
                return Message("assistant", messages[-1].content)

        parrot = Parrot(api_key=None, model="parrot")
        stream = parrot.start(CompletionRequest(ASKED))

        assert [piece async for piece in parrot.stream(ASKED)] == ["Hello there, little flame!"]
        assert await read(stream) == "Hello there, little flame!"
        assert stream.completion.model == "parrot"

    async def test_chat_replaced_on_the_instance_counts_too(self) -> None:
        """Collaborators may be replaced at run time."""

        async def chat(messages: list[Message]) -> Message:
            return Message("assistant", "replaced")

        client = LLMClient(api_key=None, model="m")
        client.chat = chat  # type: ignore[method-assign]

        assert [piece async for piece in client.stream(ASKED)] == ["replaced"]


def test_one_client_serves_loop_after_loop() -> None:
    """Nothing is bound to the loop a client was first used in."""
    client = LLMClient(api_key=None, model="m", base_url="")

    async def once() -> str:
        async with ModelServer([stream_answer("again")]) as server:
            client.base_url = server.base_url
            try:
                return await read(client.start(CompletionRequest(ASKED)))
            finally:
                await client.close()

    assert [asyncio.run(once()), asyncio.run(once())] == ["again", "again"]


def test_the_package_offers_the_promised_names() -> None:
    """They are importable from the package itself."""
    assert llm.LLMClient is LLMClient
    assert llm.Message is Message
    assert llm.OPENROUTER_BASE_URL == "https://openrouter.ai/api/v1"
    assert llm.sanitize_name("Ada Lovelace!") == "Ada_Lovelace"
    assert callable(llm.create_llm_clients)


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
