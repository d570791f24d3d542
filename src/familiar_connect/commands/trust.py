"""trust: where this home's familiars may send what they see, and which key goes where."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from familiar_connect.commands.common import home_of, json_option, profile_of, say, say_json
from familiar_connect.commands.lazy_group import VerbGroup
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.trust import TrustedOrigins

TRUST_EPILOG = """\b
Examples:
  familiar trust                                            what is allowed
  familiar trust add https://api.example.com                familiars may send what they see there
  familiar trust add https://api.example.com --key MY_KEY   with the key in MY_KEY, which goes nowhere else
  familiar trust remove https://api.example.com
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
    """Take the permission for ORIGIN back, and with it that of the keys given for it."""
    origins = TrustedOrigins(home_of(ctx))
    if not origins.remove(origin):
        say(f"{origins.file} holds no such origin; `familiar trust` lists them.", err=True)
        return 1
    say(f"Nothing is sent to {origin} any more.")
    return 0


def ask_about_endpoints(root: Path, home: Path) -> None:
    """Ask the person at the terminal about each origin the familiar's settings name and nobody allowed yet.

    A yes is kept in the home. Without a terminal nobody is asked; loading the familiar then refuses in one sentence.
    """
    from familiar_connect.config import load_character_config

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
