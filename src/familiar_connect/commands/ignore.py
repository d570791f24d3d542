"""ignore: people who are not answered. A familiar that runs takes note at its next message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import familiar_option, json_option, root_of, say, say_json
from familiar_connect.commands.lazy_group import VerbGroup
from familiar_connect.config.built_in import EXAMPLE_PLATFORM
from familiar_connect.config.folders import FamiliarFolder

if TYPE_CHECKING:
    from familiar_connect.conversation.ignored import IgnoreList
    from familiar_connect.identity import Author

EPILOG = f"""\b
Examples:
  familiar ignore add Ben              by a name, if only one person has it
  familiar ignore add {EXAMPLE_PLATFORM}:4711     by the platform's id
  familiar ignore list
  familiar ignore remove Ben
What they say is stored, because others see it too, but the familiar does not answer it.
"""


@click.group(cls=VerbGroup, epilog=EPILOG)
def ignore() -> None:
    """List, add and remove people the familiar does not answer."""


@ignore.command(name="list")
@familiar_option
@json_option
@click.pass_context
def list_ignored(ctx: click.Context, familiar_id: str | None, as_json: bool) -> None:
    """List the people the familiar does not answer."""
    from familiar_connect.conversation.ignored import IgnoreList

    people = IgnoreList(FamiliarFolder(root_of(ctx, familiar_id)).ignore_list_file).all()
    if as_json:
        say_json([{"person": each.key, "name": each.name} for each in people])
        return
    say("\n".join(map(str, people)) or "No one is ignored.")


@ignore.command(name="add")
@click.argument("person")
@familiar_option
@click.pass_context
def add_ignored(ctx: click.Context, person: str, familiar_id: str | None) -> None:
    """Stop answering PERSON: a name or platform:id."""
    with _open_list(ctx, familiar_id, person) as (ignored, who):
        say(f"{ignored.add(who)} is ignored from now on.")


@ignore.command(name="remove")
@click.argument("person")
@familiar_option
@click.pass_context
def remove_ignored(ctx: click.Context, person: str, familiar_id: str | None) -> int:
    """Answer PERSON again."""
    with _open_list(ctx, familiar_id, person) as (ignored, who):
        if not ignored.remove(who):
            say(f"{who.label} was not ignored; `familiar ignore list` shows who is.", err=True)
            return 1
        say(f"{who.label} is answered again.")
    return 0


@contextmanager
def _open_list(ctx: click.Context, familiar_id: str | None, person: str) -> Iterator[tuple[IgnoreList, Author]]:
    """The familiar's list of people who are not answered, and the one that *person* names."""
    from familiar_connect.commands.memory.session import open_session
    from familiar_connect.conversation.ignored import IgnoreList, find_author

    with open_session(ctx, familiar_id) as memory:
        ignored = IgnoreList(FamiliarFolder(memory.root).ignore_list_file)
        who = find_author(person, ignored, familiar_id=memory.familiar_id, history=memory.history, store=memory.store)
        yield ignored, who
