"""Verbs that extensions bring to the command line. Where the owner allowed none, nothing is looked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.config.built_in import read_built_in_verbs
from familiar_connect.errors import FamiliarError

if TYPE_CHECKING:
    from familiar_connect.extensions.parts import Extension, VerbPart


def find_added_verbs(home: Path | None, ours: frozenset[str]) -> Mapping[str, tuple[Extension, VerbPart]]:
    """Verb → its extension and what makes it; one that has the name of *ours* is never used."""
    from familiar_connect.config.secrets import home_from_environment

    try:
        return _verbs_of(home or home_from_environment(), ours)
    except (FamiliarError, OSError):  # the verb that is run says what is wrong with the home
        return {}


@cache
def _verbs_of(home: Path, ours: frozenset[str]) -> Mapping[str, tuple[Extension, VerbPart]]:
    from familiar_connect.config.folders import HomeFolder

    if not HomeFolder(home).extensions_file.exists():
        return {}
    from familiar_connect.extensions.load import load_extensions

    loaded = [each.extension for each in load_extensions(home) if each.extension is not None]
    return {verb.name: (each, verb) for each in reversed(loaded) for verb in each.verbs if verb.name not in ours}


def create_built_in_verb(ctx: click.Context, name: str) -> click.Command:
    """The verb called so of an extension that comes with the program."""
    from familiar_connect.extensions.load import load_one_built_in

    built_in = load_one_built_in(read_built_in_verbs()[name][0])
    if built_in.extension is None:
        raise click.ClickException(built_in.trouble)
    part = next(each for each in built_in.extension.verbs if each.name == name)
    return create_verb(ctx, built_in.extension, part)


def create_verb(ctx: click.Context, extension: Extension, part: VerbPart) -> click.Command:
    """The verb that *part* makes; one sentence where that fails."""
    from familiar_connect.commands.verb_host import CommandLineHost, fit_verb
    from familiar_connect.extensions.verbs import HOST_KEY

    try:
        made = part.create()
    except Exception as error:  # isolation: a stranger's verb that cannot be made ends in a sentence
        raise click.ClickException(
            f"the extension {extension.name} could not make its verb {part.name}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(made, click.Command):
        raise click.ClickException(f"the extension {extension.name} gave no click command for its verb {part.name}")
    ctx.meta[HOST_KEY] = CommandLineHost(ctx, extension)
    return fit_verb(made)
