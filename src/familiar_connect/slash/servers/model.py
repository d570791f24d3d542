"""/model: which model answers in this channel, among those of the server that the familiar is connected to.

The owner may name any; whoever else may use the controls chooses among `model_choices`, for the owner pays.
"""

from __future__ import annotations

import re

from familiar_connect.config.llm import MAIN_SLOT, split_extension_model
from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.people import names_begun
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import list_some
from familiar_connect.support.translate import later, tr

DEFAULT, SHOW = "default", "show"
MOST_LISTED = 20
HOW = later("Say /model NAME, or /model default for the familiar's own.")
NO_OTHERS = later("Here I use {model}, which offers no other models. A model server does: `familiar connect`.")
_NAME = re.compile(r"[!-~]{1,200}")


async def run_model(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """Without words, or `show`: which one answers here."""
    channels, usual = familiar.channel_configs, familiar.config.llm[MAIN_SLOT].model
    channel_id = channels.settings_channel(ctx.channel_id)
    wanted = ctx.words.strip()
    own = (await off_loop(channels.get, channel_id)).model
    if wanted.lower() in ("", SHOW):
        return SlashReply(text=await _present(ctx, familiar, own))
    if wanted.lower() == DEFAULT:
        await off_loop(channels.set_model, channel_id, None)
        return SlashReply(
            text=tr("{usual}, the familiar's own model, answers here from the next reply on.").format(usual=usual)
        )
    if _has_no_others(familiar):
        return SlashReply(text=tr(NO_OTHERS).format(model=usual))
    choices = familiar.config.model_choices
    if not ctx.is_operator and wanted not in choices:
        offered = (
            tr("You may choose {choices}.").format(choices=list_some(choices, MOST_LISTED))
            if choices
            else tr("My owner offers no models yet.")
        )
        return SlashReply(text=tr("Only my owner can choose that model. {offered}").format(offered=offered))
    if not _NAME.fullmatch(wanted):
        return SlashReply(text=tr(HOW))
    await off_loop(channels.set_model, channel_id, wanted)
    there = await familiar.pipelines.models.list_models(MAIN_SLOT) if ctx.is_operator else ()
    doubt = "" if not there or wanted in there else tr(" The server does not list a model of that name.")
    return SlashReply(
        text=tr("{wanted} answers here from the next reply on.{doubt}").format(wanted=wanted, doubt=doubt)
    )


def _has_no_others(familiar: Familiar) -> bool:
    """Whether the familiar's model runs inside the program, or comes from an extension."""
    slot = familiar.config.llm[MAIN_SLOT]
    return slot.is_embedded or split_extension_model(slot.model) is not None


async def _present(ctx: SlashContext, familiar: Familiar, own: str | None) -> str:
    whose = tr("chosen for this channel") if own is not None else tr("the familiar's own")
    told = tr("{model} answers here, {whose}.").format(model=own or familiar.config.llm[MAIN_SLOT].model, whose=whose)
    if _has_no_others(familiar):
        return told
    others = await _suggest_to_owner(familiar, "") if ctx.is_operator else await _suggest(familiar, "")
    models = [each for each in others if each != DEFAULT]
    return f"{told} {tr(HOW)}" + (
        tr(" You can choose {models}.").format(models=list_some(models, MOST_LISTED)) if models else ""
    )


async def _suggest(familiar: Familiar, begun: str) -> list[str]:
    return names_begun([DEFAULT, *familiar.config.model_choices], begun)


async def _suggest_to_owner(familiar: Familiar, begun: str) -> list[str]:
    """What the owner offers to others, and what the server has."""
    listed = () if _has_no_others(familiar) else await familiar.pipelines.models.list_models(MAIN_SLOT)
    return names_begun([DEFAULT, *familiar.config.model_choices, *listed], begun)


MODEL = SlashCommand(
    name="model",
    description=later("Which model answers in this channel; /model NAME, /model default."),
    run=run_model,
    is_control=True,
    options=(
        SlashOption(
            name="model",
            description=later("A model, or default."),
            suggest=_suggest,
            suggest_to_operator=_suggest_to_owner,
        ),
    ),
    words=(SHOW, DEFAULT),
)
