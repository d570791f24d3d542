"""The process under test: a familiar on our own Discord, or the bare bot it is compared with.

Started with one argument, a JSON object; it prints `ready`, then one JSON line for each line it is told:
`read` takes the gauge, `settle` waits until nothing is under way and tells what was answered. At the end
of its input it leaves.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.reliability.process_stats import ProcessStats, count_held, find_growing, follow_parts
from benchmarks.reliability.traffic import number_of
from familiar_connect.chat.place import Place
from familiar_connect.config.llm import SLOT_TEMPERATURES
from familiar_connect.conversation.types import Exchange
from familiar_connect.errors import ModelError, ModelSetupError, ModelTimeoutError
from familiar_connect.extensions.discord import place as discord_place
from familiar_connect.extensions.discord.adapter import DiscordPlatform
from familiar_connect.extensions.platforms import make_host
from familiar_connect.familiar import Familiar
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities, Completion, CompletionRequest, Message
from familiar_connect.reply.runner import ReplyOutcome, ReplyRunner
from familiar_connect.support import thread_pools
from familiar_connect.support.aio import cancel_and_wait

FAILURES: tuple[str | ModelError, ...] = (
    "",
    ModelError("The server answered with status 500.", status=500),
    ModelSetupError("The server refused the key (401).", status=401),
    ModelTimeoutError("The model took too long."),
)
"""Ways in which a model fails: with nothing, an error of its server, a wrong key, and too late."""
ASKER = re.compile(r"(?:person|luna)\d{3,}", re.IGNORECASE)
VERSION = re.compile(r"\bedit(\d)\b")
QUIET_LOOKS, QUIET_EVERY_S, QUIET_WITHIN_S = 10, 0.1, 60.0
"""So often in a row no thread must be at work, looked at so far apart, before it is counted what the process holds."""
SPEAKS_UNASKED_EVERY = 3
"""Of the moments in which it might join in, the familiar takes every third."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the process is to be, and where."""

    root: str
    api_url: str
    token: str
    model_s: float = 0.05
    """How long the model thinks."""
    pieces: int = 1
    """Messages that one reply takes."""
    answer_within_s: float | None = None
    """How long a request may take before it counts as lost; None: as always."""
    fails_every: int = 0
    """Of so many calls of the replying model one fails, in one way after another; 0: none."""
    names_asker: bool = False
    """The model answers whom the last line of its prompt names, and nobody else."""
    never_joins_in: bool = False
    """The side model says no to everything."""
    keeps_exchanges: bool = True
    """Remember what became of each exchange; a long run would measure that."""
    never_steps_back: bool = False
    """The index keeps the process's priority: on a busy machine a run that waits for it would take hours."""
    hurry: bool = False
    """Begin anew without the five seconds the library waits, as Discord asks; our own Discord does not."""


LineHandler = Callable[[str], Awaitable[Any]]


