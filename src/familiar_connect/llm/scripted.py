"""ScriptedModel: a model that says what a test wrote for it, and remembers what it was asked.

It talks to nobody. Answers come in order, word by word; one may be an error to raise, a function of
the messages, or a `Wants` that calls tools. Asked more often than the script foresees, it fails loudly.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.protocols import CompletionStream
from familiar_connect.llm.streams import PieceStream
from familiar_connect.llm.types import Capabilities, Completion, CompletionRequest, Message, ToolCall, Usage
from familiar_connect.support.tokens import estimate_tokens


@dataclass(frozen=True)
class ToolCallReply:
    """An answer that asks for tools: each a name and its arguments, after some words or none."""

    calls: tuple[tuple[str, Mapping[str, object] | str], ...]
    text: str = ""


ScriptedReply = str | ToolCallReply
Answer = ScriptedReply | BaseException | Callable[[list[Message]], ScriptedReply]


class ScriptExhausted(AssertionError):
    """The model was asked more often than its script foresees."""


class Pause:
    """A stop between two pieces: `reached` is set when the model stands there, `resume` lets it go on."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.resume = asyncio.Event()


class ScriptedModel(LLMClient):
    """A stand-in for any model."""

    def __init__(
        self,
        replies: Iterable[Answer] | Callable[[list[Message]], ScriptedReply] = (),
        *,
        capabilities: Capabilities | None = None,
        pieces: Callable[[str], Iterable[str]] | None = None,
        model: str = "scripted",
        fallbacks: tuple[LLMClient, ...] = (),
    ) -> None:
        super().__init__(
            api_key=None,
            model=model,
            base_url="http://scripted.invalid",
            capabilities=capabilities,
            fallbacks=fallbacks,
        )
        self.calls: list[list[Message]] = []
        """What each call was asked, oldest first."""
        self.limits: list[tuple[tuple[str, ...], int | None]] = []
        """Stop strings and longest answer each call was given."""
        self.offered: list[tuple[str, ...]] = []
        """Names of the tools each streamed call might use."""
        self.replies: deque[Answer] = deque() if callable(replies) else deque(replies)
        self._always = replies if callable(replies) else None
        self._pieces = pieces or words_of
        self._pauses: dict[int, Pause] = {}

    def pause_after(self, pieces: int) -> Pause:
        """Make the next streamed answer wait after so many pieces (0: before the first)."""
        return self._pauses.setdefault(pieces, Pause())

    async def complete(self, request: CompletionRequest) -> Completion:
        completion = self._new_completion()
        began = time.monotonic()
        try:
            self.limits.append((tuple(request.stop), request.max_tokens))
            self._note(completion, request, self._next(request.messages))
        finally:
            self._end(completion, began)
        return completion

    def start(self, request: CompletionRequest) -> CompletionStream:
        completion = self._new_completion()
        self.offered.append(tuple(tool.name for tool in request.tools) if request.may_call else ())
        return PieceStream(completion, self._say(completion, replace(request, messages=list(request.messages))))

    async def _say(self, completion: Completion, request: CompletionRequest) -> AsyncGenerator[str, None]:
        began = time.monotonic()
        try:
            self.limits.append((tuple(request.stop), request.max_tokens))
            said = self._next(request.messages)
            text = _up_to(_text_of(said), request.stop)
            pauses, self._pauses = self._pauses, {}
            await self._stand(pauses.get(0))
            for count, piece in enumerate(self._pieces(text), start=1):
                if completion.first_token_s is None:
                    completion.first_token_s = time.monotonic() - began
                completion.text += piece
                yield piece
                await self._stand(pauses.get(count))
            self._note(completion, request, said)
        finally:
            self._end(completion, began)

    async def _stand(self, pause: Pause | None) -> None:
        await asyncio.sleep(0)
        if pause is not None:
            pause.reached.set()
            await pause.resume.wait()

    def _next(self, messages: Sequence[Message]) -> ScriptedReply:
        self.calls.append(list(messages))
        if self._always is not None:
            return self._always(list(messages))
        if not self.replies:
            raise ScriptExhausted(f"{self.model!r} was asked {len(self.calls)} times, once more than it has answers")
        answer = self.replies.popleft()
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, str | ToolCallReply) else answer(list(messages))

    def _note(self, completion: Completion, request: CompletionRequest, said: ScriptedReply) -> None:
        completion.text = _up_to(_text_of(said), request.stop)
        completion.tool_calls = _calls_of(said, len(self.calls))
        completion.finish_reason = "tool_calls" if completion.tool_calls else "stop"
        completion.usage = Usage(
            prompt_tokens=sum(estimate_tokens(message.content) for message in request.messages),
            completion_tokens=estimate_tokens(completion.text),
        )


def _text_of(said: ScriptedReply) -> str:
    return said if isinstance(said, str) else said.text


def _calls_of(said: ScriptedReply, asked: int) -> tuple[ToolCall, ...]:
    if isinstance(said, str):
        return ()
    return tuple(
        ToolCall(f"call_{asked}_{place}", name, given if isinstance(given, str) else json.dumps(given))
        for place, (name, given) in enumerate(said.calls)
    )


def words_of(text: str) -> list[str]:
    """*text* cut before each word, so that the pieces join to it again."""
    pieces: list[str] = []
    for character in text:
        if not pieces or (character.isspace() and not pieces[-1].isspace()):
            pieces.append("")
        pieces[-1] += character
    return pieces


def _up_to(text: str, stop: Sequence[str]) -> str:
    """*text* as a model that heeds stop strings would have said it."""
    ends = [at for at in (text.find(mark) for mark in stop if mark) if at >= 0]
    return text[: min(ends)] if ends else text
