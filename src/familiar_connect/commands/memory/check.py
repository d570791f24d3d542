"""memory check: what a careful owner would notice, and edits they may want."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from familiar_connect.commands.common import familiar_option, json_option, say, say_json
from familiar_connect.commands.memory.session import open_session

EPILOG = """\b
Examples:
  familiar memory check
  familiar memory check --propose         put the suggested edits before you: familiar memory review
Exit codes: 0 nothing found, or only things to think about; 1 something is broken.
"""
BROKEN = ("unreadable", "broken link", "large file")


@click.command(epilog=EPILOG)
@click.option("--propose", is_flag=True, help="Let the suggested edits wait in review.")
@familiar_option
@json_option
@click.pass_context
def check(ctx: click.Context, propose: bool, familiar_id: str | None, as_json: bool) -> int:
    """Look for broken links, contradictions, stale plans, duplicates, shared names, notes to promote and large files.

    Nothing is changed: suggested edits wait in review until you approve them.
    """
    from familiar_connect.memory.maintenance.housekeeping import examine_memory, proposal
    from familiar_connect.memory.maintenance.review import Review

    with open_session(ctx, familiar_id) as memory:
        now = datetime.now(UTC)
        memory.notice_hand_edits()
        findings = examine_memory(memory.store, now=now)
        plan = proposal(findings, familiar_id=memory.familiar_id, now=now)
        waiting = Review(memory.store)
        run_id = waiting.propose(plan) if plan is not None and propose else None
        pending = waiting.list()
    if as_json:
        rows = [{"kind": f.kind, "files": f.files, "says": f.says, "suggests": bool(f.edits)} for f in findings]
        say_json({"findings": rows, "proposal": run_id, "pending": len(pending)})
    else:
        for finding in findings:
            say(f"{finding.kind:<16} {finding.says}")
        suggested = sum(bool(finding.edits) for finding in findings)
        say(f"{len(findings)} findings" if findings else "All is well.")
        if run_id:
            say(f"Suggested edits wait as {run_id}: `familiar memory review`")
        elif suggested:
            say(f"{suggested} come with a suggested edit: `familiar memory check --propose`")
        if pending:
            say(f"{len(pending)} proposals and batches wait: `familiar memory review`")
    return 1 if any(finding.kind in BROKEN for finding in findings) else 0
