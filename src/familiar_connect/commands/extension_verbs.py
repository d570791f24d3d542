"""Verbs that extensions bring to the command line. Where the owner allowed none, nothing is looked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.errors import FamiliarError

if TYPE_CHECKING:
    from familiar_connect.extensions.parts import VerbPart


def find_added_verbs(home: Path | None, ours: frozenset[str]) -> Mapping[str, tuple[str, VerbPart]]:
    """Verb → its extension and what makes it; one that has the name of *ours* is never used."""
    from familiar_connect.config.secrets import home_from_environment

    try:
        return _verbs_of(home or home_from_environment(), ours)
    except (FamiliarError, OSError):  # the verb that is run says what is wrong with the home
        return {}


@cache
def _verbs_of(home: Path, ours: frozenset[str]) -> Mapping[str, tuple[str, VerbPart]]:
    from familiar_connect.config.folders import HomeFolder

    if not HomeFolder(home).extensions_file.exists():
        return {}
    from familiar_connect.extensions.load import load_extensions

    loaded = [each.extension for each in load_extensions(home) if each.extension is not None]
    return {verb.name: (each.name, verb) for each in reversed(loaded) for verb in each.verbs if verb.name not in ours}


def create_verb(extension: str, part: VerbPart) -> click.Command:
    """The verb that *part* makes; one sentence where that fails."""
    try:
        made = part.create()
    except Exception as error:  # isolation: a stranger's verb that cannot be made ends in a sentence
        raise click.ClickException(
            f"the extension {extension} could not make its verb {part.name}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(made, click.Command):
        raise click.ClickException(f"the extension {extension} gave no click command for its verb {part.name}")
    return made
