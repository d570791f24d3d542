"""discord: what the owner of a bot needs at its set-up."""

from __future__ import annotations

from pathlib import Path

import click

from familiar_connect.commands.common import (
    familiar_from_env,
    familiar_option,
    home_of,
    json_option,
    open_root,
    profile_of,
    say,
    say_json,
)
from familiar_connect.commands.lazy_group import VerbGroup
from familiar_connect.config.command import command_name
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import list_familiars
from familiar_connect.config.secrets import Secrets
from familiar_connect.errors import ConfigError
from familiar_connect.extensions.discord.setup.invite import (
    INTENTS,
    SCOPES,
    application_id_of,
    invite_url,
    is_application_id,
    list_permissions,
)

EPILOG = """\b
Examples:
  familiar discord invite                              from the token in secrets.env
  familiar discord invite --voice                      for voice channels, too
  familiar discord invite --application-id 1234567890  before there is a token
"""


@click.group(cls=VerbGroup)
def discord() -> None:
    """Set up a bot of your own on Discord."""


@discord.command(epilog=EPILOG)
@familiar_option
@click.option("--application-id", help="The number on the application's page, where no token says it.")
@click.option("--voice", "has_voice", is_flag=True, help="Ask for what voice channels take, too.")
@json_option
@click.pass_context
def invite(
    ctx: click.Context, familiar_id: str | None, application_id: str | None, has_voice: bool, as_json: bool
) -> None:
    """Print the link that lets the bot onto a server, with exactly the permissions it uses.

    Nothing is sent anywhere: the application is read from the first part of the bot's token.
    """
    home = home_of(ctx)
    known = list_familiars(home)
    whose = familiar_id or familiar_from_env(home) or (known[0] if len(known) == 1 else "")
    if application_id is None:
        application_id = _from_token(home, whose)
    elif not is_application_id(application_id):
        raise ConfigError(
            f"--application-id {application_id!r} is no application id: it is the number under General Information"
        )
    permissions = list_permissions(has_alters=_has_alters(home, whose), has_voice=has_voice)
    link = invite_url(application_id, permissions)
    if as_json:
        rights = [each.title for each in permissions]
        say_json({"url": link, "scopes": list(SCOPES), "permissions": rights})
        return
    say(link)
    say("\nOpen it in a browser and choose a server; for that you must be allowed to manage it. It asks for:")
    for permission in permissions:
        say(f"  {permission.title:<25} {permission.reason}")
    say("\nSwitched on at https://discord.com/developers/applications → your application → Bot:")
    for intent in INTENTS:
        say(f"  {intent.title:<25} {intent.reason}{' (needed)' if intent.is_needed else ''}")
    say(f"\nThen `{command_name()} doctor` tells whether all is well, and `{command_name()} run` starts it.")


def _has_alters(home: Path, familiar_id: str) -> bool:
    """Whether the familiar, where it is known which, has further personas."""
    if familiar_id not in list_familiars(home):
        return False
    from familiar_connect.config import load_character_config

    file = FamiliarFolder(open_root(home, familiar_id)).settings_file
    return bool(load_character_config(file, defaults_path=profile_of(home)).alters)


def _from_token(home: Path, familiar_id: str) -> str:
    secrets = Secrets(home)
    name = secrets.name_for(familiar_id, "DISCORD_BOT")
    token = secrets.get(name)
    if token is None:
        raise ConfigError(
            f"there is no {name} in {HomeFolder(home).secrets_file}: put the bot's token there with "
            f"`{command_name()} keys set discord`, or name the application with --application-id"
        )
    found = application_id_of(token)
    if found is None:
        raise ConfigError(
            f"{name} does not look like a bot's token, which begins with the application's id: copy it anew at "
            "https://discord.com/developers/applications → your application → Bot → Reset Token, or name the "
            "application with --application-id"
        )
    return found
