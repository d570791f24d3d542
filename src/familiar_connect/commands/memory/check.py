"""memory check: what a careful owner would notice, and edits they may want."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import familiar_option, home_of, json_option, profile_of, root_of, say, say_json
from familiar_connect.commands.exit_codes import asking_a_model
from familiar_connect.commands.memory.session import open_session

if TYPE_CHECKING:
    from familiar_connect.memory.maintenance.beliefs import DoubtfulLine

EPILOG = """\b
Examples:
  familiar memory check
  familiar memory check --propose         propose the suggested edits; see familiar memory review
  familiar memory check --ask-model       one call for each of the largest files about people, at most twenty
Exit codes: 0 nothing found, or only things to think about; 1 something is broken.
"""
BROKEN = ("unreadable", "broken link", "large file")


@click.command(epilog=EPILOG)
@click.option("--propose", is_flag=True, help="Propose the suggested edits for review.")
@click.option("--ask-model", is_flag=True, help="Also ask the memory_writer model what is no longer true.")
@familiar_option
@json_option
@click.pass_context
def check(ctx: click.Context, propose: bool, ask_model: bool, familiar_id: str | None, as_json: bool) -> int:
    """Look for broken links, contradictions, stale plans, duplicates, shared names, notes to promote and large files.

    Nothing is changed: suggested edits wait in review until you approve them. Contradictions and stale plans are read
    in English only.
    """
    from familiar_connect.memory.maintenance.housekeeping import examine_memory, proposal
    from familiar_connect.memory.maintenance.review import Review

    with asking_a_model():
        doubts = asyncio.run(_ask_model(root_of(ctx, familiar_id), home_of(ctx))) if ask_model else []
    with open_session(ctx, familiar_id) as memory:
        now = datetime.now(UTC)
        memory.notice_hand_edits()
        findings = examine_memory(memory.store, now=now, doubts=doubts, audiences=memory.audiences)
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
            say(f"Suggested edits are waiting as {run_id}: `familiar memory review`")
        elif suggested:
            say(f"{suggested} come with a suggested edit: `familiar memory check --propose`")
        if pending:
            say(f"{len(pending)} proposals and batches are waiting: `familiar memory review`")
    return 1 if any(finding.kind in BROKEN for finding in findings) else 0


async def _ask_model(root: Path, home: Path) -> list[DoubtfulLine]:
    """What the model that writes memory doubts; nothing, and said so, where it is too small to be asked."""
    from familiar_connect.bot import load_familiar
    from familiar_connect.llm.model_slots import ModelSlots
    from familiar_connect.llm.types import capabilities_of
    from familiar_connect.memory.maintenance.beliefs import ask_for_doubts
    from familiar_connect.memory.note_paths import PEOPLE
    from familiar_connect.memory.visible_memory import VisibleMemory
    from familiar_connect.support.aio import off_loop

    familiar, _ = load_familiar(root, home=home, defaults_path=profile_of(home), wake=False)
    try:
        model = ModelSlots(familiar.llm_clients, familiar.spending).model("memory_writer")
        if not capabilities_of(model).side_tasks:
            say("familiar: the memory_writer model is too small to ask; only the rules were used", err=True)
            return []
        memory = VisibleMemory(familiar.stores.audiences, lambda _: True)  # all but what is told nowhere
        people = [path for path in await off_loop(familiar.memory_store.list_files) if path.startswith(f"{PEOPLE}/")]
        texts = await off_loop(lambda: {path: memory.look(path).text for path in people})
        return await ask_for_doubts(model, texts)
    finally:
        await familiar.aclose()
