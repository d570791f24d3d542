"""ToolRounds: one model's reply with tools in between, as one stream of text.

A round ends with what the model wants done; it is done, the results are put behind its turn, and it is asked
again. Rounds and calls are bounded: after the last of them the model is asked once more and may only speak.
What a tool gives back is data in a turn of its own.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Sequence

from familiar_connect.context.protocols import ToolSet
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.streams import open_stream
from familiar_connect.llm.types import Completion, Message, Sampling, ToolCall, Usage

logger = logging.getLogger(__name__)

MAX_ROUNDS = 4
"""Answers of the model that may ask for tools."""
MAX_CALLS = 8
"""Tools used in one reply, over all rounds."""
CALL_LIMIT_S = 10.0
MAX_RESULT_CHARS = 8_000

BETWEEN_ROUNDS = "\n\n"
"""Stands between words said before a tool was used and those after."""


class ToolLoop:
    """Iterate `pieces()` once; afterwards `turns` holds what was put behind the first messages."""

    def __init__(
        self,
        model: ChatModel,
        messages: Sequence[Message],
        tools: ToolSet | None,
        sampling: Sampling | None = None,
    ) -> None:
        self._model = model
        self._first = list(messages)
        self._tools = tools
        self._sampling = sampling
        self._calls_left = MAX_CALLS
        self.turns: list[Message] = []
        """Calls and their results, in order."""
        self.completion: Completion | None = None
        """Of the last round, with the cost of all of them."""

    async def pieces(self) -> AsyncGenerator[str, None]:
        """The words of all rounds as they come."""
        said, cost = False, Usage()
        for number in range(MAX_ROUNDS + 1):
            may_call = self._tools is not None and number < MAX_ROUNDS and self._calls_left > 0
            stream = open_stream(
                self._model,
                with_tool_turns(self._first, self.turns),
                tools=self._tools.specs if self._tools is not None else (),
                may_call=may_call,
                sampling=self._sampling,
            )
            self.completion = stream.completion
            begun = False
            try:
                async for piece in stream:
                    if said and not begun:
                        yield BETWEEN_ROUNDS
                    begun = True
                    yield piece
            finally:
                await stream.aclose()
                self.completion = stream.completion
                cost = stream.completion.usage = _sum(cost, stream.completion.usage)
            said = said or begun
            calls = stream.completion.tool_calls
            if not calls or not may_call or self._tools is None:
                return
            await self._use(self._tools, stream.completion.text, calls)

    async def _use(self, tools: ToolSet, text: str, calls: Sequence[ToolCall]) -> None:
        answers: list[Message] = []
        for call in calls:
            if self._calls_left > 0:
                self._calls_left -= 1
                result = await _result(tools, call)
            else:
                result = status_json("limit", "no more tools can be used in this reply; answer now")
            answers.append(Message(role="tool", content=result[:MAX_RESULT_CHARS], tool_call_id=call.id))
        self.turns += [Message(role="assistant", content=text, tool_calls=tuple(calls)), *answers]


async def _result(tools: ToolSet, call: ToolCall) -> str:
    try:
        async with asyncio.timeout(CALL_LIMIT_S):
            return await tools.call(call)
    except TimeoutError:
        logger.warning("a tool took too long", extra={"tool": call.name})
    except Exception as error:  # isolation: a tool that fails costs its result
        logger.warning("a tool failed", extra={"tool": call.name, "error": type(error).__name__})
    return status_json("internal", "this did not work; go on without it")


def status_json(name: str, told: str) -> str:
    """A result that says how it went."""
    return json.dumps({"status": name, "message": told}, ensure_ascii=False)


def with_tool_turns(first: Sequence[Message], turns: Sequence[Message]) -> list[Message]:
    """*first* with the tool turns behind; a begun assistant's turn at its end becomes part of the first of them."""
    if not turns or not first or first[-1].role != "assistant" or first[-1].tool_calls:
        return [*first, *turns]
    begun, call = first[-1], turns[0]
    content = f"{begun.content} {call.content}".strip() if call.content else begun.content
    return [*first[:-1], Message(role="assistant", content=content, tool_calls=call.tool_calls), *turns[1:]]


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.prompt_tokens + other.prompt_tokens,
        one.completion_tokens + other.completion_tokens,
        one.cached_tokens + other.cached_tokens,
        None if one.cost is None and other.cost is None else (one.cost or 0.0) + (other.cost or 0.0),
    )
