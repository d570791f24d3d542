"""A reply with tools in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from familiar_connect.chat.types import MediaDescriptor
from familiar_connect.context.generate import (
    MAX_CALLS,
    MAX_RESULT_CHARS,
    MAX_ROUNDS,
    Generation,
    ToolLoop,
    with_tool_turns,
)
from familiar_connect.context.media import MediaCache
from familiar_connect.context.pipeline import ContextPipeline, GenerationResources
from familiar_connect.context.processors.output_filter import OutputFilter
from familiar_connect.context.types import ContextItem, Prompt
from familiar_connect.errors import FetchError, ModelError
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.scripted import ScriptedModel, ToolCallReply
from familiar_connect.llm.types import Capabilities, ImagePart, Message, TextPart, ToolCall, ToolSpec
from familiar_connect.support.fetch.client import FetchLimits, FetchResult
from tests.fakes.context import a_request, contents, said
from tests.fakes.file_server import PNG
from tests.fakes.model_server import DONE, ModelServer, event, head, raw_answer, stream_answer

ABLE = Capabilities(tools=True)
LOOK: tuple[str, Mapping[str, Any]] = ("look", {"at": "sky"})
PROMPT = Prompt(items=(ContextItem.of("system", "top"), said("user", "what colour is it?")))


class Box:
    """Tools that do as told, and remember what they were asked."""

    def __init__(self, result: str | Exception = "blue", names: tuple[str, ...] = ("look",)) -> None:
        self.specs = tuple(ToolSpec(name, "Looks.") for name in names)
        self.macros: Mapping[str, str] = {}
        self.calls: list[ToolCall] = []
        self._result = result

    async def call(self, call: ToolCall) -> str:
        self.calls.append(call)
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


async def written(generation: Generation | ToolLoop) -> str:
    return "".join([piece async for piece in generation.pieces()])


async def test_a_tool_is_used_and_the_reply_goes_on() -> None:
    """Call and result stand behind the question, in the order they came; the cost is that of both rounds."""
    model = ScriptedModel([ToolCallReply((LOOK,)), "It is blue."], capabilities=ABLE)
    box = Box()
    generation = Generation(PROMPT, [model], tools=box)

    assert await written(generation) == "It is blue."
    assert [json.loads(call.arguments) for call in box.calls] == [{"at": "sky"}]
    assert [message.role for message in model.calls[1]] == ["system", "user", "assistant", "tool"]
    assert (model.calls[1][2].tool_calls[0].id, model.calls[1][3].content) == (model.calls[1][3].tool_call_id, "blue")
    assert generation.tool_turns == model.calls[1][2:]
    assert generation.tools_used == ["look"]
    assert generation.messages == model.calls[0]
    assert generation.completion is not None
    assert generation.completion.usage.prompt_tokens > 10


async def test_words_before_a_tool_are_kept_and_stand_apart() -> None:
    """And are part of the turn that called it."""
    model = ScriptedModel([ToolCallReply((LOOK,), "Let me see."), "It is blue."], capabilities=ABLE)
    generation = Generation(PROMPT, [model], tools=Box(), tidy=OutputFilter(["Wren"], ["Ada"]))

    assert await written(generation) == "Let me see.\n\nIt is blue."
    assert model.calls[1][2].content == "Let me see."


async def test_rounds_are_bounded() -> None:
    """After four the model may only speak; what it still wants is not done."""
    model = ScriptedModel(lambda _: ToolCallReply((LOOK,), "hm"), capabilities=ABLE)
    box = Box()
    await written(Generation(PROMPT, [model], tools=box))

    assert (len(model.calls), len(box.calls)) == (MAX_ROUNDS + 1, MAX_ROUNDS)
    assert model.offered == [("look",)] * MAX_ROUNDS + [()]


async def test_calls_are_bounded() -> None:
    """Those too many are answered, for a call without an answer is refused, and not done."""
    model = ScriptedModel([ToolCallReply((LOOK,) * 6), ToolCallReply((LOOK,) * 6), "done"], capabilities=ABLE)
    box = Box()
    await written(Generation(PROMPT, [model], tools=box))
    answers = [message.content for message in model.calls[-1] if message.role == "tool"]

    assert (len(box.calls), len(answers)) == (MAX_CALLS, 12)
    assert [json.loads(answer)["status"] for answer in answers[-4:]] == ["limit"] * 4
    assert model.offered[-1] == ()


async def test_a_tool_that_fails_costs_its_result_only(caplog: pytest.LogCaptureFixture) -> None:
    """The model is told, and the log says nothing of what was said."""
    model = ScriptedModel([ToolCallReply((LOOK,)), "Never mind."], capabilities=ABLE)

    assert await written(Generation(PROMPT, [model], tools=Box(RuntimeError("secret words")))) == "Never mind."
    assert json.loads(model.calls[1][-1].content)["status"] == "internal"
    assert "secret words" not in caplog.text


async def test_a_long_result_is_cut() -> None:
    """It is data in the prompt like any other."""
    model = ScriptedModel([ToolCallReply((LOOK,)), "ok"], capabilities=ABLE)
    await written(Generation(PROMPT, [model], tools=Box("x" * 100_000)))

    assert len(model.calls[1][-1].content) == MAX_RESULT_CHARS


async def test_a_model_that_cannot_use_tools_is_offered_none() -> None:
    """Each attempt by itself: the next may."""

    class Failing(ScriptedModel):
        def _next(self, messages: Any) -> str:
            self.calls.append(list(messages))
            raise ModelError("down")

    first, second = Failing(model="first"), ScriptedModel([ToolCallReply((LOOK,)), "blue"], capabilities=ABLE)
    box = Box()

    assert await written(Generation(PROMPT, [first, second], tools=box)) == "blue"
    assert (first.offered, second.offered) == ([()], [("look",), ("look",)])


async def test_a_fallback_starts_without_the_tool_turns_of_the_one_that_failed() -> None:
    """F2: from the same base, though what was done stays done."""
    first = ScriptedModel([ToolCallReply((LOOK,)), ModelError("down")], capabilities=ABLE, model="first")
    second = ScriptedModel(["fine"], capabilities=ABLE)

    assert await written(Generation(PROMPT, [first, second], tools=Box())) == "fine"
    assert contents(second.calls[0]) == ["top", "what colour is it?"]


def test_first_words_become_part_of_the_turn_that_calls() -> None:
    """E64: no two assistant's turns follow each other."""
    call = Message("assistant", "hm", tool_calls=(ToolCall("a", "look"),))
    result = Message("tool", "blue", tool_call_id="a")
    sent = with_tool_turns([Message("user", "q"), Message("assistant", "Well,")], [call, result])

    assert [(message.role, message.content) for message in sent] == [
        ("user", "q"),
        ("assistant", "Well, hm"),
        ("tool", "blue"),
    ]
    assert sent[1].tool_calls == call.tool_calls


