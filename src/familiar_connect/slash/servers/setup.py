"""/setup: where the familiar listens on a server, and who may use its controls there; with pickers where there are any.

Each choice holds at once: `/setup channels ID …`, `/setup roles ID …`, `/setup people ID …`.
"""

from __future__ import annotations

from familiar_connect.conversation.channels import channel_label
from familiar_connect.conversation.rules.control_grants import ControlGrant, GrantKind
from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import (
    OptionKind,
    SlashCommand,
    SlashContext,
    SlashOption,
    SlashPicker,
    SlashPlace,
    SlashReply,
)
from familiar_connect.slash.subscribe import listen_to, why_not_subscribable
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import list_some
from familiar_connect.support.translate import later, tr

CHANNELS, ROLES, PEOPLE = "channels", "roles", "people"
MOST_PICKED = 25
HERE_NOW = later(
    "I am {name}, and I listen in this channel from now on. Mention me or say my name, "
    "and I answer. `/privacy` lets you choose what I keep about you."
)
NOWHERE = later("I do not listen anywhere on this server yet.")
MAY_NOT_NAME = later("You need the right to manage this server to choose who may use my controls.")
HOW = later("Say /setup alone, or /setup channels, /setup roles or /setup people with what you choose.")


async def run_setup(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    verb, _, rest = ctx.words.strip().partition(" ")
    ids = list(dict.fromkeys(each.rpartition(":")[2] for each in rest.split()))[:MOST_PICKED]
    if verb not in ("", CHANNELS, ROLES, PEOPLE) or not all(each.isascii() and each.isdigit() for each in ids):
        return SlashReply(text=tr(HOW))
    if verb == CHANNELS:
        done = await _listen_in(ctx, familiar, [int(each) for each in ids])
    elif verb:
        done = await _name(ctx, familiar, "role" if verb == ROLES else "person", ids)
    else:
        done = ""
    shown = await _panel(ctx, familiar)
    return SlashReply(text=f"{done}\n\n{shown}".strip(), pickers=_pickers(ctx), replaces=True)


async def _listen_in(ctx: SlashContext, familiar: Familiar, channel_ids: list[int]) -> str:
    """Listen in each channel where the asker may say so; what became of it, in sentences."""
    begun: list[str] = []
    refused: list[str] = []
    for channel_id in channel_ids:
        place = await ctx.find_place(channel_id)
        if place is None:
            refused.append(tr("I cannot see one of those channels."))
            continue
        label = channel_label(place.channel)
        why = tr("you need the right to manage it") if not place.may_manage else None
        why = why or why_not_subscribable(place, ctx.author.platform)
        if why is not None:
            refused.append(f"{label}: {why.rstrip('.')}.")
            continue
        if familiar.subscriptions.get(channel_id=channel_id, kind=SubscriptionKind.text) is None:
            await listen_to(channel_id, place, familiar)
            await _say_hello(place, familiar)
        begun.append(label)
    name = familiar.name
    done = (
        tr('I listen in {begun} now. Say "{name}, hello" there.').format(begun=list_some(begun, MOST_PICKED), name=name)
        if begun
        else ""
    )
    return " ".join(filter(None, (done, *dict.fromkeys(refused))))


async def _say_hello(place: SlashPlace, familiar: Familiar) -> None:
    """Let everybody who reads there know that somebody listens from now on."""
    if place.say is not None:
        await place.say(tr(HERE_NOW).format(name=familiar.name))


async def _name(ctx: SlashContext, familiar: Familiar, kind: GrantKind, ids: list[str]) -> str:
    """Let the controls be used by these roles or people, in place of those named before."""
    if ctx.guild_id is None or not (ctx.may_manage_server or ctx.is_operator):
        return tr(MAY_NOT_NAME)
    grants = [ControlGrant(server_id=ctx.guild_id, kind=kind, id=each, name=ctx.names.get(each, "")) for each in ids]
    await off_loop(familiar.stores.control_grants.set, ctx.guild_id, kind, grants)
    return tr("Chosen.") if grants else tr("None of them is chosen any more.")


async def _panel(ctx: SlashContext, familiar: Familiar) -> str:
    """How things are now, and what to do next."""
    places = []
    for known in familiar.subscriptions.all():
        if known.guild_id == ctx.guild_id and known.kind is SubscriptionKind.text:
            place = await ctx.find_place(known.channel_id)
            if place is not None:
                places.append(channel_label(place.channel))
    where = tr("I listen in {places}.").format(places=list_some(places, MOST_PICKED)) if places else tr(NOWHERE)
    granted = familiar.stores.control_grants.of_server(ctx.guild_id or 0)
    names = [each.name or each.id for each in granted]
    who = (
        tr(" Besides those who manage a channel, {names} may use my controls.").format(
            names=list_some(names, MOST_PICKED)
        )
        if names
        else ""
    )
    return tr("{where}{who}\nChoose below where I listen; `/unsubscribe-text` in a channel ends it.").format(
        where=where, who=who
    )


def _pickers(ctx: SlashContext) -> tuple[SlashPicker, ...]:
    channels = SlashPicker(kind=OptionKind.channel, label=tr("Where I listen"), words=CHANNELS)
    if not (ctx.may_manage_server or ctx.is_operator):
        return (channels,)
    return (
        channels,
        SlashPicker(kind=OptionKind.role, label=tr("Roles that may use my controls"), words=ROLES, may_be_empty=True),
        SlashPicker(
            kind=OptionKind.person, label=tr("People who may use my controls"), words=PEOPLE, may_be_empty=True
        ),
    )


SETUP = SlashCommand(
    name="setup",
    description=later("Choose where I listen on this server, and who may use my controls."),
    run=run_setup,
    needs_manage=True,
    channels_only=True,
    options=(
        SlashOption(
            name="channel", description=later("A channel to listen in."), kind=OptionKind.channel, words=CHANNELS
        ),
    ),
)