async def serve(answer: LineHandler) -> None:
    """Answer each line of the input with a line; until the input ends."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line.strip())
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, name="input", daemon=True).start()
    print(json.dumps("ready"), flush=True)
    while (line := await lines.get()) is not None:
        print(json.dumps(await answer(line)), flush=True)


class SlowModel(ScriptedModel):
    """A model that takes its time, answers with the number of what was said last, and remembers nothing."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(self._reply)
        self._plan = plan
        self._asked = 0

    def _reply(self, messages: list[Message]) -> str:
        self.calls.clear()
        self.limits.clear()
        self.offered.clear()
        self._asked += 1
        if self._plan.fails_every and not self._asked % self._plan.fails_every:
            failure = FAILURES[self._asked // self._plan.fails_every % len(FAILURES)]
            if isinstance(failure, str):
                return failure
            raise failure
        asked = next((message.content for message in reversed(messages) if number_of(message.content) is not None), "")
        mark = f"[m{number_of(asked) or 0:06d}]"
        paragraphs = [f"I heard {mark}, part {part + 1}." for part in range(self._plan.pieces)]
        return "\n\n".join(paragraphs)

    async def complete(self, request: CompletionRequest) -> Completion:
        await asyncio.sleep(self._plan.model_s)
        return await super().complete(request)

    async def _say(self, *asked: Any) -> AsyncGenerator[str, None]:
        await asyncio.sleep(self._plan.model_s)
        async for piece in super()._say(*asked):
            yield piece


class NamingModel(SlowModel):
    """A model that answers the last line of its prompt: who said it, its number, and how often it was edited."""

    def _reply(self, messages: list[Message]) -> str:
        self.calls.clear()
        self.limits.clear()
        self.offered.clear()
        said = [each.content for each in messages if each.role == "user" and number_of(each.content) is not None]
        said = [text for text in said if "Several people spoke" not in text]  # it names all of them
        lines = [line for line in (said[-1] if said else "").splitlines() if number_of(line) is not None]
        line = lines[-1] if lines else ""
        name, version = ASKER.search(line) or ASKER.search(said[-1] if said else ""), VERSION.search(line)
        number = f"[m{number_of(line) or 0:06d}]"
        return f"To {name[0].lower() if name else 'nobody'}: {number} v{version[1] if version else 0}"


class EventLog:
    """When edits and deletions reached the program, and when it began to send which words; by the machine's clock."""

    def __init__(self, platform: DiscordPlatform) -> None:
        self.events: list[tuple[str, str, float]] = []
        self.sent: list[tuple[str, float]] = []
        for name, kind in (("_on_edit", "edit"), ("_on_delete", "delete")):
            setattr(platform, name, self._noting(kind, getattr(platform, name)))
        send, sent = discord_place.DiscordPlace.send, self.sent

        async def note_and_send(self: discord_place.DiscordPlace, text: str) -> None:
            sent.append((text, time.monotonic()))
            await send(self, text)

        discord_place.DiscordPlace.send = note_and_send  # type: ignore[method-assign]

    def _noting(self, kind: str, handle: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
        async def note_and_handle(payload: Any) -> None:
            self.events.append((kind, str(payload.message_id), time.monotonic()))
            await handle(payload)

        return note_and_handle

    def facts(self) -> dict[str, Any]:
        return {"events": self.events, "sent": self.sent}


class SpeakDecider(ScriptedModel):
    """The side model that is asked whether to speak: always to who asks, now and then unasked."""

    def __init__(self, *, never: bool = False) -> None:
        super().__init__(self._verdict)
        self._asked = 0
        self._never = never

    def _verdict(self, messages: list[Message]) -> str:
        self.calls.clear()
        self.limits.clear()
        self.offered.clear()
        if self._never:
            return "Let it pass.\nNO"
        if "The newest messages hold the name" in messages[-1].content:
            return "They ask me.\nYES"
        self._asked += 1
        return "It fits.\nYES" if self._asked % SPEAKS_UNASKED_EVERY == 0 else "Not now.\nNO"


def model_clients(plan: Plan) -> dict[str, LLMClient]:
    """A voice and a judge; all other side work is left to plain rules."""
    weak = ScriptedModel(model="weak", capabilities=Capabilities(side_tasks=False))
    found: dict[str, LLMClient] = dict.fromkeys(SLOT_TEMPERATURES, weak)
    model = NamingModel if plan.names_asker else SlowModel
    return found | {"main_prose": model(plan), "interjection_decision": SpeakDecider(never=plan.never_joins_in)}


class ExchangeLog:
    """Which message was in which exchange, and what became of it."""

    def __init__(self, runner: ReplyRunner, *, keeps: bool = True) -> None:
        self._respond = runner.respond
        self._keeps = keeps
        self._exchanges: list[Mapping[str, Any]] = []
        runner.respond = self._noting  # type: ignore[method-assign]

    async def _noting(self, exchange: Exchange, place: Place) -> ReplyOutcome | None:
        outcome = await self._respond(exchange, place)
        if not self._keeps:
            return outcome
        self._exchanges.append(
            {
                "numbers": [number_of(message.text) for message in exchange.messages],
                "sent": outcome.sent if outcome is not None else "",
                "error": outcome.error if outcome is not None else "barred",
                "interrupted": outcome is not None and outcome.interrupted,
            }
        )
        return outcome

    def facts(self) -> list[Mapping[str, Any]]:
        return self._exchanges


async def run_familiar(plan: Plan) -> None:
    """Everything `familiar run` starts, with models that need no network."""
    if plan.answer_within_s is not None:
        discord_place.ANSWER_WITHIN_S = plan.answer_within_s
    if plan.hurry:
        _begin_at_once()
    follow_parts()
    familiar = Familiar.load_from_disk(Path(plan.root), llm_clients=dict(model_clients(plan)))
    answered, gauge = ExchangeLog(familiar.reply_path.runner, keeps=plan.keeps_exchanges), ProcessStats()
    platform = DiscordPlatform(
        make_host(familiar, "discord"), token=plan.token, api_url=plan.api_url, guild_ready_timeout_s=0.2
    )

    noted = EventLog(platform) if plan.names_asker else None

    async def answer(line: str) -> Any:
        if line == "events" and noted is not None:
            return noted.facts()
        if line == "read":
            return gauge.read()
        if line == "count":
            gauge.read()
            await familiar.reply_path.recorder.wait_until_idle()
            await _wait_until_quiet()
            return await asyncio.to_thread(count_held, asyncio.get_running_loop())
        if line == "growing":
            return await asyncio.to_thread(find_growing)
        await familiar.intake.wait_until_idle()
        for known in familiar.subscriptions.all():
            await familiar.reply_path.queue.wait_until_channel_idle(known.channel_id)
        return answered.facts()

    await familiar.start()
    tasks = [asyncio.create_task(platform.run(), name="platform"), asyncio.create_task(gauge.run(), name="gauge")]
    try:
        await serve(answer)
    finally:
        for task in tasks:
            await cancel_and_wait(task)
        await familiar.aclose()


async def _wait_until_quiet() -> None:
    """Wait until no thread is at work: the index and the writer go on after the last reply, and hold what they read."""
    quiet, ends_at = 0, time.monotonic() + QUIET_WITHIN_S
    while quiet < QUIET_LOOKS and time.monotonic() < ends_at:
        quiet = 0 if thread_pools.has_busy_threads() else quiet + 1
        await asyncio.sleep(QUIET_EVERY_S)


def _begin_at_once() -> None:
    import discord

    async def at_once(client: object, shard_id: int, *, initial: bool = False) -> None:
        return None

    library: Any = discord.AutoShardedClient
    library.before_identify_hook = at_once


def main(arguments: list[str]) -> None:
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    logging.getLogger("discord").setLevel(logging.CRITICAL)
    plan = Plan(**json.loads(arguments[0]))
    if plan.never_steps_back:
        thread_pools.LOWEST_PRIORITY = os.getpriority(os.PRIO_PROCESS, 0)
    asyncio.run(run_familiar(plan))


if __name__ == "__main__":
    main(sys.argv[1:])
