"""Asking every provider at once, each under its own deadline.

A late or failing provider costs its own place in the prompt and nothing else, and a late one that can say what it has
found so far keeps that much of it. Each runs as a task
of its own, so that even one which ignores its cancellation cannot hold the turn: it is left behind,
and whatever it does later is only logged. One that holds up the event loop, and with it everybody
else, is named.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Generator, Sequence
from types import CoroutineType
from typing import Any, NamedTuple

from familiar_connect.context.protocols import ContextProvider, PartialProvider
from familiar_connect.context.types import (
    NO_DEADLINE,
    ContextRequest,
    Contribution,
    ProviderOutcome,
    ReportedContributions,
)
from familiar_connect.support.aio import LateTasks

logger = logging.getLogger(__name__)

BLOCKED_S = 0.1
"""A provider that works for longer than this without letting others run has blocked the event loop."""

_late = LateTasks("provider failed after its deadline")


async def gather(
    providers: Sequence[ContextProvider], request: ContextRequest, *, time_left_s: float | None = None
) -> list[ProviderOutcome]:
    """What every provider brought, in registration order, whatever finished first.

    Each has its own deadline, or *time_left_s* if that is less; with `NO_DEADLINE` all of them are waited for.
    """
    loop = asyncio.get_running_loop()
    began, worked = loop.time(), time.thread_time()
    asked = []
    for provider in providers:
        steps = _TimedSteps(provider, request, worked)
        task = loop.create_task(_contributions(steps), name=f"provider:{provider.id}")
        asked.append(_Asked(provider.id, _limit(provider, time_left_s), steps, task))
    try:
        await _wait_for_all(asked, began)
    finally:
        for each in asked:
            if not each.task.done():
                _late.leave_behind(each.task)
    return [_outcome(each) for each in asked]


async def _wait_for_all(asked: Sequence[_Asked], began: float) -> None:
    """Return once everybody has answered or is late.

    It counts for itself: `asyncio.wait`, which would tell who has answered, takes twice as long to set up.
    """
    loop = asyncio.get_running_loop()
    pending = {each.task for each in asked}
    woken: asyncio.Future[None] | None = None

    def note_answer(task: asyncio.Task[list[Contribution]]) -> None:
        pending.discard(task)
        if not pending:
            wake()

    def wake() -> None:
        if woken is not None and not woken.done():
            woken.set_result(None)

    for each in asked:
        each.task.add_done_callback(note_answer)
    waiting = list(asked)
    while pending:
        woken = loop.create_future()
        first = min([each.limit_s for each in waiting])
        alarm = None if first == NO_DEADLINE else loop.call_at(began + first, wake)
        try:
            await woken
        finally:
            if alarm is not None:
                alarm.cancel()
        passed = loop.time() - began
        waiting = [each for each in waiting if not each.task.done() and each.limit_s > max(first, passed)]
        pending.intersection_update([each.task for each in waiting])  # who is late is not waited for


class _Asked(NamedTuple):
    """A provider that was asked: how long it may take, and the task it works in."""

    provider_id: str
    limit_s: float
    steps: _TimedSteps
    task: asyncio.Task[list[Contribution]]


class _TimedSteps:
    """A provider's work, awaited; notes how long it took and the longest it went on without letting others run."""

    __slots__ = ("_provider", "_request", "_worked_before", "ended", "longest_step_s", "report", "started")

    def __init__(self, provider: ContextProvider, request: ContextRequest, worked_before: float) -> None:
        """*worked_before*: what the thread of the loop had worked, by the processor's time, when all were asked."""
        self._provider = provider
        self._request = request
        self._worked_before = worked_before
        self.started = time.perf_counter()
        self.ended: float | None = None
        self.longest_step_s = 0.0
        self.report: ReportedContributions | None = None
        """What it brought, where it tells more about that."""

    def peek_contributions(self) -> list[Contribution]:
        """What the provider has already found, where it can say."""
        if not isinstance(self._provider, PartialProvider):
            return []
        try:
            return list(self._provider.peek_contributions(self._request))
        except Exception as error:  # isolation: it is late, and now wrong as well
            logger.warning("provider failed after its deadline", extra={"error": type(error).__name__})
            return []

    def __await__(self) -> Generator[Any, Any, list[Contribution]]:
        step: Any = None
        error: BaseException | None = None
        value: Any = None
        while True:
            began = time.perf_counter()
            try:
                if step is None:
                    work = self._provider.contribute(self._request)
                    step = work if isinstance(work, CoroutineType) else _begin(work)
                waits_for = step.throw(error) if error is not None else step.send(value)
            except StopIteration as done:
                self.report = done.value if isinstance(done.value, ReportedContributions) else None
                return list(done.value)
            finally:
                self.ended = ended = time.perf_counter()
                if ended - began > self.longest_step_s:
                    self.longest_step_s = max(self.longest_step_s, self._measure_held_s(ended - began))
            error = value = None
            try:
                value = yield waits_for
            except BaseException as thrown:  # a cancellation, for whoever works here to see
                error = thrown

    def _measure_held_s(self, passed_s: float) -> float:
        """How long a step that took *passed_s* by the clock held up the others.

        On a busy machine the clock goes on while nothing here runs: there a step took no longer than all of them
        have worked since they were asked.
        """
        if passed_s <= BLOCKED_S or not is_machine_busy():
            return passed_s
        return min(passed_s, time.thread_time() - self._worked_before)


def is_machine_busy() -> bool:
    """Whether more wants to run than there are processors, where the system says so."""
    try:
        return os.getloadavg()[0] > (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return False


def _begin(work: Awaitable[Sequence[Contribution]]) -> Generator[Any, Any, Any]:
    return (yield from work.__await__())


async def _contributions(steps: _TimedSteps) -> list[Contribution]:
    """Asked inside the task, so that whatever a provider does wrong is that provider's error."""
    return await steps


def _outcome(asked: _Asked) -> ProviderOutcome:
    steps, task = asked.steps, asked.task
    ended = steps.ended if task.done() and steps.ended is not None else time.perf_counter()
    outcome = ProviderOutcome(asked.provider_id, ended - steps.started, [], "ok")
    outcome.limit_s = 0.0 if asked.limit_s == NO_DEADLINE else asked.limit_s
    if not task.done():
        outcome.status, outcome.error_message = "timeout", f"no answer within {asked.limit_s:.3g} s"
        outcome.contributions = steps.peek_contributions()
    elif task.cancelled():
        outcome.status, outcome.error_message = "error", "CancelledError: the provider cancelled itself"
    elif (error := task.exception()) is not None:
        outcome.status, outcome.error_message = "error", f"{type(error).__name__}: {error}"
    else:
        outcome.contributions = task.result()
    if outcome.status != "ok":
        logger.warning(
            "provider left out",
            extra={"provider": asked.provider_id, "status": outcome.status, "error": outcome.error_message},
        )
    elif (report := steps.report) is not None:
        outcome.status, outcome.error_message, outcome.notes = report.status, report.trouble, report.notes
        outcome.found_by = report.found_by
    if steps.longest_step_s > BLOCKED_S:
        outcome.blocked_s = steps.longest_step_s
        logger.warning(
            "provider blocked the event loop",
            extra={"provider": asked.provider_id, "seconds": round(steps.longest_step_s, 3)},
        )
    return outcome


def _limit(provider: ContextProvider, time_left_s: float | None) -> float:
    if time_left_s is None:
        return provider.deadline_s
    return time_left_s if time_left_s == NO_DEADLINE else min(provider.deadline_s, time_left_s)
