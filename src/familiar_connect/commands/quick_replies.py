"""import quick-replies: SillyTavern's sets of quick replies, for `/qr` and for buttons on the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import familiar_option, json_option, root_of, say, say_json
from familiar_connect.config.folders import FamiliarFolder

if TYPE_CHECKING:
    from familiar_connect.presets.scripts.quick_replies import QuickReplySet

EPILOG = """\b
Examples:
  familiar import quick-replies "QuickReplies/Evening.json"
In the chat `/qr` lists them, and `/qr NAME` uses one; the page shows them as buttons.
A set of the same name is replaced. To take one out, delete its file from the familiar's folder `quick-replies`.
"""


@click.command(name="quick-replies", epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@familiar_option
@json_option
@click.pass_context
def import_quick_replies(ctx: click.Context, files: tuple[Path, ...], familiar_id: str | None, as_json: bool) -> None:
    """Import sets of quick replies from SillyTavern."""
    from familiar_connect.presets.scripts.quick_replies import QuickReplyStore, read_set_file

    root = root_of(ctx, familiar_id)
    store = QuickReplyStore(FamiliarFolder(root).quick_replies)
    contents = [(path, read_set_file(path)) for path in files]
    found = [store.add(content, path.stem) for path, content in contents]
    if as_json:
        say_json({"sets": [facts_of_set(each) for each in found]})
        return
    for each in found:
        for sentence in describe_set(each):
            say(sentence)


def facts_of_set(found: QuickReplySet) -> dict[str, object]:
    refused = {each.label: why for each in found.replies if (why := each.why_not_run())}
    return {
        "set": found.name,
        "replies": [each.label for each in found.replies],
        "cannot_run": refused,
        "begin_by_themselves": found.begins_by_itself,
    }


def describe_set(found: QuickReplySet) -> list[str]:
    """What is in a set, and what of it has no effect here."""
    refused = [(each.label, why) for each in found.replies if (why := each.why_not_run())]
    told = [f"Imported {found.name}: {_count(len(found.replies))}."]
    told += [f"{label} cannot be run here: {why}." for label, why in refused]
    if found.begins_by_itself:
        told.append(f"{_count(found.begins_by_itself)} that SillyTavern runs by itself: here only when you use it.")
    return told


def _count(count: int) -> str:
    return f"{count:,} quick {'reply' if count == 1 else 'replies'}"
