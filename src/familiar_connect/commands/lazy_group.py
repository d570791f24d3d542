"""Groups of commands: what is said about a word that is no member, and members that are loaded only when used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from familiar_connect.commands.help_lines import HelpContext, fit_help

CLOSE = 0.6
"""How like a member a mistyped word is."""
CALLED_ELSEWHERE = {"ls": ["list"], "rm": ["remove", "delete"], "delete": ["remove"], "remove": ["delete"]}
"""What other programs call a verb, and what it may be called here."""
CommandTable = dict[str, tuple[str, str]]
"""Member → `module:command` in `commands/`, and its line in the help."""


def command_path(ctx: click.Context) -> str:
    """What is typed to come to where *ctx* is, with the options before the verb."""
    from familiar_connect.config.command import command_name

    root = ctx.find_root().info_name or ""
    return command_name() + ctx.command_path.removeprefix(root)


class VerbGroup(click.Group):
    """A group that names the nearest member for a slip, in the same words wherever it happens."""

    context_class = HelpContext

    def __init__(self, *, noun: str = "verb", hints: Mapping[str, str] | None = None, **settings: Any) -> None:
        """*hints*: words of other programs that are no members, and what is said about each."""
        super().__init__(**settings)
        self._noun = noun
        self._hints = hints or {}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = _nearest(args[0], self.list_commands(ctx))
            path = command_path(ctx)
            hint = f"Did you mean `{path} {near}`?" if near else f"`{path} --help` lists the {self._noun}s."
            hint += self.explain_unknown(args) if not near else ""
            ctx.fail(f"there is no {self._noun} {args[0]!r}. {self._hints.get(args[0].lower(), hint)}")
        return super().resolve_command(ctx, args)

    def explain_unknown(self, words: list[str]) -> str:
        """What is said beside the way to help of *words* that begin with no member; nothing here."""
        return ""


def _nearest(word: str, members: list[str]) -> str | None:
    """The one of *members* that is called so elsewhere, or is written much like it."""
    from difflib import get_close_matches  # only for a mistake

    meant = [each for each in CALLED_ELSEWHERE.get(word.lower(), ()) if each in members]
    return next(iter([*meant, *get_close_matches(word, members, n=1, cutoff=CLOSE)]), None)


class LazyGroup(VerbGroup):
    """Knows its members' names and help lines without importing any of them."""

    def __init__(self, *, table: CommandTable, **settings: Any) -> None:
        super().__init__(**settings)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._table:
            return None
        module, _, name = self._table[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(f"familiar_connect.commands.{module}"), name)
        fit_help(found)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(f"{self._noun.capitalize()}s"):
            formatter.write_dl([(member, line) for member, (_, line) in self._table.items()])
