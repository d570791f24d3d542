"""init, list: new familiars, and who lives in this home."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from familiar_connect.bootstrap.starter import STARTER_ID, make_starter
from familiar_connect.commands.common import home_of, json_option, say, say_json
from familiar_connect.config.home import list_familiars
from familiar_connect.config.secrets import started_as
from familiar_connect.errors import FamiliarError

INIT_EPILOG = """\b
Examples:
  familiar init                     make Ember, the starter character
  familiar init mira --name Mira    make a familiar called Mira; edit its files to shape it
"""


@click.command(epilog=INIT_EPILOG)
@click.argument("familiar_id", required=False, metavar="[ID]")
@click.option("--name", help="What the character is called (else the ID, capitalised).")
@click.option("--as", "user_name", metavar="NAME", help="What it calls you in the terminal.")
@click.pass_context
def init(ctx: click.Context, familiar_id: str | None, name: str | None, user_name: str | None) -> None:
    """Make a new familiar: a folder with settings, a character and a memory."""
    wanted = familiar_id or STARTER_ID
    called = name or (None if wanted == STARTER_ID else wanted[:1].upper() + wanted[1:])
    root = make_starter(home_of(ctx), wanted, name=called, user_name=user_name)
    say(f"Made {root}")
    say("  character.toml               settings, every key explained")
    say("  memory/self/description.md   who it is: edit it, the next reply knows")
    say("  memory/self/mes_example.md   how it talks: a small model takes its voice from these lines")
    say(f"Talk to it:  {started_as()} chat --familiar {wanted}")


@click.command(name="list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List the familiars of this home, their model and how much was said."""
    home = home_of(ctx)
    rows = [_facts(home / "familiars" / name) for name in list_familiars(home)]
    if as_json:
        say_json({"home": str(home), "familiars": rows})
        return
    if not rows:
        say(f"No familiar lives in {home} yet. Make one:  {started_as()} init")
        return
    say(f"Familiars in {home}")
    for row in rows:
        trouble = f"  ! {row['problem']}" if row["problem"] else ""
        say(f"  {row['id']:<20} {row['name']:<20} {row['model']:<28} {row['turns']:>8} turns{trouble}")


def _facts(root: Path) -> dict[str, Any]:
    """What can be said of one familiar without waking it; what is wrong with it is part of that."""
    from familiar_connect.config import load_character_config
    from familiar_connect.config.home import profile_path
    from familiar_connect.context.providers.character import persona_name
    from familiar_connect.memory.store import MemoryStore

    facts: dict[str, Any] = {"id": root.name, "name": root.name, "model": "?", "turns": 0, "problem": None}
    try:
        if (root / "memory").is_dir():
            facts["name"] = persona_name(MemoryStore(root / "memory"), root.name)
        config = load_character_config(root / "character.toml", defaults_path=profile_path(root.parent.parent))
        facts["model"] = config.llm["main_prose"].model
    except FamiliarError as error:
        facts["problem"] = str(error)
    try:
        facts["turns"] = _turns(root)
    except FamiliarError as error:
        facts["problem"] = facts["problem"] or str(error)
    return facts


def _turns(root: Path) -> int:
    """How much was said, whatever ails the settings."""
    from familiar_connect.history.store import HistoryStore

    if not (root / "history.db").exists():
        return 0
    store = HistoryStore(root / "history.db")
    try:
        return store.count(familiar_id=root.name)
    finally:
        store.close()
