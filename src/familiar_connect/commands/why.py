"""why: what became of something that a reply should have known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from familiar_connect.commands import exit_codes
from familiar_connect.commands.common import familiar_option, json_option, say, say_below, say_json
from familiar_connect.commands.turn_choice import find_turn
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import HomeError

if TYPE_CHECKING:  # a verb loads no more than it needs
    from pathlib import Path

    from familiar_connect.reply.inspection.recall_check import PastTurn
    from familiar_connect.reply.inspection.recall_evidence import RecallExplanation

MARKS = {"yes": "yes", "no": "NO ", "skipped": " – "}
EPILOG = """\b
Examples:
  familiar why "the spare key"                   for the last turn
  familiar why "the spare key" --turn 6aecd      for another one: `familiar inspect --list` shows them
Write a few words of what it should have known. The first line is the answer; the first NO shows why.
Exit codes: 0 it was shown to the model, 1 it was not.
"""


@click.command(epilog=EPILOG)
@click.argument("words", nargs=-1, required=True)
@familiar_option
@click.option("--turn", metavar="TURN", help="The turn it was missed in: its id, or the start or end of it.")
@json_option
@click.pass_context
def why(ctx: click.Context, words: tuple[str, ...], familiar_id: str | None, turn: str | None, as_json: bool) -> int:
    """Find out why a reply did not know something: never said, not written, not found, not allowed there, or cut."""
    from familiar_connect.commands.memory.search import config_of, open_index, sync_index
    from familiar_connect.reply.inspection.recall_check import RecallCheck

    with open_index(ctx, familiar_id) as index:
        past = _past_turn(index.memory.root, turn)
        sync_index(index, quiet=True)
        index.retriever.warm()
        config = config_of(index.memory.root)
        check = RecallCheck(
            familiar_id=index.memory.familiar_id,
            history=index.memory.history,
            audiences=index.memory.audiences,
            retriever=index.retriever,
            searches_files=config.search_files,
            searches_turns=config.search_turns,
        )
        found = check.explain(" ".join(words), past)
    if as_json:
        say_json(_facts(found, past))
    else:
        _show(found)
    is_shown = found.steps[-1].outcome.value == "yes"
    return exit_codes.OK if is_shown else exit_codes.FAILED


def _past_turn(root: Path, word: str | None) -> PastTurn | None:
    """The turn that is meant; None where nothing was ever answered and none was named."""
    from familiar_connect.observe.ledger import SQLiteCollector
    from familiar_connect.observe.replay_store import ReplayStore
    from familiar_connect.reply.inspection.recall_check import PastTurn

    folder = FamiliarFolder(root)
    collector = SQLiteCollector(folder.metrics_db)
    turn_id = find_turn(collector, root.name, word) if folder.metrics_db.exists() else None
    trace = collector.trace(turn_id) if turn_id is not None else None
    if trace is None:
        if word is not None:
            raise HomeError(f"{root.name} has no turn {word!r}: `familiar inspect --list` shows the latest")
        return None
    return PastTurn(trace=trace, record=ReplayStore(folder.traces).find(trace.trace_id))


def _show(found: RecallExplanation) -> None:
    from familiar_connect.reply.inspection.recall_check import STRONGER_MODEL

    say(f"{found.sentence}\n")
    width = max(len(step.name) for step in found.steps)
    for step in found.steps:
        say_below(f"{MARKS[step.outcome.value]}  {step.name:<{width}}  ", step.evidence)
    if found.answer.fix:
        more = " `familiar model list` shows them." if found.answer.leads_to == STRONGER_MODEL else ""
        say(f"\n{found.answer.fix}{more}")


def _facts(found: RecallExplanation, past: PastTurn | None) -> dict[str, object]:
    return {
        "wanted": found.wanted,
        "turn": past.trace.trace_id if past is not None else None,
        "answer": found.answer.name,
        "sentence": found.sentence,
        "steps": [
            {"name": step.name, "outcome": step.outcome.value, "evidence": step.evidence, "fix": step.fix or None}
            for step in found.steps
        ],
    }
