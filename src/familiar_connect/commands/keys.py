"""keys: the keys and tokens of this home, by name. Their values are never shown."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from familiar_connect.commands.common import home_of, json_option, say, say_json
from familiar_connect.commands.lazy_group import VerbGroup
from familiar_connect.commands.name_completion import complete_keys
from familiar_connect.commands.usage_hints import KEY_HINTS
from familiar_connect.config.built_in import read_main_secrets
from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.secrets import FAMILIAR_VARIABLE, HOME_VARIABLE, Secrets, list_variables
from familiar_connect.errors import ConfigError

SHORT_NAMES = {
    "openrouter": "OPENROUTER_API_KEY",
    **read_main_secrets(),
}
"""What people call the service instead of the variable."""
NOT_KEYS = (HOME_VARIABLE, FAMILIAR_VARIABLE)
MOST_CHARS = 100_000

EPILOG = """\b
Examples:
  familiar keys                         which keys there are, and where each may go
  familiar keys set openrouter          asks for the key, unseen, and keeps it in secrets.env
  familiar keys set MY_KEY < key.txt    from a file or a pipe
  familiar keys remove openrouter
A key goes only to the server it was given for: `familiar trust` shows and changes that.
"""


@click.group(cls=VerbGroup, hints=KEY_HINTS, invoke_without_command=True, epilog=EPILOG)
@click.pass_context
def keys(ctx: click.Context) -> None:
    """Set, list and remove the keys and tokens of this home; values are never shown."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_keys, as_json=False)


@keys.command(name="list")
@json_option
@click.pass_context
def list_keys(ctx: click.Context, as_json: bool) -> None:
    """List the names of the keys, where each comes from and where it may go."""
    home = home_of(ctx)
    rows = [_facts(home, name) for name in Secrets(home).names() if name not in NOT_KEYS]
    if as_json:
        say_json(rows)
        return
    if not rows:
        say("No key is kept. The embedded model needs none; `familiar keys set openrouter` keeps one.")
        return
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        goes_to = f"  goes to {row['goes_to']}" if row["goes_to"] else ""
        says = f"  {row['for']}" if row["for"] else ""
        say(f"{row['name']:<{width}}  {row['from']}{goes_to}{says}")


def _facts(home: Path, name: str) -> dict[str, object]:
    from familiar_connect.config.trust import TrustedOrigins

    secrets = Secrets(home)
    in_home, current = secrets.get_from_home(name), secrets.get(name)
    return {
        "name": name,
        "from": HomeFolder(home).secrets_file.name if in_home is not None and in_home == current else "environment",
        "goes_to": TrustedOrigins(home).origin_for(name),
        "for": list_variables().get(name, ""),
    }


@keys.command(name="set")
@click.argument("name")
@click.argument("more", nargs=-1, metavar="")
@click.pass_context
def set_key(ctx: click.Context, name: str, more: tuple[str, ...]) -> None:
    """Save the key NAME (such as OPENROUTER_API_KEY, or openrouter) in secrets.env; asks for it, unseen."""
    if more:  # never repeated: it is most likely the key
        raise click.UsageError(
            f"leave the key itself out of the command, because your shell keeps that: `familiar keys set {name}` asks "
            "for it. Take that line out of the shell's history",
            ctx=ctx,
        )
    home = home_of(ctx)
    variable = _variable(name)
    if sys.stdin is not None and sys.stdin.isatty():
        value = click.prompt(f"{variable} (not shown)", hide_input=True, err=True)
    else:
        value = sys.stdin.read(MOST_CHARS) if sys.stdin is not None else ""
    if not value.strip():
        raise ConfigError(
            f"no key was given: type it when `familiar keys set {name}` asks, or pipe it in; nothing was changed"
        )
    secrets = Secrets(home)
    was_there = secrets.get_from_home(variable) is not None
    secrets.put(variable, value)
    say(f"{'Replaced' if was_there else 'Kept'} {variable} in {HomeFolder(home).secrets_file}.")
    if secrets.get(variable) != secrets.get_from_home(variable):
        say(f"The environment holds another {variable}, which comes first: unset it there.", err=True)
    if variable not in list_variables() and not _facts(home, variable)["goes_to"]:
        say(f"It goes nowhere yet: `familiar connect --url URL --model MODEL --key-env {variable}` uses it.")


@keys.command(name="remove")
@click.argument("name", shell_complete=complete_keys)
@click.pass_context
def remove_key(ctx: click.Context, name: str) -> None:
    """Remove the key NAME from secrets.env."""
    home = home_of(ctx)
    variable = _variable(name)
    secrets = Secrets(home)
    if not secrets.remove(variable):
        also = ": the environment has it, unset it there" if secrets.get(variable) else ""
        raise ConfigError(f"{HomeFolder(home).secrets_file} holds no {variable}{also}; `familiar keys` lists them")
    say(f"Removed {variable} from {HomeFolder(home).secrets_file}.")


def _variable(name: str) -> str:
    """The variable that *name* means; a key typed by mistake is not repeated."""
    from familiar_connect.config.llm import KEY_VARIABLE_NAME

    variable = SHORT_NAMES.get(name.lower(), name.upper() if name.upper() in list_variables() else name)
    if variable in NOT_KEYS or not KEY_VARIABLE_NAME.fullmatch(variable):
        short = ", ".join(SHORT_NAMES)
        raise ConfigError(f"a key is named by its variable in capitals, such as MY_KEY, or {short}; never by the key")
    return variable
