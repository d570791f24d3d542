"""preset: SillyTavern presets by hand: bring one in, choose it, switch its parts, look into it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from familiar_connect.bootstrap.import_preset import import_preset as keep_preset
from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.commands.common import familiar_option, home_of, json_option, profile_of, root_of, say, say_json
from familiar_connect.commands.consent import scripts_option, settle_scripts
from familiar_connect.commands.lazy_group import VerbGroup
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import load_character_config
from familiar_connect.errors import ConfigError, PresetError
from familiar_connect.presets.effect import takes_text, why_no_effect
from familiar_connect.presets.import_report import ImportReport, report_on
from familiar_connect.presets.prompt_order import find_node, nodes_of
from familiar_connect.presets.store import PresetStore
from familiar_connect.presets.types import Preset, PresetFidelity, PresetNode
from familiar_connect.support.text import pluralize

EPILOG = """\b
Examples:
  familiar preset import "Marinara.json"    import one and use it
  familiar preset list
  familiar preset show --text               the prompts in order, with their text
  familiar preset toggle "Post-History"     switch one on or off
  familiar preset off                       back to the familiar's own order
  familiar preset use Default --channel 42  in one channel only
A channel's own preset is set by preset = "NAME" or "none" in channels/<id>.toml; without it the familiar's is used.
"""
IMPORT_EPILOG = """\b
Examples:
  familiar preset import Default.json
  familiar preset import Default.json --name "My default"
  familiar preset import context.json instruct.json sysprompt.json samplers.json --name Mine
  familiar preset import Default.json --overwrite     the earlier one of that name is kept as a version
"""
LIST_EPILOG = """\b
Examples:
  familiar preset list
  familiar preset list --json
"""
USE_EPILOG = """\b
Examples:
  familiar preset use Default
  familiar preset use Default --channel 42    in that channel, whatever the familiar's is
"""
OFF_EPILOG = """\b
Examples:
  familiar preset off
  familiar preset off --channel 42      no preset in that channel, whatever the familiar's is
"""
TOGGLE_EPILOG = """\b
Examples:
  familiar preset toggle 7              the number that `preset show` gives it
  familiar preset toggle jailbreak off
  familiar preset toggle "Auxiliary Prompt" on --preset Default
"""
SHOW_EPILOG = """\b
Examples:
  familiar preset show
  familiar preset show Default --text
  familiar preset show --fidelity sillytavern
"""
DELETE_EPILOG = """\b
Examples:
  familiar preset delete Default        asks first; the file is kept among the versions
  familiar preset delete Default --yes
