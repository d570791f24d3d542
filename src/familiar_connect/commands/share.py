"""adopt, pack: someone else's familiar in, one of ours out for somebody else."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import familiar_option, home_of, json_option, root_of, say, say_json
from familiar_connect.commands.consent import ask_about_offered, scripts_option, settle_scripts
from familiar_connect.config.command import command_name
from familiar_connect.errors import HomeError

if TYPE_CHECKING:
    from familiar_connect.bootstrap.adopt import AdoptionPlan

MOST_SHOWN = 10
ADOPT_EPILOG = """\b
Examples:
  familiar adopt mira.zip                 show what it contains, ask, add it
  familiar adopt ~/Downloads/mira --as mira2 --yes
It takes texts: memory, lore, modes, presets and the settings that shape a character, but no links, databases, models,
endpoints, platforms or permissions. In a terminal it asks before a setting lets the familiar do or tell more.
"""
PACK_EPILOG = """\b
Examples:
  familiar pack                           ember.zip: who it is, for someone else
  familiar pack -o mira.zip --familiar mira
  familiar pack --with-confidences --with-history    everything it knows: for yourself
"""


@click.command(epilog=ADOPT_EPILOG)
@click.argument("source", type=click.Path(path_type=Path), metavar="FOLDER|ZIP")
@click.option("--as", "familiar_id", metavar="ID", help="What the familiar's folder is called here.")
@click.option("--yes", is_flag=True, help="Add it without asking.")
@scripts_option
@json_option
@click.pass_context
def adopt(
    ctx: click.Context,
    source: Path,
    familiar_id: str | None,
    yes: bool,
    allow_scripts: bool | None,
    as_json: bool,
) -> int:
    """Add someone else's familiar: show what it contains and would do, then copy its texts."""
    from familiar_connect.bootstrap.adopt import adopt_familiar, plan_adoption

    home = home_of(ctx)
    plan = plan_adoption(source, familiar_id)
    if not as_json:
        _show_plan(plan)
    may_ask = sys.stdin.isatty() and not as_json
    if not (yes or (may_ask and click.confirm("Add it?", default=False))):
        if as_json:
            say_json(_plan_as_json(plan) | {"made": None})
            return 0
        raise HomeError(f"nothing was written; to add {plan.name}, run it again with --yes")
    root = adopt_familiar(home, plan)
    if as_json:
        say_json(_plan_as_json(plan) | {"made": str(root)})
        settle_scripts(root, allow=allow_scripts, err=True)
        return 0
    say(f"Made {root}")
    ask_about_offered(root, home, plan.widening)
    settle_scripts(root, allow=allow_scripts)
    say(f"Talk to it: `{command_name()} chat --familiar {plan.familiar_id}`")
    return 0


def _show_plan(plan: AdoptionPlan) -> None:
    say(f"{plan.name}, from {plan.source}, as the familiar {plan.familiar_id}")
    say(f"  memory     {plan.count('memory')} texts, of them {plan.count('memory/lore')} lore")
    say(f"  modes      {plan.count('modes')}")
    say(f"  presets    {plan.count('presets')}" + (" (none is switched on)" if plan.count("presets") else ""))
    say(f"  in all     {plan.total_bytes:,} bytes")
    for name, value in plan.settings.items():
        say(f"  setting    {name} = {value!r}")
    say("  model      the embedded one, until you run `familiar connect`")
    for each in plan.dropped[:MOST_SHOWN]:
        say(f"  left out   {each.path}: {each.reason}")
    if len(plan.dropped) > MOST_SHOWN:
        say(f"  left out   … and {len(plan.dropped) - MOST_SHOWN:,} more; --json lists them")


def _plan_as_json(plan: AdoptionPlan) -> dict[str, object]:
    return {
        "id": plan.familiar_id,
        "name": plan.name,
        "files": sorted(plan.texts),
        "bytes": plan.total_bytes,
        "settings": dict(plan.settings),
        "dropped": [asdict(each) for each in plan.dropped],
    }


@click.command(epilog=PACK_EPILOG)
@familiar_option
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The file to write (default: ID.zip here)."
)
@click.option("--with-history", is_flag=True, help="Also everything that was ever said (history.db).")
@click.option("--with-confidences", is_flag=True, help="Also what it learned from people, confidences included.")
@json_option
@click.pass_context
def pack(
    ctx: click.Context,
    familiar_id: str | None,
    output: Path | None,
    with_history: bool,
    with_confidences: bool,
    as_json: bool,
) -> None:
    """Write a familiar into one archive for someone else: no secrets, and no history or confidences unless you ask."""
    from familiar_connect.bootstrap.pack import pack_familiar

    root = root_of(ctx, familiar_id)
    target = output or Path(f"{root.name}.zip")
    report = pack_familiar(root, target, with_history=with_history, with_confidences=with_confidences)
    if as_json:
        say_json({"file": str(report.file), "packed": report.packed, "kept_back": report.kept_back})
        return
    say(f"Packed {len(report.packed)} files into {report.file}; look through it before you share it.")
    if report.kept_back:
        say(f"  kept back  {len(report.kept_back)} files of what people told it; --with-confidences includes them")
    if not with_history:
        say("  kept back  its history; --with-history includes it")
