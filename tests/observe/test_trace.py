"""A trace: what happened in a turn, whatever happened."""

from __future__ import annotations

import asyncio

import pytest

from familiar_connect.context.types import Modality, ProviderOutcome
from familiar_connect.observe.trace import StageSpan, TraceBuilder, TurnTrace
from familiar_connect.support.clock import ManualClock
from tests.fakes.traces import NOON, a_trace


def a_builder(clock: ManualClock | None = None) -> TraceBuilder:
    return TraceBuilder(familiar_id="wren", channel_id=7, guild_id=3, modality="text", clock=clock)


async def test_a_span_is_timed_from_the_start_of_the_turn() -> None:
    """Start and duration come from the clock, metadata from the call and from the body."""
    clock = ManualClock(NOON)
    builder = a_builder(clock)
    clock.advance(1.0)

    async with builder.span("model", model="m") as metadata:
        clock.advance(2.0)
        metadata["prompt_tokens"] = 12

    assert builder.finalize().stages == (StageSpan("model", 1.0, 2.0, {"model": "m", "prompt_tokens": 12}),)


async def test_a_span_is_recorded_when_its_body_fails() -> None:
    """The failure goes on its way; the span stays, with its kind."""
    builder = a_builder()

    async def fail() -> None:
        async with builder.span("assemble") as metadata:
            metadata["seen"] = 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()

    assert [(s.name, s.metadata) for s in builder.finalize().stages] == [
        ("assemble", {"seen": 1, "error": "ZeroDivisionError"})
    ]


async def test_a_span_is_recorded_when_it_is_cancelled() -> None:
    """A reply that was interrupted leaves its stages too."""
    builder = a_builder()
    inside = asyncio.Event()

    async def wait_for_ever() -> None:
        async with builder.span("model"):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(wait_for_ever())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [span.metadata for span in builder.finalize().stages] == [{"error": "CancelledError"}]


def test_a_finished_trace_says_who_where_when_and_how_long() -> None:
    """Identity, ISO time, duration and tags are on the trace."""
    clock = ManualClock(NOON)
    builder = TraceBuilder(
        familiar_id="wren", channel_id=7, guild_id=None, modality=Modality.voice, clock=clock, new_id=lambda: "id-1"
    )
    clock.advance(1.5)
    builder.tag("order", "stable_first")
    builder.tag("attempts", 2)

    assert builder.finalize() == TurnTrace(
        trace_id="id-1",
        familiar_id="wren",
        channel_id=7,
        guild_id=None,
        modality="voice",
        timestamp="2025-06-01T12:00:00+00:00",
        total_duration_s=1.5,
        stages=(),
        tags={"order": "stable_first", "attempts": "2"},
    )


def test_ids_sort_in_the_order_of_the_turns() -> None:
    """Also when the clock stands still, no two are the same and the later sorts later."""
    clock = ManualClock(NOON)
    ids = [a_builder(clock).trace_id for _ in range(50)]
    clock.advance(0.001)
    ids.append(a_builder(clock).trace_id)

    assert (ids, len(set(ids))) == (sorted(ids), 51)


def test_provider_outcomes_become_plain_facts() -> None:
    """How each provider fared is noted under one key."""
    metadata: dict[str, object] = {}
    TraceBuilder.add_provider_outcomes(
        metadata,
        [ProviderOutcome("character", 0.01, [], "ok"), ProviderOutcome("search", 2.0, [], "timeout", "too slow")],
    )

    assert metadata == {
        "provider_outcomes": [
            {"id": "character", "duration_s": 0.01, "status": "ok", "error": None},
            {"id": "search", "duration_s": 2.0, "status": "timeout", "error": "too slow"},
        ]
    }


def test_a_finished_trace_does_not_change_when_the_builder_goes_on() -> None:
    """`finalize` takes a picture."""
    builder = a_builder()
    before = builder.finalize()

    builder.tag("late", "yes")
    builder.add_span("record", 0.0, 0.1)

    assert (before.tags, before.stages) == ({}, ())


def test_a_fact_is_found_in_the_latest_stage_that_has_it_or_in_the_tags() -> None:
    """Readers need not know which stage noted a fact."""
    stages = (StageSpan("model", 0, 1, {"attempt": 1}), StageSpan("model", 1, 1, {"attempt": 2}))
    trace = a_trace(stages=stages, tags={"order": "classic"})

    assert (trace.fact("attempt"), trace.fact("order"), trace.fact("nothing")) == (2, "classic", None)
