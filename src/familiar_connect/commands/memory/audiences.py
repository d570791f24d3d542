"""memory audiences: whom each memory file may be told to, for files that do not say so yet."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from familiar_connect.commands.common import familiar_option, json_option, say, say_json
from familiar_connect.commands.memory.session import open_session
from familiar_connect.config.built_in import EXAMPLE_PLATFORM
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.maintenance.audience_proposals import (
    AudienceProposal,
    accept_audiences,
    back_up_memory,
    propose_audiences,
)

EPILOG = f"""\b
Examples:
  familiar memory audiences                     what is proposed for each file, and why
  familiar memory audiences --accept            every file whose sources were all said to one audience
  familiar memory audiences --accept people/{EXAMPLE_PLATFORM}-7.md
The first lines of a file say who may hear it (audience: owner, everyone, server:{EXAMPLE_PLATFORM}:2001,
people:{EXAMPLE_PLATFORM}:7). To publish a line, move it into the open file of the same person or topic.
"""


@click.command(epilog=EPILOG)
@click.option(
    "--accept", is_flag=True, help="Write the proposed audience into FILES; without FILES, into the clear ones."
)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@familiar_option
@json_option
@click.pass_context
def audiences(ctx: click.Context, accept: bool, files: tuple[str, ...], familiar_id: str | None, as_json: bool) -> None:
    """Propose who may hear each memory file that does not say so, and why; or accept the proposal.

    Until you accept, each part of such a file goes only where its sources may go. A copy of memory is made first.
    """
    with open_session(ctx, familiar_id) as memory:
        memory.notice_hand_edits()
        proposals = _chosen(propose_audiences(memory.audiences), [memory.find_file(words) for words in files])
        copy = None
        changed: list[str] = []
        if accept:
            taken = [each for each in proposals if each.is_clear or files]
            if taken:
                folder = FamiliarFolder(memory.root)
                copy = back_up_memory(folder.memory, folder.backups, now=datetime.now(UTC))
                changed = accept_audiences(memory.audiences, taken)
    left = [each for each in proposals if each.rel_path not in changed]
    if as_json:
        say_json({"proposals": [_facts(each) for each in left], "accepted": changed, "backup": copy and str(copy)})
        return
    for each in left:
        say(f"{each.rel_path}\n  {each.audience}: {each.why}")
    if changed:
        say(f"{len(changed)} files now say who may hear them. A copy of memory as it was: {copy}")
    if not proposals:
        say("Every file already has an audience.")
    elif left and not accept:
        say(f"{len(left)} files do not say who may hear them: `familiar memory audiences --accept`")
    elif left:
        say(f"{len(left)} mix what several audiences were told: name the ones you want to narrow")


def _chosen(proposals: list[AudienceProposal], files: list[str]) -> list[AudienceProposal]:
    """All, or those of *files*; a file that needs none is an error."""
    known = {each.rel_path: each for each in proposals}
    for path in files:
        if path not in known:
            raise MemoryStoreError(f"{path} already has an audience: edit its first lines to change who may hear it")
    return [known[path] for path in files] or proposals


def _facts(proposal: AudienceProposal) -> dict[str, str | bool]:
    return {
        "file": proposal.rel_path,
        "audience": str(proposal.audience),
        "why": proposal.why,
        "clear": proposal.is_clear,
    }
