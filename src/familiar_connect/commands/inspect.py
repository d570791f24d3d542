"""inspect: what the model was shown, where each block came from, what it cost and what was cut."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import (
    MOST_TURNS,
    familiar_option,
    json_option,
    read_refusals_today,
    root_of,
    say,
    say_in_pages,
    say_json,
)
from familiar_connect.commands.turn_choice import TurnCommand, find_turn, read_turn_word
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import HomeError
from familiar_connect.support.word_wrap import columns_of

if TYPE_CHECKING:
    from familiar_connect.observe.replay_files import RecordSummary
    from familiar_connect.observe.replay_store import ReplayRecord
    from familiar_connect.observe.trace import TurnTrace

EPILOG = """\b
Examples:
  familiar inspect                 the last turn: blocks, times, the prompt itself
  familiar inspect --list          the latest turns, newest first
  familiar inspect -2              the turn before the last one
  familiar inspect 6aecd --json    the turn whose id starts or ends with 6aecd, as JSON
A terminal shows it in pages and ends with a summary; in a pipe it is one text.
"""


@click.command(epilog=EPILOG, cls=TurnCommand)
@click.argument("turn", required=False)
@familiar_option
@click.option("--list", "list_turns", is_flag=True, help="List the latest turns instead.")
@click.option(
    "--last", default=20, show_default=True, type=click.IntRange(1, MOST_TURNS), help="How many turns --list shows."
)
@json_option
@click.pass_context
def inspect(
    ctx: click.Context, turn: str | None, familiar_id: str | None, list_turns: bool, last: int, as_json: bool
) -> None:
    """Show a turn: each block of its prompt, where it came from, what it cost, what was cut and why."""
    from familiar_connect.observe.inspector import explain_turn, turn_as_json, turn_facts
    from familiar_connect.observe.ledger import SQLiteCollector
    from familiar_connect.observe.spending_report import refusal_facts, refusals_text

    root = root_of(ctx, familiar_id)
    width = columns_of(sys.stdout)
    collector = SQLiteCollector(_metrics(root))
    if list_turns:
        traces = collector.recent_traces(familiar_id=root.name, limit=last)
        if as_json:
            say_json([turn_facts(trace) for trace in traces])
        else:
            from familiar_connect.observe.turn_table import turn_table

            not_answered = refusals_text(read_refusals_today(root), width)
            say("\n\n".join(text for text in (turn_table(traces, width), not_answered) if text))
        return
    turn_id = find_turn(collector, root.name, turn)
    trace = collector.trace(turn_id) if turn_id else None
    today = read_refusals_today(root)
    if trace is None and not turn and not as_json and (not_answered := refusals_text(today, width)):
        say(not_answered)
        return
    if trace is None:
        raise HomeError(explain_missing_turn(root, read_turn_word(turn)))
    record, page = _kept_of(FamiliarFolder(root), trace, whole=as_json)
    if as_json:
        say_json({**turn_as_json(trace, record, page), "not_answered_today": refusal_facts(today)})
    else:
        text = explain_turn(trace, record, page, width=width)
        not_answered = "" if turn else refusals_text(today, width)
        say_in_pages(f"{not_answered}\n\n{text}" if not_answered else text)


def _kept_of(
    folder: FamiliarFolder, trace: TurnTrace, *, whole: bool
) -> tuple[ReplayRecord | RecordSummary | None, bytes | None]:
    """What was kept of a turn, and its prompt; only what is shown of it where trace and page on disk tell the rest."""
    from familiar_connect.observe.last_context import LastContextCache, is_of_turn

    latest = LastContextCache(channels_root=folder.channels).get(channel_id=trace.channel_id)
    if not whole and latest is not None and is_of_turn(latest, trace.trace_id) and trace.fact("tokens_by_block"):
        from familiar_connect.observe.replay_files import read_summary

        return read_summary(folder.traces, trace.trace_id), latest
    from familiar_connect.observe.replay_store import ReplayStore
    from familiar_connect.reply.prompt_replay import prompt_page

    record = ReplayStore(folder.traces).find(trace.trace_id)
    return record, prompt_page(trace.trace_id, latest, record)


def explain_missing_turn(root: Path, turn: str | None) -> str:
    """Why there is no such turn to show."""
    if turn:
        return f"{root.name} has no turn {turn!r}: `familiar inspect --list` shows the latest"
    return (
        f"{FamiliarFolder(root).metrics_db} holds no turn yet: talk first with `familiar chat --familiar {root.name}`"
    )


def _metrics(root: Path) -> Path:
    path = FamiliarFolder(root).metrics_db
    if not path.exists():
        raise HomeError(f"there is no turn yet ({path}): talk first with `familiar chat --familiar {root.name}`")
    return path
