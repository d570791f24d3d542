"""Asking every provider at once, each under its own deadline.

A late or failing provider costs its own place in the prompt and nothing else. Providers run as
tasks of their own, so that even one which ignores its cancellation cannot hold the turn: it is
left behind, and whatever it does later is only logged.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

from familiar_connect.context.protocols import ContextProvider
from familiar_connect.context.types import NO_DEADLINE, ContextRequest, Contribution, ProviderOutcome
from familiar_connect.support.aio import LateTasks

logger = logging.getLogger(__name__)

_late = LateTasks("provider failed after its deadline")


async def gather(
    providers: Sequence[ContextProvider], request: ContextRequest, *, time_left_s: float | None = None
) -> list[ProviderOutcome]:
    """What every provider brought, in registration order, whatever finished first.

    Each has its own deadline, or *time_left_s* if that is less; with `NO_DEADLINE` all of them are waited for.
    """
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_ask(provider, request, time_left_s), name=f"ask:{provider.id}") for provider in providers
        ]
    return [task.result() for task in tasks]


async def _ask(provider: ContextProvider, request: ContextRequest, time_left_s: float | None) -> ProviderOutcome:
    limit = _limit(provider, time_left_s)
    started = time.perf_counter()
    asked = asyncio.get_running_loop().create_task(_contributions(provider, request), name=f"provider:{provider.id}")
    try:
        done, _ = await asyncio.wait({asked}, timeout=None if limit == NO_DEADLINE else max(0.0, limit))
    finally:
        if not asked.done():
            _late.leave_behind(asked)
    outcome = ProviderOutcome(provider.id, time.perf_counter() - started, [], "ok")
    if not done:
        outcome.status, outcome.error_message = "timeout", f"no answer within {limit:.3g} s"
    elif asked.cancelled():
        outcome.status, outcome.error_message = "error", "CancelledError: the provider cancelled itself"
    elif (error := asked.exception()) is not None:
        outcome.status, outcome.error_message = "error", f"{type(error).__name__}: {error}"
    else:
        outcome.contributions = asked.result()
    if outcome.status != "ok":
        logger.warning(
            "provider left out",
            extra={"provider": provider.id, "status": outcome.status, "error": outcome.error_message},
        )
    return outcome


def _limit(provider: ContextProvider, time_left_s: float | None) -> float:
    if time_left_s is None:
        return provider.deadline_s
    return time_left_s if time_left_s == NO_DEADLINE else min(provider.deadline_s, time_left_s)


async def _contributions(provider: ContextProvider, request: ContextRequest) -> list[Contribution]:
    """Asked inside the task, so that whatever a provider does wrong is that provider's error."""
    return list(await provider.contribute(request))
