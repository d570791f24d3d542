"""ScriptedModel says its lines."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import ModelError
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.scripted import ScriptedModel, ScriptExhausted, words_of
from familiar_connect.llm.types import Capabilities, CompletionRequest, Message

ASKED = [Message("user", "hi")]


async def test_answers_come_in_order_and_calls_are_kept() -> None:
    """Strings, functions and errors, one each call."""
    model = ScriptedModel(["one", lambda messages: messages[-1].content.upper(), ModelError("broken")])

    assert (await model.chat(ASKED)).content == "one"
    assert (await model.chat(ASKED)).content == "HI"
    with pytest.raises(ModelError, match="broken"):
        await model.chat(ASKED)
    assert model.calls == [ASKED, ASKED, ASKED]
    assert isinstance(model, ChatModel)


async def test_it_streams_word_by_word() -> None:
    """The pieces join to the answer."""
    stream = ScriptedModel(["the kettle sings"]).start(CompletionRequest(ASKED))

    assert [piece async for piece in stream] == ["the", " kettle", " sings"]
    assert (stream.completion.text, stream.completion.finish_reason) == ("the kettle sings", "stop")


async def test_asked_too_often_it_fails_loudly() -> None:
    """A test that forgot a call learns of it."""
    with pytest.raises(ScriptExhausted, match="once more than it has answers"):
        await ScriptedModel().chat(ASKED)


async def test_it_can_answer_everything_by_one_rule() -> None:
    """A function instead of a list never runs out."""
    model = ScriptedModel(lambda messages: str(len(messages)))

    assert [(await model.chat(ASKED * n)).content for n in (1, 2, 3)] == ["1", "2", "3"]


async def test_it_heeds_stop_strings() -> None:
    """As a real model would, and notes what it was given."""
    model = ScriptedModel(["Hello\nSam: hi"])

    assert [p async for p in model.start(CompletionRequest(ASKED, stop=("\nSam:",), max_tokens=9))] == ["Hello"]
    assert model.limits == [(("\nSam:",), 9)]


async def test_it_can_be_held_between_two_pieces() -> None:
    """An interruption test stops it where it likes."""
    model = ScriptedModel(["one two three"], capabilities=Capabilities(window=100))
    pause = model.pause_after(2)
    heard: list[str] = []

    async def listen() -> None:
        async for piece in model.stream(ASKED):
            heard.append(piece)

    listening = asyncio.create_task(listen())
    await pause.reached.wait()
    assert heard == ["one", " two"]
    pause.resume.set()
    await listening

    assert heard == ["one", " two", " three"]
    assert model.capabilities.window == 100


async def test_a_failing_fallback_chain_works_with_it() -> None:
    """It stands in for the first model and for the next."""
    second = ScriptedModel(["from the second"], model="second")
    first = ScriptedModel([ModelError("down")], fallbacks=(second,))

    assert (await first.chat(ASKED)).content == "from the second"


@given(st.text())
def test_words_join_to_the_text(text: str) -> None:
    """No character is lost or added."""
    assert "".join(words_of(text)) == text
