"""memory: the group of its verbs, each loaded when it is called."""

from __future__ import annotations

import click

from familiar_connect.commands.lazy_group import CommandTable, LazyGroup
from familiar_connect.config.built_in import EXAMPLE_PLATFORM

VERBS: CommandTable = {
    "list": ("memory.browse:list_", "List the memory files."),
    "show": ("memory.browse:show", "Print a file, or an earlier version of it."),
    "grep": ("memory.browse:grep", "Search the files for a pattern."),
    "search": ("memory.search:search", "Find what bears on a question, in the files and in everything said."),
    "reindex": ("memory.search:reindex", "Bring the search index level, or make it anew."),
    "stats": ("memory.search:stats", "Count what memory and its index hold."),
    "log": ("memory.versions:log", "Tell when each file changed, by whom, and how much."),
    "diff": ("memory.versions:diff", "Compare two versions of a file."),
    "blame": ("memory.versions:blame", "Tell for each line which version brought it."),
    "why": ("memory.versions:why", "Show each part of a file with the words it came from."),
    "restore": ("memory.versions:restore", "Put an earlier version of a file back."),
    "review": ("memory.review:review", "Go through what waits: approve, edit or reject."),
    "check": ("memory.check:check", "Look for broken links, duplicates and notes to promote."),
    "audiences": (
        "memory.audiences:audiences",
        "Show whom each file may be told to, and settle those that do not say.",
    ),
    "forget": ("memory.people:forget", "Erase everything kept of one person."),
    "export": ("memory.people:export", "Write everything kept of one person to a zip."),
    "write-now": ("memory.write_now:write_now", "Write up what was said since the last time."),
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
