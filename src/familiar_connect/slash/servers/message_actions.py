"""What can be done to one message, where a platform offers that on the message: forget, answer, edit, explain."""

from __future__ import annotations

from datetime import timedelta

from familiar_connect.errors import HistoryError
from familiar_connect.familiar import Familiar
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.observe.turn_table import outline_turn
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashFile, SlashForm, SlashReply
from familiar_connect.slash.context import FILE_NAME, FOR_FEWER
from familiar_connect.slash.people import may_show_prompt, note_readers
from familiar_connect.slash.roleplay import door_of
from familiar_connect.support.aio import off_loop
from familiar_connect.support.translate import later, tr

MADE_WITHIN = timedelta(minutes=30)
"""A reply was begun no longer than this before it was there."""
NOT_HEARD = later("I do not know that message: I did not hear it, or it is too old.")
NOT_YOURS = later("Only the person who wrote a message, or someone who may use my controls, can make me forget it.")
FORGOTTEN = later("Forgotten: no prompt, search or memory uses it from now on. The message itself stays here.")
NO_REPLY = later("That is not my reply, so there is nothing to explain.")
NOTHING_KNOWN = later("I no longer know how that reply was made.")


async def find_turn_of(ctx: SlashContext, familiar: Familiar) -> HistoryTurn:
    """The turn that the message is part of, among the newest; an error in words where there is none."""
    turn = await familiar.reply_path.controls.find_message(ctx.channel_id, ctx.message_id or "")
    if turn is None:
        raise HistoryError(tr(NOT_HEARD))
    return turn


def _may_control(ctx: SlashContext) -> bool:
    return ctx.is_operator or ctx.may_control or ctx.may_manage


def _is_by(turn: HistoryTurn, author: Author) -> bool:
    return turn.author is not None and turn.author.canonical_key == author.canonical_key


async def run_forget_message(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    turn = await find_turn_of(ctx, familiar)
    if not (_is_by(turn, ctx.author) or _may_control(ctx)):
        return SlashReply(text=tr(NOT_YOURS))
    assert ctx.message_id is not None
    await familiar.reply_path.message_edits.on_delete(ctx.channel_id, [ctx.message_id])
    return SlashReply(text=tr(FORGOTTEN))


async def run_answer_message(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    turn = await find_turn_of(ctx, familiar)
    if turn.role == "assistant":
        return SlashReply(text=tr("That is my own message; /regenerate makes my last reply again."))
    await off_loop(note_readers, ctx, familiar)
    await familiar.reply_path.controls.answer_turn(door_of(ctx), turn)
    return SlashReply(text=tr("Answered."), is_aside=True)


async def open_edit(ctx: SlashContext, familiar: Familiar) -> SlashForm:
    turn = await find_turn_of(ctx, familiar)
    return SlashForm(title=tr("Edit what I know of this"), label=tr("What it is to read"), value=turn.display_text)


async def run_edit_message(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    turn = await find_turn_of(ctx, familiar)
    await familiar.reply_path.controls.edit_turn(door_of(ctx), turn, ctx.words.strip())
    return SlashReply(
        text=tr("It now reads like that.") if turn.role == "assistant" else tr("I now know it like that.")
    )


async def run_explain_message(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """What the model was shown for that reply, where those who read here may see it."""
    turn = await find_turn_of(ctx, familiar)
    if turn.role != "assistant":
        return SlashReply(text=tr(NO_REPLY))
    path = familiar.reply_path
    await path.recorder.wait_until_idle()
    made = await off_loop(
        path.collector.starts_in_channel,
        familiar_id=familiar.id,
        channel_id=ctx.channel_id,
        start=turn.timestamp - MADE_WITHIN,
        end=turn.timestamp,
    )
    trace = await off_loop(path.collector.trace, made[-1][0]) if made else None
    if trace is None:
        return SlashReply(text=tr(NOTHING_KNOWN))
    record = await off_loop(path.replays.find, trace.trace_id)
    if not await off_loop(may_show_prompt, ctx, familiar, record.request.readers if record is not None else None):
        return SlashReply(text=tr(FOR_FEWER))
    told = outline_turn(trace, record, ctx.columns)
    return SlashReply(text=tr("The file shows what I saw for that reply."), file=SlashFile(name=FILE_NAME, text=told))


MESSAGE_ACTIONS = (
    SlashCommand(
        name="forget-message",
        description=later("Forget one message."),
        run=run_forget_message,
        message_title=later("Forget this"),
    ),
    SlashCommand(
        name="answer-message",
        description=later("Answer one message."),
        run=run_answer_message,
        message_title=later("Answer this"),
        is_control=True,
    ),
    SlashCommand(
        name="edit-message",
        description=later("Change what I know of one message, or what I said."),
        run=run_edit_message,
        form=open_edit,
        message_title="Edit",
        is_control=True,
    ),
    SlashCommand(
        name="explain-message",
        description=later("Show what a reply was made of."),
        run=run_explain_message,
        message_title=later("Why did you say that?"),
        needs_manage=True,
    ),
)
