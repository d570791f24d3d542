"""`familiar discord`: what the owner of a bot needs at its set-up."""

from __future__ import annotations

import click

from familiar_connect.api import ConfigError
from familiar_connect.api.verbs import VerbHost, familiar_option, json_option, open_verb
from familiar_connect.extensions.discord.secrets import TOKEN
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


@click.group()
def discord() -> None:
    """Set up your own bot on Discord."""


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
    host = open_verb(ctx)
    whose = host.choose_familiar(familiar_id)
    if application_id is None:
        application_id = _from_token(host, whose)
    elif not is_application_id(application_id):
        raise ConfigError(
            f"--application-id {application_id!r} is not an application id: use the number under General Information"
        )
    permissions = list_permissions(has_alters=host.has_alters(whose), has_voice=has_voice)
    link = invite_url(application_id, permissions)
    if as_json:
        rights = [each.title for each in permissions]
        host.say_json({"url": link, "scopes": list(SCOPES), "permissions": rights})
        return
    host.say(link)
    host.say("\nOpen it in a browser and choose a server; for that you must be allowed to manage it. It asks for:")
    for permission in permissions:
        host.say(f"  {permission.title:<25} {permission.reason}")
    host.say("\nSwitched on at https://discord.com/developers/applications → your application → Bot:")
    for intent in INTENTS:
        host.say(f"  {intent.title:<25} {intent.reason}{' (needed)' if intent.is_needed else ''}")
    host.say("\nThen `familiar doctor` says whether all is well, and `familiar run` starts it.")


def _from_token(host: VerbHost, familiar_id: str) -> str:
    name, token = host.read_secret(TOKEN, familiar_id)
    if token is None:
        raise ConfigError(
            f"there is no {name} in {host.secrets_file}: put the bot's token there with "
            "`familiar keys set discord`, or name the application with --application-id"
        )
    found = application_id_of(token)
    if found is None:
        raise ConfigError(
            f"{name} does not look like a bot's token, which starts with the application's id: copy it again at "
            "https://discord.com/developers/applications → your application → Bot → Reset Token, or name the "
            "application with --application-id"
        )
    return found
