"""memory review: what waits for the owner, one by one or by flags."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from familiar_connect.commands.common import familiar_option, json_option, say, say_json
from familiar_connect.commands.memory.session import MemorySession, open_session
from familiar_connect.commands.memory.versions import say_changes
from familiar_connect.errors import FamiliarError
from familiar_connect.memory.maintenance.review import PendingItem, Review, proposal_roster

EPILOG = """\b
Examples:
  familiar memory review                        go through everything that is waiting
  familiar memory review --list
  familiar memory review --approve ID           all its files, or only --file FILE
  familiar memory review --reject ID --reason "not true"
  familiar memory review --approve-all
Exit codes: 0 done, 1 something could not be applied and is still waiting.
"""
QUESTION = "[a]pprove  [e]dit  [r]eject  [s]kip  [A]ll of this proposal  [q]uit"

Ask = Callable[[str], str]
Edit = Callable[[str], str | None]


@click.command(epilog=EPILOG)
@click.option("--list", "list_all", is_flag=True, help="Only list what is waiting.")
@click.option("--show", "shown", metavar="ID", help="Show one: its files and what would change.")
@click.option("--approve", metavar="ID", help="Approve one.")
@click.option("--reject", metavar="ID", help="Reject one.")
@click.option("--approve-all", is_flag=True, help="Approve every proposal.")
@click.option("--file", "files", multiple=True, metavar="FILE", help="Only this file of it; may be repeated.")
@click.option("--reason", default="", help="Why it is rejected; kept on record.")
@familiar_option
@json_option
@click.pass_context
def review(
    ctx: click.Context,
    list_all: bool,
    shown: str | None,
    approve: str | None,
    reject: str | None,
    approve_all: bool,
    files: tuple[str, ...],
    reason: str,
    familiar_id: str | None,
    as_json: bool,
) -> int:
    """Approve, edit or reject proposed changes. In a pipe it only lists."""
    with open_session(ctx, familiar_id) as memory:
        memory.notice_hand_edits()
        waiting = Review(memory.store)
        if approve:
            return _report_results([_approve(memory, waiting, waiting.show(approve), files)], as_json)
        if reject:
            waiting.reject(reject, reason, files=files or None)
            if as_json:
                say_json({"rejected": reject})
            else:
                say(f"{reject} is rejected")
            return 0
        if approve_all:
            chosen = [pending for pending in waiting.list() if pending.kind == "proposal"]
            return _report_results([_approve(memory, waiting, pending, ()) for pending in chosen], as_json)
        if shown:
            _show(waiting, waiting.show(shown), as_json)
        elif list_all or as_json or not sys.stdin.isatty():
            _list(waiting, as_json)
        else:
            return review_one_by_one(memory, waiting, ask=_ask, edit=lambda text: click.edit(text, extension=".md"))
    return 0


def review_one_by_one(memory: MemorySession, waiting: Review, *, ask: Ask, edit: Edit) -> int:
    """Every file of every proposal, with a question each; what the owner does not decide goes on waiting."""
    todo = waiting.list()
    say(f"{len(todo)} wait." if todo else "Nothing to review.")
    troubles = 0
    for pending in todo:
        say(_line(pending), bold=True)
        for path in pending.files:
            answer = _decide(memory, waiting, pending, path, ask, edit)
            if answer == "q":
                return 1 if troubles else 0
            if answer == "A":
                left = tuple(file for file in waiting.show(pending.id).files)
                troubles += _report_results([_approve(memory, waiting, pending, left)], False)
                break
            if answer == "a":
                troubles += _report_results([_approve(memory, waiting, pending, (path,))], False)
        if pending.kind != "proposal" and ask(f"{pending.reason}\n[r]eject  [s]kip") == "r":
            waiting.reject(pending.id)
            say("rejected")
    return 1 if troubles else 0


def _decide(memory: MemorySession, waiting: Review, pending: PendingItem, path: str, ask: Ask, edit: Edit) -> str:
    """Ask until the owner has decided about one file; rejecting and editing are done here."""
    assert pending.plan is not None
    text = next(write.content for write in pending.plan.writes if write.rel_path == path)
    while True:
        say_changes(waiting.diff(pending.id, path))
        answer = ask(f"{path}: {QUESTION}")
        if answer == "e":
            changed = edit(text)
            if changed is not None and changed != text:
                waiting.edit(pending.id, path, changed)
                text = changed
        elif answer == "r":
            waiting.reject(pending.id, files=(path,))
            say(f"{path} stays as it is")
            return answer
        elif answer in ("a", "A", "s", "q"):
            return answer


def _ask(question: str) -> str:
    answer: str = click.prompt(question, prompt_suffix=" > ", default="s", show_default=False)
    return answer.strip()[:1] or "s"


def _approve(memory: MemorySession, waiting: Review, pending: PendingItem, files: tuple[str, ...]) -> dict[str, object]:
    """One proposal carried out, as facts; what is wrong with one does not stop the others."""
    try:
        applied = waiting.approve(
            pending.id, files or None, roster=proposal_roster(pending, memory.history, memory.familiar_id)
        )
    except FamiliarError as error:
        return {"id": pending.id, "written": [], "unchanged": [], "conflicts": [{"file": None, "reason": str(error)}]}
    return {
        "id": pending.id,
        "written": list(applied.written),
        "unchanged": list(applied.unchanged),
        "conflicts": [{"file": edit.name, "reason": edit.reason} for edit in applied.conflicts],
    }


def _report_results(results: list[dict[str, Any]], as_json: bool) -> int:
    if as_json:
        say_json(results)
    for result in () if as_json else results:
        for path in result["written"]:
            say(f"written    {path}")
        for path in result["unchanged"]:
            say(f"unchanged  {path}")
        for conflict in result["conflicts"]:
            say(f"waits      {conflict['file'] or result['id']}: {conflict['reason']}")
    if not results and not as_json:
        say("Nothing to review.")
    return 1 if any(result["conflicts"] for result in results) else 0


def _list(waiting: Review, as_json: bool) -> None:
    found = waiting.list()
    if as_json:
        say_json([_facts(pending) for pending in found])
        return
    for pending in found:
        say(_line(pending))
        for path in pending.files:
            say(f"    {path}")
    if not found:
        say("Nothing to review.")


def _show(waiting: Review, pending: PendingItem, as_json: bool) -> None:
    diffs = {path: waiting.diff(pending.id, path) for path in pending.files}
    if as_json:
        say_json({**_facts(pending), "diffs": diffs})
        return
    say(_line(pending))
    for changes in diffs.values():
        say_changes(changes)


def _line(pending: PendingItem) -> str:
    first, last = pending.turn_range
    turns = f", turns {first}–{last}" if last else ""
    told = {"proposal": f"{len(pending.files)} files by {pending.source}{turns}"}
    says = told.get(pending.kind) or f"{pending.kind}{turns}: {pending.reason}"
    return f"{pending.id}  {pending.created_at[:16]}  {says}"


def _facts(pending: PendingItem) -> dict[str, object]:
    return {
        "id": pending.id,
        "kind": pending.kind,
        "created_at": pending.created_at,
        "source": pending.source,
        "turns": pending.turn_range,
        "files": pending.files,
        "reason": pending.reason,
    }
