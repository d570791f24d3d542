"""What several verbs need: the home, the familiar that is meant, and its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from familiar_connect.config.home import familiar_root, find_home, pick_familiar, profile_path

familiar_option = click.option("--familiar", "familiar_id", metavar="ID", help="Which familiar (else FAMILIAR_ID).")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")


def home_of(ctx: click.Context) -> Path:
    """The data home that the flags and the environment choose."""
    options: dict[str, Any] = ctx.find_root().obj or {}
    return find_home(options.get("home"))


def root_of(ctx: click.Context, familiar_id: str | None) -> Path:
    """The folder of the familiar that is meant."""
    home = home_of(ctx)
    return familiar_root(home, pick_familiar(home, familiar_id))


def profile_of(home: Path) -> Path | None:
    return profile_path(home)
