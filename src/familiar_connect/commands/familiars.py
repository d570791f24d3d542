"""init, list: new familiars, and who lives in this home."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click

from familiar_connect.commands.common import familiar_meant, home_of, json_option, say, say_below, say_json
from familiar_connect.commands.consent import scripts_of, scripts_option, settle_scripts
from familiar_connect.commands.doctor_checks import active_preset, platforms_of
from familiar_connect.commands.usage_hints import explain_file
from familiar_connect.config.command import command_name
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import is_valid_familiar_id, list_familiars
from familiar_connect.config.permissions import refuse_links
from familiar_connect.config.toml import format_value
from familiar_connect.errors import FamiliarError, HomeError
from familiar_connect.support.text import pluralize
from familiar_connect.support.text_table import TableStyle, text_table
from familiar_connect.support.word_wrap import columns_of

INIT_EPILOG = """\b
Examples:
  familiar init                     make Ember, the starter character
  familiar init mira --name Mira    make a familiar called Mira; edit its files to shape it
  familiar init --from-card Mira.png               from a SillyTavern card: PNG, JSON, CHARX, YAML
  familiar init mira --from-card Mira2.png --overwrite    a newer card; `memory log` keeps the old one
"""

_PLAIN_NAME = re.compile(r"[\w .'-]{1,64}")
"""A name that means the same between quotes in every shell."""
MOST_SHOWN = 10
"""Sentences about what a card could not bring."""
LISTED = TableStyle(left=(0, 1, 2, 4), indent=0)


@click.command(epilog=INIT_EPILOG)
@click.argument("familiar_id", required=False, metavar="[ID]")
@click.option("--name", help="The character's name (default: the ID, capitalised).")
@click.option("--as", "user_name", metavar="NAME", help="What it calls you in the terminal.")
@click.option("--from-card", "card", type=click.Path(path_type=Path), metavar="FILE", help="Make it from a card file.")
@click.option("--overwrite", is_flag=True, help="With --from-card: replace an existing character.")
@scripts_option
@click.pass_context
def init(
    ctx: click.Context,
    familiar_id: str | None,
    name: str | None,
    user_name: str | None,
    card: Path | None,
    overwrite: bool,
    allow_scripts: bool | None,
) -> None:
    """Make a new familiar: a folder with settings, a character and a memory."""
    if familiar_id is not None:
        _check_id(familiar_id, is_named=name is not None, has_card=card is not None)
    if card is not None:
        if name is not None:
            raise click.UsageError("--name does not work with --from-card, which has a name: edit memory/self/name.md")
        root = _init_from_card(home_of(ctx), familiar_id, card, user_name, overwrite=overwrite)
        settle_scripts(root, allow=allow_scripts)
        say(f"Talk to it: `{command_name()} chat --familiar {root.name}`")
        return
    if overwrite:
        raise click.UsageError("--overwrite goes with --from-card FILE")
    if allow_scripts is not None:
        raise click.UsageError("--allow-scripts and --no-scripts go with --from-card FILE")
    from familiar_connect.bootstrap.starter import STARTER_ID, make_starter  # heavy: `list` does without it

    wanted = familiar_id or STARTER_ID
    called = name or (None if wanted == STARTER_ID else wanted[:1].upper() + wanted[1:])
    root = make_starter(home_of(ctx), wanted, name=called, user_name=user_name)
    _share_name(root, user_name)
    say(f"Made {root}")
    say("  character.toml               settings, every key explained")
    say("  memory/self/description.md   who it is: edit it, and the next reply uses it")
    say("  memory/self/mes_example.md   how it talks: a small model copies its voice from these lines")
    say(f"Talk to it: `{command_name()} chat --familiar {wanted}`")


def _check_id(wanted: str, *, is_named: bool, has_card: bool) -> None:
    """A `UsageError` with the command to use instead, where *wanted* cannot name a familiar."""
    if is_valid_familiar_id(wanted):
        return
    if not has_card and (habit := explain_file(wanted)):
        raise click.UsageError(f"a file name is not a familiar's name. {habit}")
    from familiar_connect.bootstrap.from_card import id_from_words

    called = wanted if _PLAIN_NAME.fullmatch(wanted) else "NAME"
    more = "" if is_named or has_card else f' --name "{called}"'
    raise click.UsageError(
        f"{format_value(wanted)} cannot name a familiar's folder: use a-z, A-Z, 0-9, - and _, at most 64 of them, and "
        f"start with a letter or digit, for example `familiar init {id_from_words(wanted)}{more}`"
    )


def _init_from_card(home: Path, wanted: str | None, path: Path, user_name: str | None, *, overwrite: bool) -> Path:
    from familiar_connect.bootstrap.from_card import familiar_id_for, make_from_card, read_card_file
    from familiar_connect.commands.lorebooks import describe_counts

    source = read_card_file(path)
    familiar_id = wanted or familiar_id_for(source.card, path)
    made = make_from_card(home, familiar_id, source, overwrite=overwrite, user_name=user_name)
    _share_name(made.root, user_name)
    card = source.card
    if made.is_new:
        say(f"Made {made.root} from {path}")
    elif made.written or made.lore:
        say(f"Changed {made.root} to {path}; what was there before: `{command_name()} memory log`")
    else:
        say(f"{made.root} has this card already; nothing was changed.")
    say(f"  name                         {card.name or familiar_id}")
    for file in made.written:
        say(f"  memory/{file}")
    if made.lore or made.lore_there:
        there = f", {made.lore_there} there already" if made.lore_there else ""
        say(f"  memory/lore/imported/        {made.lore} {'piece' if made.lore == 1 else 'pieces'} of lore{there}")
    if made.counts is not None:
        say(f"  lorebook inside              {describe_counts(made.counts)}")
    say(f"  greetings                    {bool(card.first_mes) + len(card.alternate_greetings)}")
    _say_linked(card.extras)
    _say_left_out(made.left_out, card.extras, made.root)
    return made.root


def _share_name(root: Path, user_name: str | None) -> None:
    if user_name:
        from familiar_connect.platforms.terminal.own_name import share_user_name

        share_user_name(FamiliarFolder(root), user_name)


def _say_left_out(sentences: list[str], extras: dict[str, object], root: Path) -> None:
    """What of the card has no place here, or could not be taken."""
    from familiar_connect.presets.regex_summary import summarize_scripts

    extensions = extras.get("extensions")
    listed = extensions.get("regex_scripts") if isinstance(extensions, dict) else None
    if isinstance(listed, list) and listed:
        brought = [each for each in scripts_of(root) if each.origin == "card"]
        say(f"  regex scripts                {summarize_scripts(brought, len(listed))}")
    scripts = [key for key in ("tavern_helper", "TavernHelper_scripts") if _has(extensions, key)]
    if scripts:
        say(f"  kept for export, but not used here: {', '.join(scripts)}")
    for sentence in sentences[:MOST_SHOWN]:
        say(f"  not taken: {sentence}", err=True)
    if len(sentences) > MOST_SHOWN:
        say(f"  … and {len(sentences) - MOST_SHOWN} more", err=True)


def _say_linked(extras: dict[str, object]) -> None:
    """What the card names and does not bring, and what is for groups only."""
    extensions = extras.get("extensions")
    world = extensions.get("world") if isinstance(extensions, dict) else None
    if isinstance(world, str) and world.strip():
        say(f"  linked lorebook              {world}: export it from SillyTavern and `import lorebook` it as well")
    groups = extras.get("group_only_greetings")
    if isinstance(groups, list) and groups:
        say(f"  greetings for groups         {len(groups)}, said when a group chat begins")


def _has(extensions: object, key: str) -> bool:
    return isinstance(extensions, dict) and bool(extensions.get(key))


@click.command(name="list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List the familiars in this home: model, number of messages, platforms and preset."""
    home = home_of(ctx)
    meant = _meant(home)
    rows = [_facts(HomeFolder(home).familiar(name).root) | {"current": name == meant} for name in list_familiars(home)]
    if as_json:
        say_json({"home": str(home), "familiars": rows})
        return
    if not rows:
        say(f"There is no familiar in {home} yet. Make one: `{command_name()} init`")
        return
    say(f"Familiars in {home}")
    say(text_table([""] * 5, [_cells(row) for row in rows], columns_of(sys.stdout), LISTED))
    for row in rows:
        if row["problem"]:
            say_below("  ! ", f"{row['id']}: {row['problem']}")
    if meant is not None and len(rows) > 1:
        say("* is the default; --familiar ID chooses another.")


