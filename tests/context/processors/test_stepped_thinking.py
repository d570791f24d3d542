"""A side model thinks first."""

from __future__ import annotations

import asyncio
import inspect
import logging
from datetime import UTC, datetime

import pytest

from familiar_connect.context.processors.stepped_thinking import (
    DEFAULT_HISTORY_WINDOW,
    DEFAULT_PROCESSOR_TIMEOUT_S,
    STEPPED_THINKING_PRIORITY,
    SteppedThinkingPreProcessor,
)
from familiar_connect.context.types import Layer, PendingTurn
from familiar_connect.errors import ModelError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import EVERYTHING_ALLOWED, FixedPrivacy, PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities, Message
from familiar_connect.support.clock import ManualClock
from tests.fakes.context import ADA, BO, a_piece, a_request


class Null(ScriptedModel):
    """A model that answers nothing at all."""

    async def chat(self, messages: list[Message]) -> Message:
        return Message("assistant", None)  # type: ignore[arg-type]


class Nothing(ScriptedModel):
    """A model that does not even answer with a message."""

    async def chat(self, messages: list[Message]) -> Message:
        return None  # type: ignore[return-value]


class Mute(ScriptedModel):
    """A model that never answers."""

    async def chat(self, messages: list[Message]) -> Message:
        await asyncio.Event().wait()
        raise AssertionError("never")


def asked(model: ScriptedModel) -> str:
    (call,) = model.calls
    (message,) = call
    assert message.role == "user"
    return message.content


def test_names_and_defaults_are_as_promised() -> None:
    """Seventy-five, nine seconds, twenty turns."""
    assert (STEPPED_THINKING_PRIORITY, DEFAULT_PROCESSOR_TIMEOUT_S, DEFAULT_HISTORY_WINDOW) == (75, 9.0, 20)
    assert [(name, p.default) for name, p in inspect.signature(SteppedThinkingPreProcessor).parameters.items()][1:] == [
        ("history_store", None),
        ("history_window", 20),
        ("processor_timeout_s", 9.0),
        ("privacy", EVERYTHING_ALLOWED),
    ]
    assert SteppedThinkingPreProcessor(llm_client=ScriptedModel()).id == "stepped_thinking"


async def test_the_thought_goes_in_as_a_hidden_note_after_what_is_there() -> None:
    """On the depth-inject layer, stripped; earlier entries keep their place."""
    before = a_request(preprocessor_contributions=(a_piece("earlier", Layer.depth_inject),))
    after = await SteppedThinkingPreProcessor(llm_client=ScriptedModel(["  She is sad. \n"])).process(before)
    note = after.preprocessor_contributions[-1]

    assert [c.text for c in after.preprocessor_contributions][:1] == ["earlier"]
    assert (note.layer, note.priority, note.source) == (Layer.depth_inject, 75, "stepped_thinking")
    assert "She is sad." in note.text
    assert "hidden" in note.text.lower()
    assert len(before.preprocessor_contributions) == 1


@pytest.mark.parametrize(
    "model",
    [
        ScriptedModel([ModelError("down")]),
        ScriptedModel([RuntimeError("odd")]),
        ScriptedModel([" \n"]),
        Null(),
        Nothing(),
        Mute(),
        ScriptedModel(capabilities=Capabilities(side_tasks=False)),
    ],
    ids=["error", "bug", "blank", "null", "nothing", "silent", "too small"],
)
async def test_without_a_thought_the_request_goes_on_as_it_was(model: ScriptedModel) -> None:
    """It never raises for that; a model too small for it is not asked."""
    request = a_request()
    processor = SteppedThinkingPreProcessor(llm_client=model, processor_timeout_s=0.02)

    assert await processor.process(request) == request


async def test_a_failure_is_logged_without_what_was_said(caplog: pytest.LogCaptureFixture) -> None:
    """One warning."""
    with caplog.at_level(logging.WARNING):
        await SteppedThinkingPreProcessor(llm_client=ScriptedModel([ModelError("x")])).process(a_request())

    assert [r.levelno for r in caplog.records] == [logging.WARNING]
    assert "hello" not in str(caplog.records[0].__dict__)


