"""config: what every setting is and where it comes from; which files do not load."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import familiar_option, home_of, json_option, profile_of, root_of, say, say_json
from familiar_connect.commands.lazy_group import VerbGroup
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import FamiliarError

if TYPE_CHECKING:
    from familiar_connect.config.load import EffectiveSetting


@click.group(cls=VerbGroup)
def config() -> None:
    """Show the settings and where each comes from; check the files."""


@config.command()
@familiar_option
@json_option
@click.option("--changed", is_flag=True, help="Only what differs from the defaults.")
@click.option("--channel", "channel_id", type=int, metavar="ID", help="The settings of one channel instead.")
@click.pass_context
def show(ctx: click.Context, familiar_id: str | None, as_json: bool, changed: bool, channel_id: int | None) -> None:
    """Show every setting, its value, and the file (or default) it comes from."""
    from familiar_connect.config.load import default_settings, explain_character_config

    root = root_of(ctx, familiar_id)
    settings = explain_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home_of(ctx)))
    if channel_id is not None:
        settings = _channel_settings(root, profile_of(home_of(ctx)), channel_id, settings)
    if changed and channel_id is not None:
        settings = [each for each in settings if each.source not in ("default", "mode")]
    elif changed:
        usual = {each.key: each.value for each in default_settings()}
        settings = [each for each in settings if each.source != "default" and each.value != usual.get(each.key)]
    if as_json:
        rows = [{"key": each.key, "value": each.value, "source": each.source} for each in settings]
        say_json(rows)
        return
    if not settings:
        say("Nothing is changed: every setting is at its default.")
    width = max((len(each.key) for each in settings), default=0)
    for each in settings:
        say(f"{each.key:<{width}}  {json.dumps(each.value, ensure_ascii=False, default=str)}  ({each.source})")


def _channel_settings(
    root: Path, defaults_path: Path | None, channel_id: int, familiars: list[EffectiveSetting]
) -> list[EffectiveSetting]:
    from familiar_connect.config.load import explain_channel_config, load_character_config

    folder = FamiliarFolder(root)
    character = load_character_config(folder.settings_file, defaults_path=defaults_path)
    origin = {each.key: each.source for each in familiars}
    return explain_channel_config(folder.channel_file(channel_id), character, origin=origin)


@config.command()
@familiar_option
@click.pass_context
def check(ctx: click.Context, familiar_id: str | None) -> int:
    """Read every settings file of a familiar; say what is wrong and how to fix it."""
    root = root_of(ctx, familiar_id)
    problems = settings_problems(root, profile_of(home_of(ctx)))
    for problem in problems:
        say(f"✗ {problem}")
    if not problems:
        say(f"✓ {root}: all settings files are fine")
    return 1 if problems else 0


def settings_problems(root: Path, defaults_path: Path | None) -> list[str]:
    """One sentence for each settings file that does not load."""
    from familiar_connect.config import load_channel_config, load_character_config
    from familiar_connect.conversation.ignored import IgnoreList
    from familiar_connect.privacy import PrivacyRegistry
    from familiar_connect.subscriptions import SubscriptionRegistry

    looks: list[Callable[[], object]] = [
        lambda: load_character_config(FamiliarFolder(root).settings_file, defaults_path=defaults_path),
        lambda: SubscriptionRegistry(FamiliarFolder(root).subscriptions_file),
        lambda: PrivacyRegistry(FamiliarFolder(root).privacy_file),
        lambda: IgnoreList(FamiliarFolder(root).ignore_list_file),
    ]
    looks += [partial(load_channel_config, sidecar) for sidecar in FamiliarFolder(root).channel_files()]
    problems: list[str] = []
    for look in looks:
        try:
            look()
        except FamiliarError as error:
            problems.append(str(error))
    return problems
