"""What Tab offers for the names of familiars, chats, models and keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMPLETE_VARIABLE = "_FAMILIAR_COMPLETE"
"""Set by the shell's function while it asks what may come next."""


def complete_familiars(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The familiars of the home that is meant."""
    from familiar_connect.config.home import list_familiars

    return _items(list_familiars(_home(ctx)), incomplete)


def complete_groups(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The groups of the home that is meant."""
    from familiar_connect.config.groups import list_groups

    return _items(list_groups(_home(ctx)), incomplete)


def complete_chats(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The chats of the terminal with the familiar that is meant."""
    from familiar_connect.config.folders import FamiliarFolder
    from familiar_connect.config.home import familiar_root, pick_familiar
    from familiar_connect.errors import FamiliarError
    from familiar_connect.history.chats import ChatRegistry, last_talk

    home = _home(ctx)
    try:
        folder = FamiliarFolder(
            familiar_root(home, pick_familiar(home, ctx.params.get("familiar_id"), last_talk=last_talk))
        )
        return _items([chat.name for chat in ChatRegistry(folder).all(1)], incomplete)
    except FamiliarError:  # a Tab is no place for an explanation
        return []


def complete_models(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The models that are on this computer."""
    from familiar_connect.config.llm import EMBEDDED_MODEL
    from familiar_connect.errors import FamiliarError
    from familiar_connect.llm.local.library import ModelLibrary

    try:
        here = [model.name for model in ModelLibrary(_home(ctx)).models_here()]
    except FamiliarError:
        here = []
    return _items([EMBEDDED_MODEL, *here], incomplete)


def complete_keys(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The keys that are kept in the home that is meant."""
    from familiar_connect.config.secrets import Secrets

    return _items(Secrets(_home(ctx)).names_in_home(), incomplete)


def _home(ctx: click.Context) -> Path:
    from familiar_connect.config.home import find_home

    return find_home(ctx.find_root().params.get("home"))


def _items(names: list[str], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
