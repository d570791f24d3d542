"""Reports over past turns: percentiles, throughput, providers, comparisons, as aligned text.

Every function takes traces and returns something to read, also when there is nothing to report; its tables fit a window
of *width* columns.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from familiar_connect.observe.trace import TurnTrace, finite_number, only_mappings
from familiar_connect.support.text import pluralize
from familiar_connect.support.text_table import text_table
from familiar_connect.support.word_wrap import ENDLESS

NOTHING = "No turns recorded yet."
WITHOUT_TAG = "(none)"

TIME_COLUMNS = ("count", "p50", "p95", "max")
PROVIDER_STATUSES = ("ok", "error", "timeout", "asleep")
"""`asleep`: what it searches was not loaded yet, so that it found nothing there."""
PROVIDER_COLUMNS = ("count", *PROVIDER_STATUSES, "success", "p50", "p95")


def summary_stats(traces: Sequence[TurnTrace], width: int = ENDLESS) -> str:
    """How many turns, and how long they took."""
    if not traces:
        return f"Summary (count 0, p50 -, p95 -)\n{NOTHING}"
    shares = _numbers(trace.fact("prefix_ratio") for trace in traces)
    text = "Summary\n" + text_table(["", *TIME_COLUMNS], summary_rows(traces), width)
    return text + (f"\nshared prefix, median: {percentile(shares, 50):.0%}" if shares else "")


def summary_rows(traces: Sequence[TurnTrace]) -> list[list[str]]:
    """What took how long: the whole turn and, where it is known, the first token; as `TIME_COLUMNS` say."""
    if not traces:
        return []
    firsts = _numbers(_fact(trace, "model", "first_token_s") for trace in traces)
    rows = [["whole turn", *_times([trace.total_duration_s for trace in traces])]]
    return [*rows, ["first token", *_times(firsts)]] if firsts else rows


def stage_rows(traces: Sequence[TurnTrace]) -> list[list[str]]:
    """Each stage with how long it took, in the order stages first appear."""
    by_stage: dict[str, list[float]] = defaultdict(list)
    for trace in traces:
        for span in trace.stages:
            by_stage[span.name].append(span.duration_s)
    return [[name, *_times(found)] for name, found in by_stage.items()]


def provider_rows(traces: Sequence[TurnTrace]) -> list[list[str]]:
    """Each provider with how it fared, as `PROVIDER_COLUMNS` say."""
    outcomes: dict[str, list[Mapping[str, object]]] = defaultdict(list)
    for trace in traces:
        for span in trace.stages:
            for outcome in only_mappings(span.metadata.get("provider_outcomes")):
                outcomes[str(outcome.get("id", "?"))].append(outcome)
    return [[name, *_fared(found)] for name, found in sorted(outcomes.items())]


def stage_breakdown(traces: Sequence[TurnTrace], width: int = ENDLESS) -> str:
    """How long each stage took, in the order stages first appear."""
    rows = stage_rows(traces)
    return "Stages\n" + text_table(["stage", *TIME_COLUMNS], rows, width) if rows else f"Stages\n{NOTHING}"


def throughput_stats(traces: Sequence[TurnTrace]) -> str:
    """Turns over time, and tokens over the time the model took."""
    if not traces:
        return f"Throughput: 0 turns\n{NOTHING}"
    moments = sorted(_seconds(trace.timestamp) for trace in traces)
    span_s = moments[-1] - moments[0]
    lines = [f"Throughput: {pluralize(len(traces), 'turn')}"]
    if span_s > 0:
        lines.append(f"  over {_period(span_s)}, {len(traces) / span_s * 3600:.1f} turns an hour")
    spans = [span for trace in traces if (span := trace.stage("model")) is not None]
    written = sum(_numbers(span.metadata.get("completion_tokens") for span in spans))
    read = sum(_numbers(span.metadata.get("prompt_tokens") for span in spans))
    cached = sum(_numbers(span.metadata.get("cached_tokens") for span in spans))
    model_s = sum(span.duration_s for span in spans)
    if written and model_s > 0:
        lines.append(f"  {written:.0f} tokens written, {written / model_s:.1f} a second of model time")
    if read:
        lines.append(f"  {read:.0f} prompt tokens, {cached / read:.0%} of them cached")
    return "\n".join(lines)


def provider_success_rates(traces: Sequence[TurnTrace], width: int = ENDLESS) -> str:
    """How often each provider answered in time, and how long it took."""
    rows = provider_rows(traces)
    if not rows:
        return "Providers\nNo provider outcomes recorded."
    return "Providers\n" + text_table(["provider", *PROVIDER_COLUMNS], rows, width)


def tag_comparison(traces: Sequence[TurnTrace], tag_key: str, width: int = ENDLESS) -> str:
    """Turns side by side, grouped by the value of one tag."""
    groups: dict[str, list[float]] = defaultdict(list)
    for trace in traces:
        groups[str(trace.tags.get(tag_key, WITHOUT_TAG))].append(trace.total_duration_s)
    if not groups:
        return f"By {tag_key}\n{NOTHING}"
    rows = [[value, *_times(totals)] for value, totals in sorted(groups.items())]
    return f"By {tag_key}\n" + text_table([tag_key, *TIME_COLUMNS], rows, width)


def percentile(values: Sequence[float], rank: float) -> float:
    """The value below which *rank* percent lie, between neighbours where it falls between them."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * rank / 100
    low, high = math.floor(place), math.ceil(place)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def seconds(value: float) -> str:
    """A duration as people read it."""
    return f"{value * 1000:.1f} ms" if abs(value) < 1 else f"{value:.2f} s"


def _times(values: Sequence[float]) -> list[str]:
    p50, p95 = percentile(values, 50), percentile(values, 95)
    return [str(len(values)), seconds(p50), seconds(p95), seconds(max(values))]


def _fared(outcomes: Sequence[Mapping[str, object]]) -> list[str]:
    statuses = [outcome.get("status") for outcome in outcomes]
    took = _numbers(outcome.get("duration_s") for outcome in outcomes) or [0.0]
    counts = [str(statuses.count(status)) for status in PROVIDER_STATUSES]
    success = f"{statuses.count('ok') / len(outcomes):.0%}"
    return [str(len(outcomes)), *counts, success, seconds(percentile(took, 50)), seconds(percentile(took, 95))]


def _fact(trace: TurnTrace, stage: str, key: str) -> object:
    span = trace.stage(stage)
    return span.metadata.get(key) if span else None


def _numbers(values: Iterable[object]) -> list[float]:
    """Those of *values* that are numbers, written as text or not."""
    return [found for value in values if (found := finite_number(value)) is not None]


def _seconds(timestamp: str) -> float:
    try:
        when = datetime.fromisoformat(timestamp)
    except ValueError:
        return 0.0
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _period(span_s: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if span_s >= length:
            return f"{span_s / length:.1f} {unit}"
    return f"{span_s:.1f} seconds"
