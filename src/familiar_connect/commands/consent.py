"""The owner's yes to what came with files: regex scripts, and settings that let a familiar do or tell more.

Asked once, at a terminal; where nobody can be asked both stay off, and a sentence says how to allow them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from familiar_connect.commands.common import profile_of, say
from familiar_connect.config.command import command_name
from familiar_connect.config.consent import OwnerConsent, SettingRequest
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.toml import read_text, toml_literal, write_text
from familiar_connect.errors import ConfigError, PresetError
from familiar_connect.support.text import pluralize

if TYPE_CHECKING:
    from familiar_connect.presets.types import RegexScript

MOST_SHOWN = 20
"""Scripts that one question shows."""


def scripts_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--allow-scripts` and `--no-scripts`: the answer where nobody is to be asked."""
    return click.option(
        "--allow-scripts/--no-scripts",
        "allow_scripts",
        default=None,
        help="Allow the regex scripts that come with it, or leave them off; do not ask.",
    )(command)


def consent_of(root: Path) -> OwnerConsent:
    """What the owner allowed the familiar in *root*."""
    return OwnerConsent(FamiliarFolder(root).home.root, root.name)


def scripts_of(root: Path, consent: OwnerConsent | None = None) -> tuple[RegexScript, ...]:
    """The scripts of the familiar at *root*, with the preset in force, as the owner has them."""
    from familiar_connect.memory.card_fields import CardReader
    from familiar_connect.memory.store import MemoryStore
    from familiar_connect.presets.regex_store import RegexStore
    from familiar_connect.presets.store import PresetStore

    folder = FamiliarFolder(root)
    card = CardReader(MemoryStore(folder.memory), root.name).regex_scripts()
    preset = PresetStore(folder.presets).lookup(None)
    store = RegexStore(folder.regex_file, consent or consent_of(root))
    return store.list(card, preset.scripts if preset is not None else ())


def waiting_scripts(scripts: Sequence[RegexScript]) -> list[RegexScript]:
    """Those that would change something here, and that the owner has not allowed."""
    from familiar_connect.presets.regex_scripts import script_problem
    from familiar_connect.presets.regex_summary import is_without_effect

    return [each for each in scripts if each.is_waiting and not script_problem(each) and not is_without_effect(each)]


def allow_scripts(root: Path, scripts: Sequence[RegexScript]) -> None:
    """Keep the owner's yes to exactly these scripts."""
    from familiar_connect.presets.regex_store import script_fingerprint

    consent_of(root).allow_scripts({script_fingerprint(each): each.name for each in scripts})


def settle_scripts(root: Path, *, allow: bool | None = None, err: bool = False) -> None:
    """Show what the scripts do that wait for the owner's yes, and ask for it once; *allow* is the answer if known."""
    from familiar_connect.presets.regex_summary import explain_script

    waiting = waiting_scripts(scripts_of(root))
    if not waiting:
        return
    what = pluralize(len(waiting), "regex script")
    say(f"{what} came with it and changed nothing yet. Either way, what people say is stored unchanged.", err=err)
    for number, script in enumerate(waiting[:MOST_SHOWN], start=1):
        say(f"  {number}. {explain_script(script)}", err=err)
    if len(waiting) > MOST_SHOWN:
        say(f"  … and {len(waiting) - MOST_SHOWN} more: `{command_name()} regex list` shows them", err=err)
    if allow is None and _can_ask():
        allow = click.confirm(f"Allow {'it' if len(waiting) == 1 else 'them'}?", default=False, err=err)
    if allow:
        allow_scripts(root, waiting)
        say(f"Allowed for {root.name}: {what}. `{command_name()} regex off NAME` switches one off again.", err=err)
        return
    say(
        f"Off. To allow what you want: `{command_name()} regex on NAME --familiar {root.name}`, or all of them: "
        f"`{command_name()} regex allow --familiar {root.name}`",
        err=err,
    )


def missing_settings(root: Path, home: Path) -> list[SettingRequest]:
    """The settings in the familiar's files that let it do or tell more, and that the owner has not allowed."""
    from familiar_connect.config.load import find_unallowed_settings

    return find_unallowed_settings(FamiliarFolder(root), OwnerConsent(home, root.name), defaults_path=profile_of(home))


def ask_about_settings(root: Path, home: Path) -> None:
    """Ask the person at the terminal about each such setting; where nobody can be asked, say that it does not count."""
    for each in missing_settings(root, home):
        say(f"{root.name} has the setting {each}, which you have not allowed. It {each.effect}.", err=True)
        if _can_ask() and click.confirm("Allow it from now on?", default=False, err=True):
            OwnerConsent(home, root.name).allow_setting(each.key, each.value)
        else:
            say(f"It has no effect. To allow it: `{allow_command(root, each)}`", err=True)


def ask_about_offered(root: Path, home: Path, offered: Mapping[str, object]) -> None:
    """Ask the person at the terminal about settings that came with someone else's familiar and were not taken."""
    from familiar_connect.config.merge import merge_settings

    consent, file = OwnerConsent(home, root.name), FamiliarFolder(root).settings_file
    for each in consent.missing_settings(offered):
        say(f"It came with the setting {each}: {root.name} then {each.effect}.")
        if not (_can_ask() and click.confirm("Take it?", default=False)):
            say(f"Not added. If you want it, write it into {file}.")
            continue
        wanted = f"{each.key} = {toml_literal(each.value)}"
        write_text(file, merge_settings(read_text(file) or "", wanted, where=file))
        consent.allow_setting(each.key, each.value)


def allow_command(root: Path, asked: SettingRequest) -> str:
    """What the owner types to allow a setting."""
    key = f'"{asked.key}"' if " " in asked.key else asked.key
    return f"{command_name()} trust setting {key} --familiar {root.name}"


def say_waiting_scripts(root: Path, home: Path) -> None:
    """A sentence where scripts wait that nobody was ever asked about, such as those of a folder that was copied in."""
    try:
        waiting = waiting_scripts(scripts_of(root, OwnerConsent(home, root.name)))
    except (PresetError, ConfigError):  # `doctor` and the reply say so
        return
    if waiting:
        what, are = pluralize(len(waiting), "regex script"), "is" if len(waiting) == 1 else "are"
        say(
            f"{what} of {root.name} {are} off until you allow {'it' if len(waiting) == 1 else 'them'}: "
            f"`{command_name()} regex allow --familiar {root.name}`",
            err=True,
        )


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
