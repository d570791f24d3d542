"""import list, import undo: the chats that were imported, and how one is taken back out."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import click

from familiar_connect.commands.common import familiar_option, json_option, progress_bar, root_of, say, say_json
from familiar_connect.commands.conversation import TERMINAL_PLACE
from familiar_connect.commands.import_chat import index_words
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.support.text import list_some

LIST_EPILOG = """\b
Examples:
  familiar import list
  familiar import list --json
"""
BAR = "Correcting memory"
UNDO_EPILOG = """\b
Examples:
  familiar import undo 3     the number that `familiar import list` gives it
What was said in the chat since then stays. Memory files are corrected; `familiar memory log` has their earlier text.
"""


@click.command(name="list", epilog=LIST_EPILOG)
@familiar_option
@json_option
@click.pass_context
def import_list(ctx: click.Context, familiar_id: str | None, as_json: bool) -> None:
    """List the imported chats."""
    from familiar_connect.bootstrap.chat_files.chat_imports import ChatImports

    records = ChatImports(FamiliarFolder(root_of(ctx, familiar_id))).all()
    if as_json:
        say_json([_record_facts(each) for each in records])
    elif not records:
        say("No chat has been imported yet: `familiar import chat FILE`.")
    for each in () if as_json else records:
        state = "" if each.is_complete else "  not finished: import the file again"
        say(f"{each.number:>3}  {each.chat}  {each.messages:>7,} messages  {each.imported_at[:10]}  {each.file}{state}")


def _record_facts(record: Any) -> dict[str, object]:
    names = ("number", "chat", "channel_id", "file", "form", "messages", "imported_at", "is_complete")
    return {name: getattr(record, name) for name in names}


@click.command(name="undo", epilog=UNDO_EPILOG)
@click.argument("number", type=click.IntRange(min=1), metavar="ID")
@familiar_option
@json_option
@click.pass_context
def import_undo(ctx: click.Context, number: int, familiar_id: str | None, as_json: bool) -> None:
    """Remove an imported chat, and correct the memory made from it."""
    from familiar_connect.bootstrap.chat_files.chat_imports import undo_import
    from familiar_connect.history.store import HistoryStore
    from familiar_connect.memory.store import MemoryStore

    folder = FamiliarFolder(root_of(ctx, familiar_id))
    store = MemoryStore(folder.memory, audit_dir=folder.audit)
    try:
        with closing(HistoryStore(folder.history_db)) as history, progress_bar(BAR, quiet=as_json) as progress:
            done = undo_import(folder, number, place_id=TERMINAL_PLACE, history=history, store=store, progress=progress)
    finally:
        if store.audit is not None:
            store.audit.close()
    if done.turns:
        index_words(ctx, familiar_id, quiet=as_json)
    if as_json:
        facts = {"import": number, "chat": done.record.chat, "turns": done.turns, "files": list(done.files)}
        say_json({**facts, "stays": done.stays})
        return
    say(f"Removed {done.turns:,} messages of {done.record.file}.")
    if done.files:
        say(f"Corrected {len(done.files):,} memory files: {list_some(done.files, 10)}")
    if done.stays:
        say(f"{done.stays:,} messages said in {done.record.chat!r} since then stay.")
