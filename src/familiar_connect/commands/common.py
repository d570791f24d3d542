"""What several verbs need: the home, the familiar that is meant, and its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from familiar_connect.config.home import familiar_root, find_home, pick_familiar, profile_path
from familiar_connect.config.secrets import FAMILIAR_VARIABLE, Secrets
from familiar_connect.errors import HomeError

familiar_option = click.option("--familiar", "familiar_id", metavar="ID", help="Which familiar (else FAMILIAR_ID).")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")


def home_of(ctx: click.Context) -> Path:
    """The data home that the flags and the environment choose."""
    options: dict[str, Any] = ctx.find_root().obj or {}
    home = find_home(options.get("home"))
    there = next(path for path in (home, *home.parents) if path.exists())
    if not there.is_dir():
        raise HomeError(f"{home}: {there} is a file; name a folder with --home DIR or FAMILIAR_HOME")
    return home


def root_of(ctx: click.Context, familiar_id: str | None) -> Path:
    """The folder of the familiar that is meant."""
    home = home_of(ctx)
    return familiar_root(home, pick_familiar(home, familiar_id))


def named_familiar(home: Path) -> str | None:
    """The familiar that FAMILIAR_ID names, if it does."""
    return Secrets(home).get(FAMILIAR_VARIABLE)


def profile_of(home: Path) -> Path | None:
    return profile_path(home)
