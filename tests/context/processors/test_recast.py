"""A side model cleans up the reply."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from familiar_connect.context.processors.recast import DEFAULT_PROCESSOR_TIMEOUT_S, RecastPostProcessor
from familiar_connect.context.types import Modality
from familiar_connect.errors import ModelError
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities, Message
from tests.fakes.context import a_request

REPLY = "Well  **hello**\n\n- there"


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


def test_names_and_defaults_are_as_promised() -> None:
    """Nine seconds."""
    parameters = inspect.signature(RecastPostProcessor).parameters

    assert (DEFAULT_PROCESSOR_TIMEOUT_S, parameters["processor_timeout_s"].default) == (9.0, 9.0)
    assert RecastPostProcessor(llm_client=ScriptedModel()).id == "recast"


async def test_the_models_text_goes_out_stripped() -> None:
    """Asked once, in one message of the user's."""
    model = ScriptedModel(["  Hello there.\n"])

    assert await RecastPostProcessor(llm_client=model).process(REPLY, a_request()) == "Hello there."
    assert [m.role for m in model.calls[0]] == ["user"]


@pytest.mark.parametrize(
    "model",
    [
        ScriptedModel([ModelError("down")]),
        ScriptedModel(["  "]),
        Null(),
        Nothing(),
        Mute(),
        ScriptedModel(capabilities=Capabilities(side_tasks=False)),
    ],
    ids=["error", "blank", "null", "nothing", "silent", "too small"],
)
async def test_its_failure_costs_nothing(model: ScriptedModel) -> None:
    """The original goes out."""
    processor = RecastPostProcessor(llm_client=model, processor_timeout_s=0.02)

    assert await processor.process(REPLY, a_request()) == REPLY


@pytest.mark.parametrize(("modality", "spoken"), [(Modality.voice, True), (Modality.text, False)])
async def test_it_is_shown_the_reply_word_for_word(modality: Modality, spoken: bool) -> None:
    """And for a voice it is asked for spoken text without markup."""
    model = ScriptedModel(["ok"])
    await RecastPostProcessor(llm_client=model).process(REPLY, a_request(modality=modality))
    prompt = model.calls[0][0].content

    assert (REPLY in prompt, "spoken" in prompt, "no markup" in prompt, "only" in prompt) == (
        True,
        spoken,
        spoken,
        True,
    )
