"""/reset and /compact: where the dialogue that the model is shown begins. What is remembered stays."""

from __future__ import annotations

from familiar_connect.errors import HistoryError
from familiar_connect.familiar import Familiar
from familiar_connect.history.dialogue_starts import StartKind
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.people import note_readers
from familiar_connect.support.aio import off_loop
from familiar_connect.support.translate import later, tr

UNDO = "undo"
BEGUN_ANEW = later("The chat starts over: I no longer see what was said here before. What I remember stays.")
BACK = later("I see again what was said here before.")


async def run_reset(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    if _is_undo(ctx.words, "/reset"):
        await familiar.reply_path.marks.undo(ctx.channel_id, StartKind.reset)
        return SlashReply(text=tr(BACK))
    await familiar.reply_path.marks.reset(ctx.channel_id)
    return SlashReply(text=tr("{begun_anew} /reset {undo} reverts it.").format(begun_anew=tr(BEGUN_ANEW), undo=UNDO))


async def run_compact(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    if _is_undo(ctx.words, "/compact"):
        await familiar.reply_path.marks.undo(ctx.channel_id, StartKind.compact)
        return SlashReply(text=tr(BACK))
    await off_loop(note_readers, ctx, familiar)  # the summary is made of what they may be told
    summary = await familiar.reply_path.marks.compact(ctx.channel_id)
    told = tr("From now on I see this summary instead of the chat so far (/compact {undo} reverts it):").format(
        undo=UNDO
    )
    return SlashReply(text=f"{told}\n{summary}")


def _is_undo(words: str, command: str) -> bool:
    wanted = words.strip().lower()
    if wanted not in ("", UNDO):
        raise HistoryError(tr("Say {command} alone, or {command} {undo}.").format(command=command, undo=UNDO))
    return wanted == UNDO


_UNDO = SlashOption(name="choice", description=later("undo reverts the last one."), choices=(UNDO,))

DIALOGUE_START_COMMANDS = (
    SlashCommand(
        name="reset",
        description=later("Start the chat over; what I remember stays. /reset undo reverts it."),
        run=run_reset,
        is_control=True,
        options=(_UNDO,),
        words=(UNDO,),
    ),
    SlashCommand(
        name="compact",
        description=later("Replace what I see of the chat so far with a summary. /compact undo reverts it."),
        run=run_compact,
        is_control=True,
        options=(_UNDO,),
        words=(UNDO,),
    ),
)
