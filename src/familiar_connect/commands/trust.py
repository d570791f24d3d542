"""trust: where this home's familiars may send what they see, and which key goes where."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from familiar_connect.commands.common import familiar_option, home_of, json_option, profile_of, root_of, say, say_json
from familiar_connect.commands.consent import ask_about_settings, missing_settings, say_waiting_scripts
from familiar_connect.commands.lazy_group import VerbGroup
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.errors import ConfigError

TRUST_EPILOG = """\b
Examples:
  familiar trust                                            what is allowed
  familiar trust add https://api.example.com                familiars may send what they see there
  familiar trust add https://api.example.com --key MY_KEY   with the key in MY_KEY, which goes nowhere else
  familiar trust remove https://api.example.com
  familiar trust setting tools                              a familiar's `tools = …` takes effect from now on
Endpoints on this computer that need no key are always allowed.
"""


@click.group(cls=VerbGroup, epilog=TRUST_EPILOG, invoke_without_command=True)
@click.pass_context
def trust(ctx: click.Context) -> None:
    """Show or change where familiars may send what they see, and which key goes where."""
    if ctx.invoked_subcommand is None:
        _show(home_of(ctx), as_json=False)


@trust.command(name="list")
@json_option
@click.pass_context
def list_origins(ctx: click.Context, as_json: bool) -> None:
    """List the allowed origins and the key bound to each."""
    _show(home_of(ctx), as_json=as_json)


@trust.command(name="add")
@click.argument("origin")
@click.option("--key", metavar="VARIABLE", help="Name of the variable whose key was given for this origin.")
@click.pass_context
def add_origin(ctx: click.Context, origin: str, key: str | None) -> None:
    """Allow familiars to send what they see to ORIGIN (scheme, host and port)."""
    kept = TrustedOrigins(home_of(ctx)).add(origin, key)
    say(f"Familiars of this home may send what they see to {kept}" + (f", with the key {key}." if key else "."))


@trust.command(name="remove")
@click.argument("origin")
@click.pass_context
def remove_origin(ctx: click.Context, origin: str) -> int:
    """Withdraw the permission for ORIGIN and for the keys given for it."""
    origins = TrustedOrigins(home_of(ctx))
    if not origins.remove(origin):
        say(f"{origins.file} holds no such origin; `familiar trust` lists them.", err=True)
        return 1
    say(f"Nothing is sent to {origin} any more.")
    return 0


@trust.command(name="setting")
@click.argument("key")
@familiar_option
@click.pass_context
def allow_setting(ctx: click.Context, key: str, familiar_id: str | None) -> None:
    """Allow the setting KEY as it stands in a familiar's files, where it lets the familiar do or tell more."""
    root = root_of(ctx, familiar_id)
    asked = {each.key: each for each in missing_settings(root, home_of(ctx))}
    if key not in asked:
        waiting = ", ".join(asked) or "none"
        raise ConfigError(f"{root.name} has no setting {key} that is waiting for your approval; waiting: {waiting}")
    OwnerConsent(home_of(ctx), root.name).allow_setting(key, asked[key].value)
    say(f"Allowed for {root.name}: {asked[key]}. From the next start on it {asked[key].effect}.")


def ask_about_endpoints(root: Path, home: Path) -> None:
    """Ask the person at the terminal about each origin the familiar's settings name and nobody allowed yet.

    A yes is kept in the home. Without a terminal nobody is asked; loading the familiar then refuses in one sentence.
    Settings that let it do or tell more are asked about as well, and said not to count where nobody can be asked.
    """
    from familiar_connect.config import load_character_config

    ask_about_settings(root, home)
    say_waiting_scripts(root, home)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    file = FamiliarFolder(root).settings_file
    origins = TrustedOrigins(home)
    for each in origins.missing(load_character_config(file, defaults_path=profile_of(home)).llm, file=file):
        say(f"{file} names an endpoint you have not used before: {each.origin}", err=True)
        say(f"What {root.name} sees is sent there" + (f", with the key {each.key}." if each.key else "."), err=True)
        if not click.confirm("Allow it from now on?", default=False, err=True):
            return
        origins.add(each.origin, each.key)


def _show(home: Path, *, as_json: bool) -> None:
    rows = TrustedOrigins(home).origins()
    if as_json:
        say_json([{"origin": each.origin, "keys": list(each.keys), "built_in": each.is_built_in} for each in rows])
        return
    for each in rows:
        keys = f"  key: {', '.join(each.keys)}" if each.keys else "  no key"
        say(f"{each.origin:<40}{keys}" + ("  (built in)" if each.is_built_in else ""))
    say("Endpoints on this computer that need no key are always allowed.")
