"""regex: scripts that rewrite what is said, shown or sent: list them, switch them, add one's own."""

from __future__ import annotations

import json
from pathlib import Path

import click

from familiar_connect.commands.common import familiar_option, json_option, root_of, say, say_json
from familiar_connect.commands.consent import allow_scripts, consent_of, scripts_of, waiting_scripts
from familiar_connect.commands.lazy_group import VerbGroup
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import PresetError
from familiar_connect.presets.regex_scripts import read_scripts, script_problem
from familiar_connect.presets.regex_store import MAX_BYTES, RegexStore
from familiar_connect.presets.regex_summary import (
    describe_script,
    explain_script,
    is_without_effect,
    script_state,
    summarize_scripts,
)
from familiar_connect.presets.types import RegexScript
from familiar_connect.support.text import pluralize

EPILOG = """\b
Examples:
  familiar regex list                   those of the card, of the preset in force, and your own
  familiar regex off "Hide thoughts"
  familiar regex on 2                   by the number that the list gives it
  familiar regex allow                  allow all that came with a card, preset or folder
  familiar regex add Tidy.json          one that SillyTavern exported
What comes with a card, preset or folder is off until you allow it.
Your own, and what you switched, are in regex.json in the familiar's folder, which you may edit.
"""
LIST_EPILOG = """\b
Examples:
  familiar regex list
  familiar regex list --json
"""
SWITCH_EPILOG = """\b
Examples:
  familiar regex on 2
  familiar regex off "Hide thoughts"
"""
ALLOW_EPILOG = """\b
Examples:
  familiar regex allow
  familiar regex allow --familiar rook
"""
ADD_EPILOG = """\b
Examples:
  familiar regex add Tidy.json
"""


@click.group(cls=VerbGroup, epilog=EPILOG)
def regex() -> None:
    """List, switch and add regex scripts, which rewrite what is said, shown or sent."""


@regex.command(name="list", epilog=LIST_EPILOG)
@familiar_option
@json_option
@click.pass_context
def list_(ctx: click.Context, familiar_id: str | None, as_json: bool) -> None:
    """List every script, where it comes from, what it is for and whether it is on."""
    scripts = scripts_of(root_of(ctx, familiar_id))
    if as_json:
        say_json({"scripts": [_facts(number, script) for number, script in enumerate(scripts, start=1)]})
        return
    if not scripts:
        say("No regex scripts: the card and the preset in force have none, and you added none.")
        return
    for number, script in enumerate(scripts, start=1):
        say(f"{number:>4}  {script_state(script):<11}  {script.origin:<6}  {script.name:<30} {describe_script(script)}")


@regex.command(epilog=SWITCH_EPILOG)
@click.argument("name")
@familiar_option
@click.pass_context
def on(ctx: click.Context, name: str, familiar_id: str | None) -> None:
    """Switch the script NAME on, from the next message on."""
    _switch(root_of(ctx, familiar_id), name, on=True)


@regex.command(epilog=SWITCH_EPILOG)
@click.argument("name")
@familiar_option
@click.pass_context
def off(ctx: click.Context, name: str, familiar_id: str | None) -> None:
    """Switch the script NAME off, from the next message on."""
    _switch(root_of(ctx, familiar_id), name, on=False)


@regex.command(name="add", epilog=ADD_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@familiar_option
@click.pass_context
def add_scripts(ctx: click.Context, file: Path, familiar_id: str | None) -> None:
    """Add the scripts in FILE, as SillyTavern exports them, to the familiar's own."""
    root = root_of(ctx, familiar_id)
    listed = _read_file(file)
    scripts = read_scripts(listed, origin="own")
    if len(scripts) < len(listed) or not scripts:
        raise PresetError(f"{file} holds no regex script with a `findRegex`; export one from SillyTavern")
    RegexStore(FamiliarFolder(root).regex_file, consent_of(root)).add(listed)
    allow_scripts(root, scripts)
    say(f"Added {summarize_scripts(scripts, familiar_id=root.name)}")


@regex.command(name="allow", epilog=ALLOW_EPILOG)
@familiar_option
@click.pass_context
def allow(ctx: click.Context, familiar_id: str | None) -> None:
    """Show what the scripts do that you have not allowed yet, and allow them."""
    root = root_of(ctx, familiar_id)
    waiting = waiting_scripts(scripts_of(root))
    if not waiting:
        say(f"No regex script of {root.name} is waiting for your approval; `familiar regex list` shows them all.")
        return
    for script in waiting:
        say(f"  {explain_script(script)}")
    allow_scripts(root, waiting)
    say(f"Allowed for {root.name}: {pluralize(len(waiting), 'regex script')}, from the next message on.")


def _switch(root: Path, name: str, *, on: bool) -> None:
    scripts = scripts_of(root)
    found = [script for script in scripts if script.name.casefold() == name.casefold()]
    if not found and name.isascii() and name.isdecimal() and 0 < int(name) <= len(scripts):
        found = [scripts[int(name) - 1]]
    if not found:
        raise PresetError(f"there is no regex script {name!r}; `familiar regex list` shows them")
    store = RegexStore(FamiliarFolder(root).regex_file, consent_of(root))
    if on:
        allow_scripts(root, found)
    for script in found:
        store.switch(script, on=on)
        problem = script_problem(script) if on else None
        say(
            f"{script.name} ({script.origin}) is {'on' if on else 'off'} for {root.name} from the next message on"
            f"{f', but cannot run: {problem}' if problem else ''}."
        )


def _read_file(file: Path) -> list[dict[str, object]]:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise PresetError(f"{file} is too large for regex scripts; choose another file")
        found = json.loads(file.read_bytes())
    except OSError as error:
        raise PresetError(f"{file} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise PresetError(f"{file} is not valid JSON; export the script from SillyTavern again") from None
    listed = found if isinstance(found, list) else [found]
    return [each for each in listed if isinstance(each, dict)]


def _facts(number: int, script: RegexScript) -> dict[str, object]:
    return {
        "number": number,
        "name": script.name,
        "origin": script.origin,
        "on": not script.is_off,
        "allowed": not script.is_waiting,
        "state": script_state(script),
        "find": script.find,
        "replace": script.replacement,
        "placements": script.placements,
        "display_only": script.is_display_only,
        "prompt_only": script.is_prompt_only,
        "problem": script_problem(script),
        "without_effect": is_without_effect(script),
    }
