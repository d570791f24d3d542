"""Asking every provider at once."""

from __future__ import annotations

import asyncio
import logging
import time
from types import SimpleNamespace

import pytest

from familiar_connect.context.gather import BLOCKED_S, gather
from familiar_connect.context.protocols import ContextProvider
from familiar_connect.context.types import NO_DEADLINE, ContextRequest, Contribution, ProviderOutcome
from tests.fakes.context import (
    BlockedThreadProvider,
    FailingProvider,
    FixedProvider,
    UncancellableProvider,
    WaitingProvider,
    a_piece,
    a_request,
)


def told(outcomes: list[ProviderOutcome]) -> list[tuple[str, str, int]]:
    return [(o.provider_id, o.status, len(o.contributions)) for o in outcomes]


async def test_what_everyone_brought_comes_in_registration_order() -> None:
    """Whoever finishes first."""
    slow, fast = WaitingProvider(a_piece("slow"), id="slow"), FixedProvider(a_piece("fast"), id="fast")
    asking = asyncio.create_task(gather([slow, fast], a_request()))
    await slow.asked.wait()
    slow.go.set()

    assert told(await asking) == [("slow", "ok", 1), ("fast", "ok", 1)]


async def test_all_are_asked_before_any_has_answered() -> None:
    """The turn takes as long as the slowest, not as the sum."""
    waiting = [WaitingProvider(id=str(number)) for number in range(8)]
    asking = asyncio.create_task(gather(waiting, a_request()))
    await asyncio.wait_for(asyncio.gather(*(provider.asked.wait() for provider in waiting)), 100)
    for provider in waiting:
        provider.go.set()

    assert [o.status for o in await asking] == ["ok"] * 8


async def test_a_failing_provider_costs_its_own_place_only(caplog: pytest.LogCaptureFixture) -> None:
    """B2: its outcome names the error; the others never notice."""
    providers: list[ContextProvider] = [
        FixedProvider(a_piece("a"), id="a"),
        FailingProvider(KeyError("gone")),
        FixedProvider(id="b"),
    ]
    with caplog.at_level(logging.WARNING):
        outcomes = await gather(providers, a_request())

    assert told(outcomes) == [("a", "ok", 1), ("failing", "error", 0), ("b", "ok", 0)]
    assert outcomes[1].error_message == "KeyError: 'gone'"
    assert [(r.levelno, r.__dict__["provider"]) for r in caplog.records] == [(logging.WARNING, "failing")]