async def test_a_reply_given_up_ends_at_once() -> None:
    """While a tool works."""

    class Hanging(Box):
        begun = asyncio.Event()

        async def call(self, call: ToolCall) -> str:
            self.begun.set()
            await asyncio.Event().wait()
            raise AssertionError

    box = Hanging()
    model = ScriptedModel([ToolCallReply((LOOK,))], capabilities=ABLE)
    task = asyncio.create_task(written(Generation(PROMPT, [model], tools=box)))
    await box.begun.wait()
    task.cancel()
    await asyncio.wait({task})

    assert task.cancelled()


async def test_tools_work_over_the_wire() -> None:
    """With a real client and a server that streams its calls in pieces."""
    pieces = [
        {"index": 0, "id": "a", "function": {"name": "look", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"at": '}},
        {"index": 0, "function": {"arguments": '"sky"}'}},
    ]
    deltas = [
        b"data: " + json.dumps({"choices": [{"delta": {"tool_calls": [each]}}]}).encode() + b"\n\n" for each in pieces
    ]
    async with ModelServer(
        [raw_answer(head(), *deltas, event(finish="tool_calls"), DONE), stream_answer("Blue.")]
    ) as server:
        client = LLMClient(api_key=None, model="m", base_url=server.base_url, capabilities=ABLE)
        box = Box()
        text = await written(Generation(PROMPT, [client], tools=box))
        await client.close()

        assert (text, [call.arguments for call in box.calls]) == ("Blue.", ['{"at": "sky"}'])
        second = server.requests[1].payload["messages"]
        assert [message["role"] for message in second] == ["system", "user", "assistant", "tool"]
        assert second[3] == {"role": "tool", "content": "blue", "tool_call_id": "a"}


class Pictures:
    """Gives a picture for every address but those that are gone."""

    async def get(self, url: str, limits: FetchLimits | None = None) -> FetchResult:
        if "gone" in url:
            raise FetchError("it is gone")
        return FetchResult(PNG, "image/png")


async def test_a_seeing_and_a_blind_attempt_differ_in_media_and_notices_only() -> None:
    """F2, F12: one base; the pictures themselves are sent, and what is kept for observers is their address."""
    media = tuple(
        MediaDescriptor(kind="image", uri=f"http://x/{name}", mime="image/png", media_id=f"media_{at}")
        for at, name in enumerate(("a.png", "gone.png"), start=1)
    )
    item = ContextItem(role="user", parts=(TextPart("Ada: look"),), tag=said("user", "").tag, media=media)
    base = Prompt(items=(ContextItem.of("system", "top"), item))
    blind = ScriptedModel([ModelError("down")], model="blind")
    seeing = ScriptedModel(["nice"], capabilities=Capabilities(vision=True))
    generation = Generation(base, [blind, seeing], media=MediaCache(Pictures()))

    assert await written(generation) == "nice"
    assert contents(blind.calls[0])[1] == "[System: 2 images (media_1, media_2): you cannot see them]\nAda: look"
    assert contents(seeing.calls[0])[1] == "[System: 1 image (media_2) cannot be shown: it is gone]\nAda: look"
    assert [part.data is not None for part in seeing.calls[0][1].media] == [True]
    assert generation.messages[1].media == (ImagePart("http://x/a.png", "image/png"),)
    assert generation.base is base
    assert base.items[1].media == media


async def test_what_a_model_can_do_is_asked_for_each_attempt() -> None:
    """F16: live facts go over what was known before."""

    class Learning(ScriptedModel):
        sees = False

        @property
        def capabilities(self) -> Capabilities:
            return Capabilities(vision=self.sees)

    item = ContextItem(
        role="user",
        parts=(TextPart("look"),),
        media=(MediaDescriptor(kind="image", uri="http://x/a", mime="image/png"),),
    )
    model = Learning(["one", "two"])
    await written(Generation(Prompt(items=(item,)), [model]))
    model.sees = True
    await written(Generation(Prompt(items=(item,)), [model]))

    assert [bool(call[0].media) for call in model.calls] == [False, True]


async def test_the_pipeline_hands_out_tools_for_each_request() -> None:
    """Whoever decides sees the request."""
    box = Box()
    asked = []

    def tools_for(request: Any) -> Box:
        asked.append(request.channel_id)
        return box

    model = ScriptedModel([ToolCallReply((LOOK,)), "blue"], capabilities=ABLE)
    reply = await ContextPipeline([], model=model, resources=GenerationResources(tools=tools_for)).run(a_request())

    assert (reply.text, set(asked), len(box.calls)) == ("blue", {7}, 1)
