"""/reset and /compact: where the dialogue that the model is shown begins. What is remembered stays."""

from __future__ import annotations

from familiar_connect.errors import HistoryError
from familiar_connect.familiar import Familiar
from familiar_connect.history.orders.channel_marks import MarkKind
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.readers import note_readers
from familiar_connect.support.aio import off_loop

UNDO = "undo"
BEGUN_ANEW = "The chat begins anew: I am shown nothing of what was said here before. What I remember stays."
BACK = "What was said here before is shown to me again."


async def run_reset(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    if _is_undo(ctx.words, "/reset"):
        await familiar.reply_path.marks.undo(ctx.channel_id, MarkKind.reset)
        return SlashReply(text=BACK)
    await familiar.reply_path.marks.reset(ctx.channel_id)
    return SlashReply(text=f"{BEGUN_ANEW} /reset {UNDO} takes it back.")


async def run_compact(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    if _is_undo(ctx.words, "/compact"):
        await familiar.reply_path.marks.undo(ctx.channel_id, MarkKind.compact)
        return SlashReply(text=BACK)
    await off_loop(note_readers, ctx, familiar)  # the summary is made of what they may be told
    summary = await familiar.reply_path.marks.compact(ctx.channel_id)
    return SlashReply(text=f"In place of what was said here I am shown, until /compact {UNDO}:\n{summary}")


def _is_undo(words: str, command: str) -> bool:
    wanted = words.strip().lower()
    if wanted not in ("", UNDO):
        raise HistoryError(f"Say {command} alone, or {command} {UNDO}.")
    return wanted == UNDO


_UNDO = SlashOption(name="choice", description="undo takes the last one back.", choices=(UNDO,))

MARKS = (
    SlashCommand(
        name="reset",
        description="Begin the chat anew; what I remember stays. /reset undo takes it back.",
        run=run_reset,
        is_control=True,
        options=(_UNDO,),
        words=(UNDO,),
    ),
    SlashCommand(
        name="compact",
        description="Show me a summary in place of what was said so far; /compact undo takes it back.",
        run=run_compact,
        is_control=True,
        options=(_UNDO,),
        words=(UNDO,),
    ),
)
