"""Reports people can read, also over nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.observe.report import (
    percentile,
    provider_success_rates,
    stage_breakdown,
    summary_stats,
    tag_comparison,
    throughput_stats,
)
from familiar_connect.observe.trace import StageSpan, TurnTrace
from tests.fakes.traces import NOON, a_trace

Report = Callable[[Sequence[TurnTrace]], str]
REPORTS: list[Report] = [
    summary_stats,
    stage_breakdown,
    throughput_stats,
    provider_success_rates,
    lambda traces: tag_comparison(traces, "order"),
]


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("traces", [[], [a_trace(stages=())], [a_trace(timestamp="yesterday", total_duration_s=0.0)]])
def test_a_report_is_never_empty(report: Report, traces: list[TurnTrace]) -> None:
    """No turns, no stages, odd facts: there is always something to read."""
    assert report(traces).strip()


def test_the_summary_counts_turns_and_gives_percentiles() -> None:
    """Count, p50 and p95 of the whole turn, and of the first token where known."""
    spans = (StageSpan("model", 0, 1, {"first_token_s": 0.25, "prefix_ratio": 0.9}),)
    report = summary_stats([a_trace(total_duration_s=float(n), stages=spans) for n in range(1, 102)])

    assert report.splitlines() == [
        "Summary",
        "               count       p50       p95       max",
        "  whole turn     101   51.00 s   96.00 s  101.00 s",
        "  first token    101  250.0 ms  250.0 ms  250.0 ms",
        "shared prefix, median: 90%",
    ]


def test_stages_are_listed_in_the_order_of_the_walk() -> None:
    """One aligned line a stage."""
    stages = (StageSpan("assemble", 0, 0.01), StageSpan("model", 0.01, 2.0))
    report = stage_breakdown([a_trace(stages=stages)] * 2)

    assert report.splitlines() == [
        "Stages",
        "  stage     count      p50      p95      max",
        "  assemble      2  10.0 ms  10.0 ms  10.0 ms",
        "  model         2   2.00 s   2.00 s   2.00 s",
    ]


def test_throughput_counts_turns_and_tokens_over_time() -> None:
    """Turns an hour, tokens a second, share of cached prompt."""
    spans = (StageSpan("model", 0, 2, {"completion_tokens": 40, "prompt_tokens": 100, "cached_tokens": 80}),)
    traces = [a_trace(timestamp=(NOON + timedelta(minutes=30 * n)).isoformat(), stages=spans) for n in range(3)]

    assert throughput_stats(traces).splitlines() == [
        "Throughput: 3 turns",
        "  over 1.0 hours, 3.0 turns an hour",
        "  120 tokens written, 20.0 a second of model time",
        "  300 prompt tokens, 80% of them cached",
    ]


def test_providers_are_counted_by_how_they_fared() -> None:
    """Success is what came in time without an error; a search of what was not loaded yet is none."""
    statuses = ["ok", "ok", "timeout", "asleep"]
    traces = [
        a_trace(
            stages=(
                StageSpan("assemble", 0, 1, {"provider_outcomes": [{"id": "search", "status": s, "duration_s": 1}]}),
            )
        )
        for s in statuses
    ]

    head, *_, row = [line.split() for line in provider_success_rates(traces).splitlines()[1:]]
    assert head[:7] == ["provider", "count", "ok", "error", "timeout", "asleep", "success"]
    assert row[:7] == ["search", "4", "2", "0", "1", "1", "50%"]


def test_turns_are_compared_by_the_value_of_a_tag() -> None:
    """Those without the tag stand in a group of their own."""
    traces = [a_trace(tags={"order": "classic"}), a_trace(tags={"order": "stable_first"}), a_trace()]

    names = [line.split()[0] for line in tag_comparison(traces, "order").splitlines()[2:]]

    assert names == ["(none)", "classic", "stable_first"]


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 100))
def test_a_percentile_lies_among_the_values(values: list[float], rank: float) -> None:
    """Never below the least, never above the greatest, but for rounding."""
    found = percentile(values, rank)

    assert min(values) - 1e-6 <= found <= max(values) + 1e-6
