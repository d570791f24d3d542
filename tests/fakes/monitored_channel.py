"""A monitor among people: timers wound by hand, a side model that answers when told, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

from familiar_connect.config.types import Interjection
from familiar_connect.conversation.monitor import ConversationMonitor, MonitorOptions
from familiar_connect.conversation.types import BufferedMessage, ResponseTrigger
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.llm.types import Message
from familiar_connect.support.clock import ManualClock
from tests.fakes.scripted_familiar import ANA, CHANNEL, NOON

YES, NO = "I have to say this.\nYES", "Not my talk.\nNO"


class ManualTimer:
    def __init__(self, due: float, then: Callable[[], None]) -> None:
        self.due = due
        self.then = then
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualTimers:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self._timers: list[ManualTimer] = []

    def later(self, seconds: float, then: Callable[[], None]) -> ManualTimer:
        timer = ManualTimer(self.now + seconds, then)
        self._timers.append(timer)
        return timer

    @property
    def waiting(self) -> list[ManualTimer]:
        return [timer for timer in self._timers if not timer.cancelled]

    def pass_time(self, seconds: float) -> None:
        """Let so much time pass; what is due goes off."""
        self.now += seconds
        due = [timer for timer in self.waiting if timer.due <= self.now]
        self._timers = [timer for timer in self.waiting if timer not in due]
        for timer in due:
            timer.then()


class ScriptedJudge:
    """A side model that answers in order, the last answer for ever; it can be held while it thinks."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[list[Message]] = []
        self.held: asyncio.Event | None = None
        self.under_way = 0
        self.most_under_way = 0

    async def chat(self, messages: list[Message]) -> Message:
        self.asked.append(messages)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            if self.held is not None:
                await self.held.wait()
        finally:
            self.under_way -= 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return Message(role="assistant", content=answer)


Decision = tuple[str, list[str], ResponseTrigger]


class MonitoredChannel:
    """People talking in channels, and one who listens."""

    def __init__(self, answers: Iterable[Any] = (YES,), **changes: Any) -> None:
        self.judge = ScriptedJudge(*answers)
        self.timers = ManualTimers()
        self.history = HistoryStore(":memory:")
        self.decisions: list[Decision] = []
        facts: dict[str, Any] = {
            "familiar_name": "Ember",
            "aliases": ["Em", "ember-spirit"],
            "chattiness": "speaks rarely",
            "interjection": Interjection.very_eager,
            "lull_timeout": 10.0,
            "llm_client": self.judge,
            "character_card": "A small fire spirit.",
            "history_store": self.history,
            "on_respond": self._respond,
            "on_silence": self._silence,
            "rng": lambda: 0.5,
        }
        options: dict[str, Any] = {"familiar_id": "ember", "clock": ManualClock(NOON), "later": self.timers.later}
        names = {field.name for field in fields(MonitorOptions)}
        options |= {name: value for name, value in changes.items() if name in names}
        facts |= {name: value for name, value in changes.items() if name not in names}
        self.monitor = ConversationMonitor(**facts, options=MonitorOptions(**options))

    async def _respond(self, channel_id: int, messages: list[BufferedMessage], trigger: ResponseTrigger) -> None:
        self.decisions.append(("respond", [message.text for message in messages], trigger))

    async def _silence(self, channel_id: int, messages: list[BufferedMessage], trigger: ResponseTrigger) -> None:
        self.decisions.append(("silence", [message.text for message in messages], trigger))

    async def say(
        self, text: str, *, author: Author = ANA, channel_id: int = CHANNEL, is_mention: bool = False, **more: Any
    ) -> None:
        await self.monitor.on_message(channel_id, author, text, is_mention=is_mention, **more)

    async def pass_quiet_time(self, seconds: float = 10.0) -> None:
        """Nobody says anything for so long."""
        self.timers.pass_time(seconds)
        await self.monitor.wait_until_idle()
