"""memory: the group of its verbs, each loaded when it is called."""

from __future__ import annotations

import click

from familiar_connect.commands.lazy_group import CommandTable, LazyGroup
from familiar_connect.config.built_in import EXAMPLE_PLATFORM

VERBS: CommandTable = {
    "list": ("memory.browse:list_", "List the memory files."),
    "show": ("memory.browse:show", "Print a file, or an earlier version of it."),
    "grep": ("memory.browse:grep", "Search the files for a pattern."),
    "search": ("memory.search:search", "Search the files, and everything ever said."),
    "reindex": ("memory.search:reindex", "Update the search index, or rebuild it."),
    "stats": ("memory.search:stats", "Show how much memory and its index hold."),
    "log": ("memory.versions:log", "Show when each file changed, who changed it, and how much."),
    "diff": ("memory.versions:diff", "Compare two versions of a file."),
    "blame": ("memory.versions:blame", "Show which version added each line."),
    "why": ("memory.versions:why", "Show the words each part of a file came from."),
    "restore": ("memory.versions:restore", "Restore an earlier version of a file."),
    "review": ("memory.review:review", "Approve, edit or reject proposed changes."),
    "check": ("memory.check:check", "Look for broken links, duplicates and notes to promote."),
    "audiences": (
        "memory.audiences:audiences",
        "Show who may hear each file, and set it where a file does not say.",
    ),
    "forget": ("memory.people:forget", "Erase everything kept about one person."),
    "export": ("memory.people:export", "Export everything kept about one person as a ZIP."),
    "write-now": ("memory.write_now:write_now", "Write what was said since the last time into memory."),
}
EPILOG = f"""\b
Examples:
  familiar memory list
  familiar memory show Alice              FILE may be a path or a person's name
  familiar memory log Alice               when did the belief about Alice change
  familiar memory why people/{EXAMPLE_PLATFORM}-1.md
  familiar memory review
"""


@click.group(cls=LazyGroup, table=VERBS, epilog=EPILOG)
def memory() -> None:
    """Read, search, review, correct, undo and erase what is remembered.

    Memory is plain Markdown: any editor will do, and edits by hand are noticed and kept as versions too.
    """
