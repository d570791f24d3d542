"""metrics: a report over past turns, from `metrics.db`."""

from __future__ import annotations

import sys

import click

from familiar_connect.commands.common import (
    MOST_TURNS,
    familiar_option,
    json_option,
    read_today,
    root_of,
    say,
    say_json,
)
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.limits import LimitsConfig
from familiar_connect.errors import HomeError
from familiar_connect.observe.spending import DayRecord
from familiar_connect.support.word_wrap import columns_of

EPILOG = """\b
Examples:
  familiar metrics                         p50 and p95 of each stage over the last 100 turns
  familiar metrics --stage model --last 500
  familiar metrics --tag mode=full_rp
  familiar metrics --compare model
  familiar metrics --spending              what today cost, against the limits
"""


@click.command(epilog=EPILOG)
@familiar_option
@click.option(
    "--last", default=100, show_default=True, type=click.IntRange(1, MOST_TURNS), help="How many turns to look at."
)
@click.option("--stage", help="Only this stage.")
@click.option("--tag", "tag", metavar="K=V", help="Only turns with this tag.")
@click.option("--compare", metavar="K", help="Compare turns by the values of a tag.")
@click.option("--spending", "only_spending", is_flag=True, help="Only what today cost, against the limits.")
@json_option
@click.pass_context
def metrics(
    ctx: click.Context,
    familiar_id: str | None,
    last: int,
    stage: str | None,
    tag: str | None,
    compare: str | None,
    only_spending: bool,
    as_json: bool,
) -> None:
    """Report how long each stage of past turns took, and what today cost."""
    from familiar_connect.observe import report
    from familiar_connect.observe.inspector import turn_facts
    from familiar_connect.observe.ledger import SQLiteCollector
    from familiar_connect.observe.spending_report import spending_facts

    root = root_of(ctx, familiar_id)
    width = columns_of(sys.stdout)
    path = FamiliarFolder(root).metrics_db
    if not path.exists():
        raise HomeError(f"there is no turn yet ({path}): talk first with `familiar chat --familiar {root.name}`")
    if only_spending:
        record, limits = read_today(root)
        say_json(spending_facts(record, limits)) if as_json else say(_spending(record, limits, width))
        return
    traces = SQLiteCollector(path).recent_traces(familiar_id=root.name, limit=last)
    if tag:
        key, given, value = tag.partition("=")
        if not given:
            raise click.UsageError(f"--tag takes K=V, such as mode=full_rp, not {tag!r}.")
        traces = [trace for trace in traces if trace.tags.get(key) == value]
    if as_json:
        stages = [{span.name: span.duration_s for span in trace.stages} for trace in traces]
        rows = [{**turn_facts(trace), "stages": times} for trace, times in zip(traces, stages, strict=True)]
        say_json(rows)
    elif stage:
        times = [span.duration_s for trace in traces for span in trace.stages if span.name == stage]
        known = sorted({span.name for trace in traces for span in trace.stages})
        if not times:
            raise HomeError(f"no turn has a stage {stage!r}; there are: {', '.join(known) or 'none'}")
        p50, p95 = report.seconds(report.percentile(times, 50)), report.seconds(report.percentile(times, 95))
        say(f"{stage}: {len(times)} times, p50 {p50}, p95 {p95}")
    elif compare:
        say(report.tag_comparison(traces, compare, width))
    else:
        texts = [
            report.summary_stats(traces, width),
            report.stage_breakdown(traces, width),
            report.throughput_stats(traces),
            report.provider_success_rates(traces, width),
            _spending(*read_today(root), width),
        ]
        say("\n\n".join(texts))


def _spending(record: DayRecord, limits: LimitsConfig, width: int) -> str:
    from familiar_connect.observe.spending_report import refusals_text, spending_text

    texts = (spending_text(record, limits, width), refusals_text(record, width))
    return "\n\n".join(text for text in texts if text)
