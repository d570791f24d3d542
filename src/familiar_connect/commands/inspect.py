"""inspect: what the model was last shown, where each block came from, what it cost and what was cut."""

from __future__ import annotations

import json
from pathlib import Path

import click

from familiar_connect.commands.common import familiar_option, json_option, root_of
from familiar_connect.errors import HomeError

EPILOG = """\b
Examples:
  familiar inspect                 the last turn: blocks, times, the prompt itself
  familiar inspect --list          the latest turns, newest first
  familiar inspect TURN --json     one turn as JSON
"""


@click.command(epilog=EPILOG)
@click.argument("turn", required=False)
@familiar_option
@click.option("--list", "list_turns", is_flag=True, help="List the latest turns instead.")
@click.option("--last", default=20, show_default=True, help="How many turns --list shows.")
@json_option
@click.pass_context
def inspect(
    ctx: click.Context, turn: str | None, familiar_id: str | None, list_turns: bool, last: int, as_json: bool
) -> None:
    """Show a turn: each block of its prompt, where it came from, what it cost, what was cut and why."""
    from familiar_connect.observe.inspector import explain_turn, turn_as_json, turn_facts, turn_line
    from familiar_connect.observe.last_context import LastContextCache
    from familiar_connect.observe.ledger import SQLiteCollector
    from familiar_connect.observe.replay import ReplayStore

    root = root_of(ctx, familiar_id)
    collector = SQLiteCollector(_metrics(root))
    if list_turns:
        traces = collector.recent_traces(familiar_id=root.name, limit=max(1, last))
        lines = [turn_line(trace) for trace in traces]
        click.echo(json.dumps([turn_facts(t) for t in traces], indent=2) if as_json else "\n".join(lines))
        return
    newest = collector.last_trace(root.name)
    trace = collector.trace(turn) if turn else newest
    if trace is None:
        raise HomeError(f"{root.name} has no turn {turn!r}: `familiar inspect --list` shows the latest")
    is_newest = newest is not None and newest.trace_id == trace.trace_id
    page = LastContextCache(channels_root=root / "channels").get(channel_id=trace.channel_id) if is_newest else None
    record = ReplayStore(root / "traces").find(trace.trace_id)
    if as_json:
        click.echo(json.dumps(turn_as_json(trace, record, page), ensure_ascii=False, indent=2))
    else:
        click.echo(explain_turn(trace, record, page))


def _metrics(root: Path) -> Path:
    path = root / "metrics.db"
    if not path.exists():
        raise HomeError(f"{path} is not there yet: talk first with `familiar chat --familiar {root.name}`")
    return path
