"""A side slot that is too slow twice in a row is switched off for the rest of the run, and somebody is told once."""

from __future__ import annotations

import asyncio

import pytest

from familiar_connect.errors import ModelError, ModelTimeoutError
from familiar_connect.llm.model_slots import ModelSlots, SlotModel
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.types import Message
from familiar_connect.support.simulated_time import SimulatedLoop, run_simulated

ASKED = [Message("user", "Think.")]


class SlowModel(LLMClient):
    """Answers after so many seconds."""

    def __init__(self, seconds: float, error: Exception | None = None) -> None:
        super().__init__(api_key=None, model="slow", base_url="http://slow.invalid")
        self.seconds = seconds
        self.error = error

    async def chat(self, messages: list[Message]) -> Message:
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        return Message("assistant", "a thought")


class Told(list[str]):
    async def __call__(self, sentence: str) -> None:
        self.append(sentence)


async def ask(model: SlotModel, limit_s: float) -> str:
    """As side tasks do: within a limit of their own."""
    try:
        async with asyncio.timeout(limit_s):
            return (await model.chat(ASKED)).content
    except TimeoutError:
        return "too late"


def test_two_timeouts_in_a_row_switch_a_side_slot_off() -> None:
    """Its capabilities then say so, which every side task asks first; one sentence names slot and setting."""

    async def story(loop: SimulatedLoop) -> None:
        told = Told()
        clients: dict[str, ChatModel] = {"memory_search": SlowModel(60), "history_summary": SlowModel(1)}
        slots = ModelSlots(clients, tell=told)
        search, summary = slots.model("memory_search"), slots.model("history_summary")
        assert [await ask(search, 9) for _ in range(3)] == ["too late"] * 3
        assert await ask(summary, 9) == "a thought"
        await slots.aclose()

        assert (search.capabilities.side_tasks, summary.capabilities.side_tasks) == (False, True)
        assert len(told) == 1
        assert "[llm.memory_search] was too slow 2 times in a row" in told[0]
        clients["memory_search"] = SlowModel(1)
        assert search.capabilities.side_tasks
        assert await ask(search, 9) == "a thought"

    run_simulated(story)


def test_an_answer_in_between_begins_the_count_anew() -> None:
    """So does nothing else; a call that was not wanted any more counts for nothing."""

    async def story(loop: SimulatedLoop) -> None:
        model = SlowModel(60)
        side = ModelSlots({"memory_search": model}).model("memory_search")
        for seconds, limit in ((60, 9), (1, 9), (60, 9), (60, 2), (60, 2)):
            model.seconds = seconds
            await ask(side, limit)
        assert side.capabilities.side_tasks
        await ask(side, 9)
        assert not side.capabilities.side_tasks

    run_simulated(story)


@pytest.mark.parametrize(
    ("error", "stays"), [(ModelTimeoutError("slow"), False), (TimeoutError(), False), (ModelError("no"), True)]
)
def test_only_being_slow_counts(error: Exception, stays: bool) -> None:
    """A refusal says nothing about the time a model takes."""

    async def story(loop: SimulatedLoop) -> None:
        side = ModelSlots({"memory_search": SlowModel(0, error)}).model("memory_search")
        for _ in range(2):
            with pytest.raises(type(error)):
                await side.chat(ASKED)
        assert side.capabilities.side_tasks is stays

    run_simulated(story)


def test_the_reply_is_never_switched_off() -> None:
    """However slow it is."""

    async def story(loop: SimulatedLoop) -> None:
        main = ModelSlots({"main_prose": SlowModel(60)}).model("main_prose")
        for _ in range(3):
            await ask(main, 9)
        assert main.capabilities.side_tasks

    run_simulated(story)