async def test_it_is_told_what_was_said_before_and_what_is_new() -> None:
    """The familiar's own words too; each new message once, with its speaker."""
    store = HistoryStore(":memory:", clock=ManualClock(datetime(2026, 3, 1, tzinfo=UTC)))
    store.append_turn(familiar_id="wren", channel_id=7, role="user", content="old question", author=ADA)
    store.append_turn(familiar_id="wren", channel_id=7, role="assistant", content="my own words")
    store.append_turn(familiar_id="wren", channel_id=9, role="user", content="other room", author=ADA)
    first = store.append_turn(familiar_id="wren", channel_id=7, role="user", content="new one", author=BO)
    second = store.append_turn(familiar_id="wren", channel_id=7, role="user", content="new two", author=ADA)
    pending = (PendingTurn(BO, "new one", first.id), PendingTurn(ADA, "new two", second.id))
    for before_id in (first.id, None):
        model = ScriptedModel(["thought"])
        processor = SteppedThinkingPreProcessor(llm_client=model, history_store=store)
        await processor.process(a_request(pending_turns=pending, utterance="new two", before_id=before_id))
        prompt = asked(model)
        counts = [prompt.count(text) for text in ("old question", "my own words", "Bo: new one", "Ada: new two")]
        assert (counts, prompt.count("new"), "other room" in prompt) == ([1, 1, 1, 1], 2, False)
        assert prompt.index("my own words") < prompt.index("Bo: new one")
        assert "256 tokens" in prompt
    store.close()


async def test_it_is_not_told_what_private_people_said() -> None:
    """The familiar's own words stay."""
    store = HistoryStore(":memory:")
    store.append_turn(familiar_id="wren", channel_id=7, role="user", content="my secret", author=ADA)
    store.append_turn(familiar_id="wren", channel_id=7, role="assistant", content="my own words")
    store.append_turn(familiar_id="wren", channel_id=7, role="user", content="a question", author=BO)
    model = ScriptedModel(["thought"])
    processor = SteppedThinkingPreProcessor(
        llm_client=model, history_store=store, privacy=FixedPrivacy({ADA.canonical_key: PrivacyLevel.FULL})
    )
    await processor.process(a_request(author=BO, utterance="new"))
    store.close()

    assert [words in asked(model) for words in ("my secret", "my own words", "a question")] == [False, True, True]


async def test_the_window_bounds_what_it_is_told() -> None:
    """Only the last turns."""
    store = HistoryStore(":memory:")
    for number in range(5):
        store.append_turn(familiar_id="wren", channel_id=7, role="user", content=f"turn{number}", author=ADA)
    model = ScriptedModel(["thought"])
    await SteppedThinkingPreProcessor(llm_client=model, history_store=store, history_window=2).process(a_request())

    assert [f"turn{number}" in asked(model) for number in range(5)] == [False, False, False, True, True]
    store.close()


async def test_a_speaker_nobody_knows_is_called_so() -> None:
    """There is always somebody to answer."""
    model = ScriptedModel(["thought"])
    await SteppedThinkingPreProcessor(llm_client=model).process(a_request(author=None, utterance="psst"))

    assert "unknown" in asked(model)
    assert "psst" in asked(model)


PROMPT = [Message("system", "You are Wren."), Message("user", "Ada: where is it?", name="Ada")]


async def thought_on(answer: str, messages: list[Message] | None = None) -> tuple[str | None, ScriptedModel]:
    model = ScriptedModel([answer])
    note = await SteppedThinkingPreProcessor(llm_client=model).think(
        messages or PROMPT, a_request(), own_name="Wren", speakers={"Ada", "Bo"}
    )
    return note.text if note is not None else None, model


async def test_the_finished_prompt_is_thought_over_with_one_last_line() -> None:
    """The same messages as for the reply, so that a server reads them once; a hundred and twenty tokens at most."""
    told, model = await thought_on("Ada looks for the book; the shelf was named above.")
    (call,) = model.calls

    assert told is not None
    assert "Ada looks for the book" in told
    assert (call[0], call[1].name) == (PROMPT[0], "Ada")
    assert call[1].content.startswith("Ada: where is it?\n\n[Before you reply")
    assert model.limits == [((), 120)]


async def test_the_reply_s_given_beginning_is_not_thought_on() -> None:
    """A prefill is the reply's own."""
    _, model = await thought_on("Fine.", [*PROMPT, Message("assistant", "Well,")])

    assert [message.role for message in model.calls[0]] == ["system", "user"]


async def test_after_a_last_word_of_the_system_the_line_is_a_message_of_its_own() -> None:
    """Nothing of the prompt changes."""
    messages = [*PROMPT, Message("system", "Stay short.")]
    _, model = await thought_on("Fine.", messages)

    assert model.calls[0][:-1] == messages


@pytest.mark.parametrize(
    "thought",
    [
        "Wren: It is on the shelf.",
        "I think so.\nAda: and then?",
        "**Bo:** hello",
        '"It is on the shelf," she says.',
        "“On the shelf.”",
        "*smiles* On the shelf!",
        "[Wren]: on the shelf",
    ],
)
async def test_a_thought_that_speaks_for_somebody_or_is_the_reply_is_dropped(thought: str) -> None:
    """It would be said twice, or by the wrong one."""
    assert (await thought_on(thought))[0] is None


async def test_a_thought_that_mentions_somebody_is_one() -> None:
    """A name is no line of theirs."""
    assert (await thought_on("Ada wants the book: tell her where."))[0] is not None