"""
_NAME_WIDTH = 40

preset_option = click.option("--preset", "name", metavar="NAME", help="Which preset (default: the one in force).")
channel_option = click.option(
    "--channel", "channel_id", type=click.IntRange(min=0), metavar="ID", help="Only in the channel with this id."
)
fidelity_option = click.option(
    "--fidelity",
    type=click.Choice([each.value for each in PresetFidelity]),
    help="The channel whose order is meant (default: the familiar's own).",
)


@click.group(cls=VerbGroup, epilog=EPILOG)
def preset() -> None:
    """Import SillyTavern presets, choose one, switch its parts, see its prompts."""


def _import_command(name: str) -> click.Command:
    """The one way to bring in a preset, under either of its names."""

    @click.command(name=name, epilog=IMPORT_EPILOG, short_help="Import a preset file and use it.")
    @click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
    @click.option("--name", metavar="NAME", help="Its name (default: the file's name).")
    @click.option("--overwrite", is_flag=True, help="Replace another preset of that name; it is kept as a version.")
    @scripts_option
    @familiar_option
    @json_option
    @click.pass_context
    def command(
        ctx: click.Context,
        files: tuple[Path, ...],
        name: str | None,
        overwrite: bool,
        allow_scripts: bool | None,
        familiar_id: str | None,
        as_json: bool,
    ) -> None:
        """Import the SillyTavern preset in FILE and use it. The file is kept byte for byte.

        A text-completion preset may come in several files: context template, instruct template, system prompt and
        samplers become one.
        """
        root = root_of(ctx, familiar_id)
        fidelity = _fidelity(ctx, root, None)
        report = keep_preset(
            files[0],
            root,
            name=name,
            overwrite=overwrite,
            fidelity=fidelity,
            parts=files[1:],
            takes_text=_takes_text(ctx, root),
        )
        if as_json:
            say_json(_report_facts(report))
        else:
            _say_report(report, root.name)
        settle_scripts(root, allow=allow_scripts, err=as_json)

    return command


import_ = _import_command("import")
import_preset = _import_command("preset")
preset.add_command(import_)


@preset.command("list", epilog=LIST_EPILOG)
@familiar_option
@json_option
@click.pass_context
def list_(ctx: click.Context, familiar_id: str | None, as_json: bool) -> None:
    """List the presets of the familiar; the one in force is marked."""
    root, store = _opened(ctx, familiar_id)
    active = store.active()
    rows = [_row(store, name, name == active, _fidelity(ctx, root, None)) for name in store.names()]
    if as_json:
        say_json({"familiar": root.name, "active": active, "presets": rows})
        return
    if not rows:
        say(f"{root.name} has no presets. Import one: `familiar preset import FILE.json`.")
        return
    for row in rows:
        mark = "*" if row["active"] else " "
        told = (
            row["problem"] or f"{pluralize(row['prompts'], 'prompt')}, {row['enabled']} of {row['toggleable']} texts on"
        )
        say(f"{mark} {row['name']:<{_NAME_WIDTH}} {told}")
    say("* is in force; `familiar preset use NAME` chooses another." if active else "None is in force.")


@preset.command(epilog=USE_EPILOG)
@click.argument("name")
@channel_option
@familiar_option
@json_option
@click.pass_context
def use(ctx: click.Context, name: str, channel_id: int | None, familiar_id: str | None, as_json: bool) -> None:
    """Use the preset NAME from the next reply on."""
    root, store = _opened(ctx, familiar_id)
    if channel_id is not None:
        _in_channel(ctx, root, channel_id, store.get(store.find(name)).name, as_json=as_json)
        return
    if why := why_no_effect(store.get(name), takes_text=_takes_text(ctx, root)):
        raise PresetError(why)
    active = store.use(name)
    if as_json:
        say_json({"active": active})
    else:
        say(f"{active} is in force for {root.name} from the next reply on.")


@preset.command(epilog=OFF_EPILOG)
@channel_option
@familiar_option
@json_option
@click.pass_context
def off(ctx: click.Context, channel_id: int | None, familiar_id: str | None, as_json: bool) -> None:
    """Use no preset; all of them are kept."""
    root, store = _opened(ctx, familiar_id)
    if channel_id is not None:
        _in_channel(ctx, root, channel_id, None, as_json=as_json)
        return
    store.use_none()
    if as_json:
        say_json({"active": None})
    else:
        say(f"No preset is in force for {root.name}; the prompt has the familiar's own order.")


@preset.command(epilog=TOGGLE_EPILOG)
@click.argument("node")
@click.argument("state", required=False, type=click.Choice(["on", "off"]))
@preset_option
@familiar_option
@json_option
@click.pass_context
def toggle(
    ctx: click.Context, node: str, state: str | None, name: str | None, familiar_id: str | None, as_json: bool
) -> None:
    """Switch the prompt NODE on or off; without a word, the other way.

    NODE is the number that `preset show` gives it, its name or its identifier.
    """
    root, store = _opened(ctx, familiar_id)
    chosen = store.get(_chosen(store, name))
    found = find_node(nodes_of(chosen, _fidelity(ctx, root, None)), node)
    identifier = found.identifier if found is not None else node
    is_on = store.toggle(chosen.name, identifier, None if state is None else state == "on")
    if as_json:
        say_json({"preset": chosen.name, "identifier": identifier, "enabled": is_on})
        return
    say(f"{found.name if found else identifier} is {'on' if is_on else 'off'} in {chosen.name}.")
    if found is not None and found.is_comment:
        say("It is only a comment, which is never sent.")


@preset.command(epilog=SHOW_EPILOG, short_help="Show the prompts of a preset in order.")
@click.argument("name", required=False)
@click.option("--text", is_flag=True, help="Show what each prompt says.")
@fidelity_option
@familiar_option
@json_option
@click.pass_context
def show(
    ctx: click.Context, name: str | None, text: bool, fidelity: str | None, familiar_id: str | None, as_json: bool
) -> None:
    """Show the prompts of a preset in order: on or off, role, place; then what is different here."""
    root, store = _opened(ctx, familiar_id)
    chosen = store.get(_chosen(store, name))
    order = _fidelity(ctx, root, fidelity)
    nodes = nodes_of(chosen, order)
    report = report_on(chosen, fidelity=order)
    if as_json:
        facts = [_node_facts(node, chosen) | ({"content": node.content} if text else {}) for node in nodes]
        say_json({**_report_facts(report), "active": store.active() == chosen.name, "nodes": facts})
        return
    say(f"{chosen.name}{' (in force)' if store.active() == chosen.name else ''}", bold=True)
    for node in nodes:
        say(_line(node, chosen))
        if text and node.content.strip() and not node.is_marker:
            say("\n".join(f"        {line}" for line in node.content.splitlines()))
    for line in report.lines():
        say(line)


@preset.command(epilog=DELETE_EPILOG)
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@familiar_option
@json_option
@click.pass_context
def delete(ctx: click.Context, name: str, yes: bool, familiar_id: str | None, as_json: bool) -> int:
    """Delete the preset NAME. If it was in force, the next one takes its place."""
    _, store = _opened(ctx, familiar_id)
    found = store.find(name)
    if not yes and not click.confirm(f"Delete the preset {found}?", default=False, err=True):
        say("Nothing was deleted.", err=True)
        return 1
    active = store.delete(found)
    if as_json:
        say_json({"deleted": found, "active": active})
    else:
        say(f"{found} is deleted; its file is kept in presets/.versions. In force: {active or 'none'}.")
    return 0


def _opened(ctx: click.Context, familiar_id: str | None) -> tuple[Path, PresetStore]:
    root = root_of(ctx, familiar_id)
    return root, PresetStore(FamiliarFolder(root).presets)


def _in_channel(ctx: click.Context, root: Path, channel_id: int, name: str | None, *, as_json: bool) -> None:
    """Write a channel's own choice into its settings, and say so."""
    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home_of(ctx)))
    channels = ChannelConfigStore(root=FamiliarFolder(root).channels, character=config)
    channels.set_preset(channel_id, name)
    file = FamiliarFolder(root).channel_file(channel_id)
    if as_json:
        say_json({"channel": channel_id, "preset": name, "file": str(file)})
        return
    say(f"{name or 'No preset'} is in force in channel {channel_id}; a running familiar uses it after a restart.")
    say(f"To have the familiar's own there again, remove the line `preset` from {file}.")


