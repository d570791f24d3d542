"""What a model wants done, put together from pieces, and how it goes over the wire."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.scripted import ScriptedModel, ToolCallReply
from familiar_connect.llm.sse import MAX_ARGUMENT_CHARS, MAX_TOOL_CALLS, ToolCallReader
from familiar_connect.llm.streams import open_stream
from familiar_connect.llm.types import CompletionRequest, ImagePart, Message, ToolCall, ToolSpec, VideoPart
from tests.fakes.model_server import DONE, ModelServer, event, head, json_answer, raw_answer, stream_answer

LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})


def read(*parts: Any) -> list[tuple[str, str, str]]:
    reader = ToolCallReader()
    for part in parts:
        reader.feed({"tool_calls": part})
    return [(call.id, call.name, call.arguments) for call in reader.calls]


def piece(index: int | None = None, id_: str | None = None, name: str | None = None, arguments: str = "") -> Any:
    found: dict[str, Any] = {"function": {"arguments": arguments} | ({"name": name} if name else {})}
    found |= {"index": index} if index is not None else {}
    return [found | ({"id": id_} if id_ else {})]


def test_arguments_come_letter_by_letter() -> None:
    """The pieces of one index are one call."""
    pieces = [piece(0, "a", "look"), *(piece(0, arguments=letter) for letter in '{"at": 1}')]

    assert read(*pieces) == [("a", "look", '{"at": 1}')]


def test_several_calls_are_kept_apart_by_index() -> None:
    """Also when their pieces come mixed."""
    pieces = [piece(0, "a", "look"), piece(1, "b", "find"), piece(0, arguments="{}"), piece(1, arguments="[]")]

    assert read(*pieces) == [("a", "look", "{}"), ("b", "find", "[]")]


def test_a_server_without_indexes_begins_a_call_with_its_name() -> None:
    """And an id is made where there is none."""
    assert read(piece(None, None, "look", "{}"), piece(None, None, "find", '{"a"'), piece(arguments=": 1}")) == [
        ("call_0", "look", "{}"),
        ("call_1", "find", '{"a": 1}'),
    ]


def test_calls_and_arguments_are_bounded() -> None:
    """However much a server sends."""
    many = read(*(piece(at, f"id{at}", "look", "x" * (MAX_ARGUMENT_CHARS + 9)) for at in range(MAX_TOOL_CALLS + 9)))

    assert (len(many), max(len(arguments) for _, _, arguments in many)) == (MAX_TOOL_CALLS, MAX_ARGUMENT_CHARS)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["index", "id", "function", "name", "arguments", "tool_calls"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=6))
def test_no_shape_breaks_the_reader(parts: list[Any]) -> None:
    """What does not fit is nothing."""
    reader = ToolCallReader()
    for part in parts:
        reader.feed(part)

    assert all(call.name and call.id for call in reader.calls)


def test_messages_carry_calls_results_and_media() -> None:
    """In the form that model endpoints share."""
    call = Message("assistant", "", tool_calls=(ToolCall("a", "look", "{}"),))
    result = Message("tool", "seen", tool_call_id="a")
    media = (ImagePart("http://x/a.png", "image/png", data="data:image/png;base64,AA"), VideoPart("http://x/v", "v"))

    assert call.to_dict() == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    }
    assert result.to_dict() == {"role": "tool", "content": "seen", "tool_call_id": "a"}
    assert Message("user", "see", media=media).to_dict()["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
        {"type": "video_url", "video_url": {"url": "http://x/v"}},
        {"type": "text", "text": "see"},
    ]
    assert Message("user", "hi").to_dict() == {"role": "user", "content": "hi"}


def delta(**more: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": more}]}).encode() + b"\n\n"


async def test_a_stream_tells_what_the_model_wants_done(client_of: Callable[..., LLMClient]) -> None:
    """The words come as pieces, the calls when it has ended; the tools went with the question."""
    answer = raw_answer(
        head(),
        event("Let me see."),
        delta(tool_calls=piece(0, "a", "look")),
        delta(tool_calls=piece(0, arguments='{"at":')),
        delta(tool_calls=piece(0, arguments='"sky"}')),
        event(finish="tool_calls"),
        DONE,
    )
    async with ModelServer([answer]) as server:
        stream = open_stream(client_of(server), CompletionRequest([Message("user", "hi")], tools=[LOOK]))
        pieces = [text async for text in stream]

        assert pieces == ["Let me see."]
        assert stream.completion.tool_calls == (ToolCall("a", "look", '{"at":"sky"}'),)
        assert stream.completion.finish_reason == "tool_calls"
        assert server.requests[0].payload["tools"] == [LOOK.to_dict()]
        assert server.requests[0].payload["tool_choice"] == "auto"


async def test_an_endpoint_that_answers_whole_tells_it_too(client_of: Callable[..., LLMClient]) -> None:
    """Null content beside the calls is no trouble."""
    calls = [{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    async with ModelServer([json_answer({"choices": [{"message": message, "finish_reason": "tool_calls"}]})]) as server:
        stream = open_stream(
            client_of(server), CompletionRequest([Message("user", "hi")], tools=[LOOK], may_call=False)
        )

        assert [text async for text in stream] == []
        assert stream.completion.tool_calls == (ToolCall("a", "look"),)
        assert server.requests[0].payload["tool_choice"] == "none"


async def test_without_tools_nothing_is_said_of_them(client_of: Callable[..., LLMClient]) -> None:
    """Endpoints that know none stay content."""
    async with ModelServer([stream_answer("hi")]) as server:
        stream = open_stream(client_of(server), CompletionRequest([Message("user", "hi")]))

        assert [text async for text in stream] == ["hi"]
        assert not {"tools", "tool_choice"} & server.requests[0].payload.keys()


@pytest.mark.parametrize("arguments", [{"at": "sky"}, '{"at": "sky"}'])
async def test_a_script_may_call_tools(arguments: Any) -> None:
    """After words or none."""
    model = ScriptedModel([ToolCallReply((("look", arguments),), "Hm.")])
    stream = model.start(CompletionRequest([Message("user", "hi")], tools=[LOOK]))

    assert [text async for text in stream] == ["Hm."]
    assert [(call.name, json.loads(call.arguments)) for call in stream.completion.tool_calls] == [
        ("look", {"at": "sky"})
    ]
    assert model.offered == [("look",)]
