"""/preset: the SillyTavern preset of the familiar: which there are, which is in force, what of it is on.

Whoever may use the controls chooses one for the channel, `here`; the familiar's own is the owner's to change.
"""

from __future__ import annotations

from familiar_connect.config.channel import NO_PRESET
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import FamiliarError
from familiar_connect.familiar import Familiar
from familiar_connect.presets.effect import takes_text, why_no_effect
from familiar_connect.presets.prompt_order import find_node, nodes_of
from familiar_connect.presets.store import PresetStore
from familiar_connect.presets.types import PresetFidelity
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.people import names_begun
from familiar_connect.support.aio import off_loop
from familiar_connect.support.translate import later, tr

MAX_LISTED = 40
USAGE = later(
    "Say /preset list, /preset here NAME, /preset here none, /preset here default, "
    "/preset use NAME, /preset off or /preset toggle NODE [on|off]."
)
FOR_ALL_CHANNELS = later(
    "Only my operator may change that, because it applies everywhere. /preset here NAME changes this channel only."
)
OWNERS = ("off", "toggle", "use")
DEFAULT = "default"


async def run_preset(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """List, here, use, off, toggle; without words the list."""
    return SlashReply(text=await off_loop(_answer, ctx, familiar))


def _answer(ctx: SlashContext, familiar: Familiar) -> str:
    store = PresetStore(FamiliarFolder(familiar.root).presets)
    verb, _, rest = ctx.words.strip().partition(" ")
    rest = rest.strip()
    if verb.lower() in OWNERS and not ctx.is_operator:
        return tr(FOR_ALL_CHANNELS)
    try:
        channel = familiar.channel_configs.get(ctx.channel_id)
        fidelity = PresetFidelity(channel.preset_fidelity or familiar.config.preset_fidelity)
        here = _channel_note(channel.preset)
        match verb.lower():
            case "" | "list" | "show":
                return _listing(store, fidelity, channel.preset, is_operator=ctx.is_operator) + here
            case "here" if rest:
                return _choose_here(ctx, familiar, store, rest)
            case "use" if rest:
                if why := why_no_effect(store.get(rest), takes_text=takes_text(familiar.config)):
                    return why
                told = tr("{preset} is in force from the next reply on.{here}")
                return told.format(preset=store.use(rest), here=here)
            case "off":
                store.use_none()
                return tr("No preset is in force.{here}").format(here=here)
            case "toggle" if rest:
                return _toggle(store, fidelity, channel.preset, rest)
    except FamiliarError as error:
        return str(error)
    return tr(USAGE)


def _choose_here(ctx: SlashContext, familiar: Familiar, store: PresetStore, name: str) -> str:
    """Give this channel a preset of its own, none at all, or the familiar's again."""
    channels = familiar.channel_configs
    channel_id = channels.settings_channel(ctx.channel_id)
    if name.casefold() == DEFAULT:
        channels.clear_preset(channel_id)
        return tr("This channel has the familiar's preset from the next reply on: {preset}.").format(
            preset=store.active() or tr("none")
        )
    if name.casefold() == NO_PRESET:
        channels.set_preset(channel_id, None)
        return tr("This channel has no preset from the next reply on.")
    found = store.find(name)
    channels.set_preset(channel_id, found)
    return tr("{preset} is in force in this channel from the next reply on.").format(preset=found)


def _channel_note(own: str | None) -> str:
    """What to know where the channel goes its own way."""
    if own is None:
        return ""
    return tr("\nThis channel's settings choose {preset} for itself, whatever the familiar's is.").format(
        preset=own or tr("no preset")
    )


def _listing(store: PresetStore, fidelity: PresetFidelity, own: str | None, *, is_operator: bool) -> str:
    names, active = store.names(), store.active()
    if not names:
        return tr("There are no presets. My owner imports one with `familiar preset import FILE`.")
    shown = [f"  {'*' if name == active else ' '} {name}" for name in names[:MAX_LISTED]]
    if len(names) > MAX_LISTED:
        shown.append(tr("  … and {count} more").format(count=len(names) - MAX_LISTED))
    lines = [tr("Presets (* is in force):"), *shown]
    chosen = store.lookup(own)
    if chosen is not None and is_operator:
        nodes = nodes_of(chosen, fidelity)
        lines.append(f"{chosen.name}:")
        lines += [
            f"  {node.node_order + 1}. [{'x' if node.is_enabled else ' '}] {node.name}" for node in nodes[:MAX_LISTED]
        ]
        if len(nodes) > MAX_LISTED:
            lines.append(tr("  … and {count} more").format(count=len(nodes) - MAX_LISTED))
        lines.append(tr("Switch one with /preset toggle NUMBER."))
    return "\n".join(lines)


def _toggle(store: PresetStore, fidelity: PresetFidelity, own: str | None, words: str) -> str:
    chosen = store.lookup(own)
    if chosen is None:
        return tr("No preset is in force here; choose one with /preset use NAME.")
    nodes = nodes_of(chosen, fidelity)
    wanted, on = words, None
    head, _, tail = words.rpartition(" ")
    if head.strip() and tail.lower() in ("on", "off") and find_node(nodes, words) is None:
        wanted, on = head.strip(), tail.lower() == "on"
    node = find_node(nodes, wanted)
    is_on = store.toggle(chosen.name, node.identifier if node is not None else wanted, on)
    told = tr("{node} is on in {preset}.") if is_on else tr("{node} is off in {preset}.")
    return told.format(node=node.name if node is not None else wanted, preset=chosen.name)


async def suggest_preset_words(familiar: Familiar, begun: str) -> list[str]:
    """What may follow /preset, with the names of the presets there are."""
    names = await off_loop(PresetStore(FamiliarFolder(familiar.root).presets).names)
    here = [f"here {name}" for name in (*names, NO_PRESET, DEFAULT)]
    return names_begun(["list", *OWNERS, *here, *(f"use {name}" for name in names)], begun)


PRESET = SlashCommand(
    name="preset",
    description=later("List the SillyTavern presets; /preset here NAME, use NAME, off, toggle NODE."),
    run=run_preset,
    is_control=True,
    options=(
        SlashOption(
            name="words", description=later("here NAME, use NAME, off, or toggle NODE."), suggest=suggest_preset_words
        ),
    ),
)