@pytest.mark.parametrize(
    "hanging",
    [
        WaitingProvider(id="hangs", deadline_s=0.02),
        UncancellableProvider(id="hangs", deadline_s=0.02),
        BlockedThreadProvider(id="hangs"),
    ],
)
async def test_a_hanging_provider_is_left_behind_at_its_deadline(
    hanging: WaitingProvider | UncancellableProvider | BlockedThreadProvider, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether it waits for ever, will not be cancelled, or is stuck in a thread."""
    began = time.perf_counter()
    try:
        with caplog.at_level(logging.WARNING):
            outcomes = await gather([hanging, FixedProvider(a_piece("a"), id="a")], a_request())
    finally:  # a thread that stays stuck would keep the whole run from its end
        (hanging.free if isinstance(hanging, BlockedThreadProvider) else hanging.go).set()
    took = time.perf_counter() - began
    await asyncio.sleep(0)

    assert told(outcomes) == [("hangs", "timeout", 0), ("a", "ok", 1)]
    assert 0 < outcomes[0].duration_s <= took < 200
    assert [r.__dict__["status"] for r in caplog.records] == ["timeout"]


async def test_who_answers_after_another_is_late_is_not_waited_for_any_longer() -> None:
    """Neither to its own deadline nor, where it has none, for ever: it has answered."""
    for deadline_s in (300.0, NO_DEADLINE):
        late, slow = WaitingProvider(id="late", deadline_s=0.01), WaitingProvider(id="slow", deadline_s=deadline_s)
        asyncio.get_running_loop().call_later(0.05, slow.go.set)
        async with asyncio.timeout(60):
            outcomes = await gather([late, slow], a_request())

        assert told(outcomes) == [("late", "timeout", 0), ("slow", "ok", 0)]
        late.go.set()


async def test_a_provider_out_of_time_is_cancelled() -> None:
    """Nothing of a turn goes on behind its back."""
    hanging = WaitingProvider(deadline_s=0.01)
    await gather([hanging], a_request())
    await asyncio.sleep(0)

    assert hanging.cancelled


async def test_the_time_left_of_the_turn_bounds_every_provider() -> None:
    """The smaller of the two counts."""
    outcomes = await gather([WaitingProvider(deadline_s=60)], a_request(), time_left_s=0.01)

    assert told(outcomes) == [("waiting", "timeout", 0)]


async def test_a_providers_own_timeout_is_its_error() -> None:
    """It was not late: something it asked was."""
    outcomes = await gather([FailingProvider(TimeoutError("socket"))], a_request())

    assert (outcomes[0].status, outcomes[0].error_message) == ("error", "TimeoutError: socket")


async def test_a_provider_that_cancels_itself_is_in_error() -> None:
    """Its cancellation is not ours."""
    outcomes = await gather([FailingProvider(asyncio.CancelledError()), FixedProvider(id="a")], a_request())

    assert told(outcomes) == [("failing", "error", 0), ("a", "ok", 0)]


class Nonsense:
    """A provider that keeps no promise."""

    id = "nonsense"
    deadline_s = 1.0

    def contribute(self, request: ContextRequest) -> list[Contribution]:
        raise TypeError("not even async")


class Nothing(FixedProvider):
    """A provider that returns no list."""

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize("provider", [Nonsense(), Nothing()])
async def test_a_provider_that_breaks_its_promise_is_in_error(provider: object) -> None:
    """Not async, or no list: it costs its own place, not the turn."""
    outcomes = await gather([provider, FixedProvider(a_piece("a"), id="a")], a_request())  # type: ignore[list-item]

    assert [o.status for o in outcomes] == ["error", "ok"]


async def test_what_a_provider_does_too_late_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It was cancelled, went on, and failed: nobody waits for it any more."""

    class FailingLate(WaitingProvider):
        async def contribute(self, request: ContextRequest) -> list[Contribution]:
            try:
                return await super().contribute(request)
            except asyncio.CancelledError:
                raise OSError("disk") from None

    with caplog.at_level(logging.WARNING):
        await gather([FailingLate(deadline_s=0.01)], a_request())
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    assert caplog.messages[-1] == "provider failed after its deadline"


async def test_cancelling_the_turn_cancels_every_provider() -> None:
    """And nothing else."""
    waiting = [WaitingProvider(id="a"), WaitingProvider(id="b")]
    bystander = asyncio.create_task(asyncio.Event().wait())
    asking = asyncio.create_task(gather(waiting, a_request()))
    for provider in waiting:
        await provider.asked.wait()
    asking.cancel()
    await asyncio.wait({asking})

    assert ([p.cancelled for p in waiting], asking.cancelled(), bystander.done()) == ([True, True], True, False)
    bystander.cancel()


async def test_a_provider_that_blocks_the_event_loop_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """One that only waits, however long, is not; nor are those that had to wait for the other."""

    class Blocking:
        id = "blocking"
        deadline_s = 5.0

        async def contribute(self, request: ContextRequest) -> list[Contribution]:
            await asyncio.sleep(0)
            ends = time.thread_time() + 2 * BLOCKED_S
            while time.thread_time() < ends:
                pass
            return [a_piece("late")]

    waiting = WaitingProvider(a_piece("waited"), id="waiting")
    waiting.go.set()
    with caplog.at_level(logging.WARNING):
        outcomes = await gather([waiting, Blocking()], a_request())

    assert told(outcomes) == [("waiting", "ok", 1), ("blocking", "ok", 1)]
    assert outcomes[1].blocked_s >= 2 * BLOCKED_S
    assert outcomes[0].blocked_s < BLOCKED_S
    assert "provider blocked the event loop" in caplog.messages


@pytest.mark.parametrize(("is_busy", "is_named"), [(True, False), (False, True)])
async def test_on_a_busy_machine_only_its_own_work_is_held_against_a_provider(
    is_busy: bool, is_named: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where others have the processor the clock goes on; on a quiet one whoever lets it pass in the loop is named."""

    class Held:
        id = "held"
        deadline_s = 5.0

        async def contribute(self, request: ContextRequest) -> list[Contribution]:
            passed[0] += 2 * BLOCKED_S
            return []

    passed = [0.0]
    clocks = SimpleNamespace(perf_counter=lambda: passed[0], thread_time=lambda: 0.0)
    monkeypatch.setattr("familiar_connect.context.gather.time", clocks)
    monkeypatch.setattr("familiar_connect.context.gather.is_machine_busy", lambda: is_busy)
    with caplog.at_level(logging.WARNING):
        [outcome] = await gather([Held()], a_request())

    assert (outcome.blocked_s > BLOCKED_S) is is_named
    assert ("provider blocked the event loop" in caplog.messages) is is_named


class SlowProvider(WaitingProvider):
    """Has found something, and never comes to an end."""

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        self.asked_for = request
        return await super().contribute(request)

    def peek_contributions(self, request: ContextRequest) -> list[Contribution]:
        assert request is self.asked_for
        return [a_piece("found")]


async def test_what_a_late_provider_has_found_by_then_is_used() -> None:
    """It is late, and told as such; what it can already give goes into the prompt."""
    [outcome] = await gather([SlowProvider(deadline_s=0.01)], a_request())

    assert (outcome.status, [c.text for c in outcome.contributions]) == ("timeout", ["found"])
    assert outcome.error_message == "no answer within 0.01 s"


async def test_a_late_provider_that_cannot_say_what_it_found_costs_its_own_place_only() -> None:
    """What goes wrong while it is asked is nobody else's matter."""

    class BrokenProvider(WaitingProvider):
        def peek_contributions(self, request: ContextRequest) -> list[Contribution]:
            raise KeyError(request.utterance)

    outcomes = await gather([BrokenProvider(id="late", deadline_s=0.01), FixedProvider(a_piece("a"))], a_request())

    assert [(o.status, len(o.contributions)) for o in outcomes] == [("timeout", 0), ("ok", 1)]
