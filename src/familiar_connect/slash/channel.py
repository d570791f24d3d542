"""/channel-full-rp and its siblings: how the familiar talks in this channel; /channel-backdrop: where that is."""

from __future__ import annotations

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.providers.mode_instructions import SHIPPED_NOTES, resolve_mode_default
from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashForm, SlashHandler, SlashReply
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import one_line, truncate_chars
from familiar_connect.support.translate import later, tr

MAX_PLACEHOLDER = 100
CLEAR = "clear"

_MEANING = {
    ChannelMode.full_rp: later("Full role-play here: scenes, actions, long replies."),
    ChannelMode.text_conversation_rp: later("Chat in character here, as people text each other."),
    ChannelMode.imitate_voice: later("Write here as if every reply were spoken aloud."),
}


def _set_mode_handler(mode: ChannelMode) -> SlashHandler:
    async def set_mode(ctx: SlashContext, familiar: Familiar) -> SlashReply:
        await off_loop(familiar.channel_configs.set_mode, ctx.channel_id, mode)
        return SlashReply(text=tr("This channel uses the mode {mode} from the next reply on.").format(mode=mode.value))

    return set_mode


MODES = tuple(
    SlashCommand(
        name=f"channel-{mode.value.replace('_', '-')}",
        description=_MEANING[mode],
        run=_set_mode_handler(mode),
        needs_manage=True,
    )
    for mode in ChannelMode
)


async def backdrop_form(ctx: SlashContext, familiar: Familiar) -> SlashForm:
    """The present text, and what the mode says where there is none."""
    config = await off_loop(familiar.channel_configs.get, ctx.channel_id)
    default = await off_loop(
        resolve_mode_default,
        modes_root=FamiliarFolder(familiar.root).modes,
        mode=config.mode,
        defaults_modes_root=familiar.pipelines.defaults_modes_root,
        shipped=SHIPPED_NOTES,
    )
    hint = truncate_chars(one_line(default or tr("Where does this take place?")), MAX_PLACEHOLDER)
    return SlashForm(
        title=tr("Backdrop of this channel"),
        label=tr("Where and how it takes place; leave empty for none"),
        value=config.backdrop_override or "",
        placeholder=hint[:MAX_PLACEHOLDER],
    )


async def run_backdrop(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    text = ctx.words.strip()
    if not text and not ctx.from_form:
        present = await off_loop(familiar.channel_configs.get_backdrop, ctx.channel_id)
        return SlashReply(
            text=present
            or tr("No backdrop yet. Set one with /channel-backdrop TEXT; {clear} clears it.").format(clear=CLEAR)
        )
    if not ctx.from_form and text.lower() == CLEAR:
        text = ""
    label = familiar.labels.format_channel_context(ctx.channel_id)
    await off_loop(familiar.channel_configs.set_backdrop, ctx.channel_id, text, channel_name=label)
    return SlashReply(text=tr("The backdrop is set.") if text else tr("The backdrop is cleared."))


BACKDROP = SlashCommand(
    name="channel-backdrop",
    description=later("Set where the conversation in this channel takes place."),
    run=run_backdrop,
    form=backdrop_form,
    needs_manage=True,
    words=(CLEAR,),
)
