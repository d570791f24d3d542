"""The models of a rehearsal: scripted ones, those that must not be asked, and real ones on time of their own.

Every call is noted, whoever answers it. What is scripted lives outside of the familiar and so survives its restarts.

What the most careless of models would answer: everything it was given, wherever it can put it.

Whatever such a model can leak, a better one can; a rehearsal with it shows what the program itself keeps apart.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from familiar_connect.errors import ModelError
from familiar_connect.llm.call_clock import CallClock, CallLimits
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.protocols import CompletionStream
from familiar_connect.llm.retry import Endpoint, RetryPolicy, error_of_status, error_of_transport
from familiar_connect.llm.scripted import words_of
from familiar_connect.llm.streams import PieceStream
from familiar_connect.llm.types import (
    Capabilities,
    Completion,
    CompletionRequest,
    Message,
    ToolCall,
    Usage,
)
from familiar_connect.rehearsal.types import ModelScript, ScriptedAnswer
from familiar_connect.support.simulated_time import SimulatedLoop
from familiar_connect.support.tokens import estimate_tokens

ALWAYS_YES = "There is always something to say.\nYES"
_PERSON = re.compile(r"^- (?P<label>.*) \(canonical slug: (?P<slug>[^;]+); known names: .*\)$", re.MULTILINE)
_FILE = re.compile(
    r'<file category="(?P<folder>[^"]*)" name="(?P<name>[^"]*)"(?P<notes>[^>]*)>\n(?P<text>.*?)\n</file>', re.S
)
_TRANSCRIPT = re.compile(r"<transcript>\n(?P<text>.*)\n</transcript>", re.S)
_NUMBER = re.compile(r"^\[\d+\] (?:\d{4}-\d\d-\d\d \d\d:\d\d )?", re.MULTILINE)
"""Before each turn of the transcript, with the time it was said."""
_CONTEXT = re.compile(r"\A## Context\n(?:- .*\n)*\n")


def echo_answer(slot: str, messages: Sequence[Message]) -> str:
    """The echo of *slot* to *messages*."""
    if slot == "interjection_decision":
        return ALWAYS_YES
    if slot == "memory_writer":
        return echo_memory("\n\n".join(message.content for message in messages if message.role == "user"))
    return "\n\n".join(message.content for message in messages)


@dataclass
class _Pages:
    """The text of each file as it is to be."""

    session: list[str] = field(default_factory=list)
    people: dict[str, list[str]] = field(default_factory=dict)
    """Slug → lines."""


def echo_memory(prompt: str) -> str:
    """A well-formed answer to the memory writer's *prompt*: every line in its speaker's file, and in the session."""
    labels = {found["slug"]: found["label"] for found in _PERSON.finditer(prompt)}
    pages = _Pages()
    for folder, name, text in _files_shown(prompt):
        if folder == "sessions":
            pages.session.append(text)
        elif folder == "people":
            pages.people[name.removesuffix(".md")] = [text, ""]
    found = _TRANSCRIPT.search(prompt)
    said = _CONTEXT.sub("", found["text"]) if found is not None else ""
    for line in _NUMBER.sub("", said.replace("\n  ", " ")).split("\n"):
        speaker = _speaker(line, labels)
        words = line.partition("): ")[2] if speaker is not None else line
        pages.session.append(f"- {line}")
        if speaker is not None:
            pages.people.setdefault(speaker, [f"# {labels[speaker]}", ""]).append(f"- {words}")
    return _form(pages)


def _files_shown(prompt: str) -> list[tuple[str, str, str]]:
    """Folder, name and text of the files that may be written anew: one that was cut is only added to."""
    shown = (found for found in _FILE.finditer(prompt) if 'cut="' not in found["notes"])
    return [(found["folder"], found["name"], found["text"]) for found in shown]


def _speaker(line: str, labels: dict[str, str]) -> str | None:
    """The slug of whoever said *line*; None for the familiar itself."""
    for slug, label in labels.items():
        if line.startswith((f"user ({label}): ", f"user ({label}, {slug}): ")):
            return slug
    return None


def _form(pages: _Pages) -> str:
    people = "\n".join(
        f"---FILE: {slug}.md---\n" + "\n".join(lines) + "\n---END_FILE---" for slug, lines in pages.people.items()
    )
    return (
        "===SESSION_SUMMARY===\n" + "\n".join(pages.session) + "\n===END_SESSION_SUMMARY===\n"
        f"===PEOPLE===\n{people}\n===END_PEOPLE===\n===TOPICS===\n===END_TOPICS===\n"
    )


T = TypeVar("T")

ADDRESS = "http://rehearsal.invalid"

PLACE: ContextVar[str | None] = ContextVar("place", default=None)
"""Key of the place whose talk the running task is about; tasks and timers started by it inherit it."""
TURN: ContextVar[int | None] = ContextVar("turn", default=None)
"""Number of the reply the running task works for."""


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """One call of a model: what it was asked, and for which reply."""

    slot: str
    messages: tuple[Message, ...]
    place: str | None
    turn: int | None


@dataclass
class CallLog:
    """Every call in order, and what of the script was wrong."""

    calls: list[ModelCall] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)

    def note(self, slot: str, messages: Sequence[Message]) -> None:
        self.calls.append(ModelCall(slot=slot, messages=tuple(messages), place=PLACE.get(), turn=TURN.get()))


_RECALLED = re.compile(r"\A<memory: [^>\n]{0,200}>\n.*?\n</memory>\n\n", re.DOTALL)
"""What memory put before the words of a message: nobody said it."""


class _Script:
    """Where a script stands."""

    def __init__(self, script: ModelScript) -> None:
        self._script = script
        self._used = [0] * len(script.answers)

    def next(self, messages: Sequence[Message]) -> ScriptedAnswer:
        """Answers with `when` first, in file order, again and again; then the others, each in its turn."""
        last = next((message.content for message in reversed(messages) if message.role == "user"), "")
        last = _RECALLED.sub("", last).casefold()
        order = sorted(range(len(self._used)), key=lambda at: (self._script.answers[at].when is None, at))
        for at in order:
            answer = self._script.answers[at]
            left = answer.times is None or self._used[at] < answer.times
            if left and (answer.when is None or answer.when.casefold() in last):
                self._used[at] += 1
                return answer
        return ScriptedAnswer(say=self._script.otherwise)


class RehearsedModel(LLMClient):
    """A model that says what the file wrote for it, through the client's own retries; their pauses are simulated."""

    def __init__(
        self,
        slot: str,
        script: ModelScript,
        log: CallLog,
        *,
        capabilities: Capabilities,
        rng: random.Random,
        limits: CallLimits | None = None,
    ) -> None:
        """*limits* are those of the slot: a model that is slower fails as it does over HTTP."""
        super().__init__(
            api_key=None,
            model=f"rehearsed-{slot}",
            base_url=ADDRESS,
            limits=limits,
            capabilities=capabilities,
            retry=RetryPolicy(rng=rng),
        )
        self._slot = slot
        self._is_echo = script.is_echo
        self._script = _Script(script)
        self._log = log

    async def learn_limits(self) -> None:
        """Nothing: there is nobody to ask."""

    async def _ask_in_pieces(
        self, completion: Completion, messages: Sequence[Message], payload: dict[str, object], clock: CallClock
    ) -> AsyncGenerator[str, None]:
        text = await self._answer_in_time(completion, messages, payload, clock)
        clock.note_token()
        for piece in words_of(text):
            yield piece

    async def _ask_whole(
        self, completion: Completion, messages: Sequence[Message], payload: dict[str, object], clock: CallClock
    ) -> None:
        completion.text = await self._answer_in_time(completion, messages, payload, clock)

    async def _answer_in_time(
        self, completion: Completion, messages: Sequence[Message], payload: dict[str, object], clock: CallClock
    ) -> str:
        """The answer, unless the model is silent for longer than a server may be."""
        endpoint = Endpoint(base_url=ADDRESS, model=self.model)
        try:
            async with clock.limit_silence(endpoint.safe_url):
                return await self._answer(completion, messages, payload)
        except TimeoutError as error:
            raise error_of_transport(endpoint, error) from error

    async def _answer(self, completion: Completion, messages: Sequence[Message], payload: dict[str, object]) -> str:
        self._log.note(self._slot, messages)
        completion.usage = Usage(prompt_tokens=sum(estimate_tokens(message.content) for message in messages))
        completion.finish_reason = "stop"
        if self._is_echo:
            return echo_answer(self._slot, messages)
        answer = self._script.next(messages)
        await asyncio.sleep(answer.delay_s)
        if answer.fails is not None:
            raise error_of_status(Endpoint(base_url=ADDRESS, model=self.model), answer.fails, b"")
        if answer.tool is not None:
            self._call_tool(answer, answer.tool, completion, payload)
        return answer.say

    def _call_tool(self, answer: ScriptedAnswer, tool: str, completion: Completion, payload: dict[str, Any]) -> None:
        offered = [each["function"]["name"] for each in payload.get("tools", ())]
        if tool not in offered:
            there = f"it is offered {', '.join(offered)}" if offered else "it is offered none; name it in `tools`"
            self._log.mistakes.append(f"the script of {self._slot} uses the tool {tool!r} and {there}")
        call = ToolCall(f"call_{len(self._log.calls)}", tool, json.dumps(dict(answer.arguments), ensure_ascii=False))
        completion.tool_calls, completion.finish_reason = (call,), "tool_calls"