def _chosen(store: PresetStore, name: str | None) -> str:
    chosen = name or store.active()
    if chosen is None:
        raise PresetError("no preset is in force; name one: `familiar preset list` shows them")
    return chosen


def _fidelity(ctx: click.Context, root: Path, given: str | None) -> PresetFidelity:
    """What is asked for, else what the familiar's settings say; a broken file there is told elsewhere."""
    if given is not None:
        return PresetFidelity(given)
    with suppress(ConfigError):
        config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home_of(ctx)))
        return PresetFidelity(config.preset_fidelity)
    return PresetFidelity.with_memory


def _takes_text(ctx: click.Context, root: Path) -> bool:
    """Whether replies are asked for with one text; so where the settings cannot be read."""
    with suppress(ConfigError):
        config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home_of(ctx)))
        return takes_text(config)
    return True


def _row(store: PresetStore, name: str, is_active: bool, fidelity: PresetFidelity) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "active": is_active, "problem": None}
    try:
        report = report_on(store.get(name), fidelity=fidelity)
    except PresetError as error:
        return {**row, "problem": str(error)}
    return {**row, "prompts": report.in_order, "toggleable": report.toggleable, "enabled": report.enabled}


def _say_report(report: ImportReport, familiar_id: str) -> None:
    said = {"unchanged": "was here already", "replaced": "replaces the earlier one"}.get(report.outcome, "is here")
    if report.no_effect:
        say(f"{report.name} {said}, and is not in force.", bold=True)
        say(f"  {report.no_effect}")
    else:
        say(f"{report.name} {said} and is in force for {familiar_id} from the next reply on.", bold=True)
    for line in report.lines():
        say(f"  {line}")
    say("See it: `familiar preset show`. Turn it off: `familiar preset off`.")


def _report_facts(report: ImportReport) -> dict[str, object]:
    return {**asdict(report), "fidelity": report.fidelity.value}


def _node_facts(node: PresetNode, chosen: Preset) -> dict[str, object]:
    return {
        "number": node.node_order + 1,
        "identifier": node.identifier,
        "name": node.name,
        "enabled": node.is_enabled,
        "toggled": any(each.identifier == node.identifier for each in chosen.toggles),
        "role": node.role,
        "marker": node.is_marker,
        "comment": node.is_comment,
        "depth": node.depth if node.position == 1 else None,
        "order": node.order if node.position == 1 else None,
        "triggers": node.triggers,
    }


def _line(node: PresetNode, chosen: Preset) -> str:
    toggled = any(each.identifier == node.identifier for each in chosen.toggles)
    facts: list[str] = [node.role]
    if node.is_marker:
        facts.append("marker")
    if node.is_comment:
        facts.append("comment, never sent")
    if node.position == 1:
        facts.append("in the chat, nowhere" if node.depth is None else f"in the chat, depth {node.depth}")
    if node.triggers:
        facts.append(f"on {', '.join(node.triggers)}")
    if toggled:
        facts.append("switched by you")
    name = node.name if len(node.name) <= _NAME_WIDTH else f"{node.name[: _NAME_WIDTH - 1]}…"
    return f"{node.node_order + 1:>4}  {'on ' if node.is_enabled else 'off'}  {name:<{_NAME_WIDTH}} {', '.join(facts)}"