def _meant(home: Path) -> str | None:
    """Who answers where none is named; None where one has to be named."""
    try:
        return familiar_meant(home)
    except HomeError:
        return None


def _cells(row: dict[str, Any]) -> list[str]:
    more = [f"on {name}" for name in row["platforms"]]
    more += [f"preset {row['preset']}"] if row["preset"] else []
    mark = "* " if row["current"] else "  "
    return [f"{mark}{row['id']}", row["name"], row["model"], pluralize(row["turns"], "turn"), "  ".join(more)]


def _facts(root: Path) -> dict[str, Any]:
    """What can be said of one familiar without waking it; what is wrong with it is part of that."""
    from familiar_connect.config.home import profile_path
    from familiar_connect.config.load import load_character_config
    from familiar_connect.memory.persona import read_persona_name

    facts: dict[str, Any] = {"id": root.name, "name": root.name, "model": "?", "turns": 0, "problem": None}
    facts |= {"platforms": [], "preset": None}
    try:
        refuse_links(FamiliarFolder(root))
    except FamiliarError as error:
        return facts | {"problem": str(error)}
    try:
        facts["name"] = read_persona_name(FamiliarFolder(root).memory, root.name)
        config = load_character_config(
            FamiliarFolder(root).settings_file, defaults_path=profile_path(FamiliarFolder(root).home.root)
        )
        facts["model"] = config.llm["main_prose"].model
        facts |= {"platforms": platforms_of(root), "preset": active_preset(root)}
    except FamiliarError as error:
        facts["problem"] = str(error)
    try:
        facts["turns"] = _turns(root)
    except FamiliarError as error:
        facts["problem"] = facts["problem"] or str(error)
    return facts


def _turns(root: Path) -> int:
    """How much was said, whatever ails the settings."""
    from familiar_connect.history.chats import count_turns

    if (found := count_turns(root)) is not None:
        return found
    from familiar_connect.history.message_edits import count_undone  # what an older or a damaged file takes
    from familiar_connect.history.store import HistoryStore

    store = HistoryStore(FamiliarFolder(root).history_db)
    try:
        return store.count(familiar_id=root.name) - count_undone(store, familiar_id=root.name)
    finally:
        store.close()