class ForbiddenModel(LLMClient):
    """A model that no script speaks for and that must not be asked: every call is a mistake that is noted."""

    def __init__(self, slot: str, log: CallLog, *, capabilities: Capabilities) -> None:
        super().__init__(api_key=None, model=f"unscripted-{slot}", base_url=ADDRESS, capabilities=capabilities)
        self._slot = slot
        self._log = log

    async def learn_limits(self) -> None:
        """Nothing: there is nobody to ask."""

    async def _ask_in_pieces(
        self, completion: Completion, messages: Sequence[Message], payload: dict[str, object], clock: CallClock
    ) -> AsyncGenerator[str, None]:
        self._refuse(messages)
        yield ""

    async def _ask_whole(
        self, completion: Completion, messages: Sequence[Message], payload: dict[str, object], clock: CallClock
    ) -> None:
        self._refuse(messages)

    def _refuse(self, messages: Sequence[Message]) -> None:
        self._log.note(self._slot, messages)
        sentence = f"{self._slot} was asked and has no script: name it under `models`"
        self._log.mistakes.append(sentence)
        raise ModelError(sentence)


class RealTime:
    """A real event loop in a thread of its own, for what cannot be simulated; the simulated loop waits for it."""

    def __init__(self, simulated: SimulatedLoop) -> None:
        self._simulated = simulated
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=loop.run_forever, name="rehearsal-models", daemon=True)
            self._thread.start()
        with self._simulated.hold():
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), loop))

    def close(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = self._thread = None


class LiveModel(LLMClient):
    """The familiar's own model. Its calls take real time, and no simulated time."""

    def __init__(self, slot: str, inner: LLMClient, log: CallLog, real: RealTime) -> None:
        super().__init__(
            api_key=None,
            model=inner.model,
            base_url=inner.base_url,
            fallbacks=tuple(LiveModel(slot, each, log, real) for each in inner.fallbacks),
            is_main=inner.is_main,
        )
        self._slot = slot
        self._inner = inner
        self._log = log
        self._real = real
        count: Callable[[str], Coroutine[Any, Any, int]] | None = getattr(inner, "tokenize_count", None)
        if count is not None:  # only some models can count; who cannot has no such method
            self.tokenize_count = lambda text: real.run(lambda: count(text))

    @property
    def capabilities(self) -> Capabilities:
        return self._inner.capabilities

    async def learn_limits(self) -> None:
        await self._real.run(self._inner.learn_limits)

    async def complete(self, request: CompletionRequest) -> Completion:
        self._log.note(self._slot, request.messages)
        return await self._real.run(lambda: self._inner.complete(request))

    def start(self, request: CompletionRequest) -> CompletionStream:
        completion = self._new_completion()

        async def collect() -> list[str]:
            stream = self._inner.start(request)
            pieces = [piece async for piece in stream]
            vars(completion).update(vars(stream.completion))
            return pieces

        async def pieces() -> AsyncGenerator[str, None]:
            self._log.note(self._slot, request.messages)
            for piece in await self._real.run(collect):
                yield piece

        return PieceStream(completion, pieces())

    async def close(self) -> None:
        """Nothing: a restarted familiar asks the same model; `close_inner` ends it."""

    async def close_inner(self) -> None:
        await self._real.run(self._inner.close)
