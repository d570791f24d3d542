"""memory: the group of its verbs, each loaded when it is called."""

from __future__ import annotations

import difflib
from importlib import import_module

import click

from familiar_connect.commands.common import say

VERBS: dict[str, tuple[str, str]] = {
    "list": ("reading:list_", "List the memory files."),
    "show": ("reading:show", "Print a file, or an earlier version of it."),
    "grep": ("reading:grep", "Search the files for a pattern."),
    "search": ("search:search", "Find what bears on a question, in the files and in everything said."),
    "reindex": ("search:reindex", "Bring the search index level, or make it anew."),
    "stats": ("search:stats", "Count what memory and its index hold."),
    "log": ("versions:log", "Tell when each file changed, by whom, and how much."),
    "diff": ("versions:diff", "Compare two versions of a file."),
    "blame": ("versions:blame", "Tell for each line which version brought it."),
    "why": ("versions:why", "Show each part of a file with the words it came from."),
    "restore": ("versions:restore", "Put an earlier version of a file back."),
    "review": ("review:review", "Go through what waits: approve, edit or reject."),
    "check": ("check:check", "Look for broken links, duplicates and notes to promote."),
    "forget": ("people:forget", "Erase everything kept of one person."),
    "export": ("people:export", "Write everything kept of one person to a zip."),
    "write-now": ("write_now:write_now", "Write up what was said since the last time."),
}
"""Verb → `module:command` in this folder, and its line in the help."""

EPILOG = """\b
Examples:
  familiar memory list
  familiar memory show Alice              FILE may be a path or a person's name
  familiar memory log Alice               when did the belief about Alice change
  familiar memory why people/discord-1.md
  familiar memory review
"""


class MemoryVerbs(click.Group):
    """Loads a verb's module only when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, _, name = VERBS[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(f"familiar_connect.commands.memory.{module}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, line) for verb, (_, line) in VERBS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], VERBS, n=1, cutoff=0.4)
            hint = f" Did you mean `familiar memory {near[0]}`?" if near else " `familiar memory -h` lists the verbs."
            ctx.fail(f"there is no verb {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=MemoryVerbs, epilog=EPILOG, invoke_without_command=True)
@click.pass_context
def memory(ctx: click.Context) -> None:
    """Read, search, review, correct, undo and erase what is remembered.

    Memory is plain Markdown: any editor will do, and edits by hand are noticed and kept as versions too.
    """
    if ctx.invoked_subcommand is None:
        say(ctx.get_help())
