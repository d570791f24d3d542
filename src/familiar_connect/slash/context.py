"""/context: what the model was last shown in this channel, where each block came from and what was cut.

On its own it fits a screen; `/context full` shows the prompt itself as well. Where files can be sent, all of it
comes along as one.
"""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.observe.inspector import explain_turn
from familiar_connect.observe.last_context import turn_of_page
from familiar_connect.observe.turn_table import outline_turn
from familiar_connect.reply.prompt_replay import prompt_page
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashFile, SlashOption, SlashReply
from familiar_connect.slash.people import may_show_prompt
from familiar_connect.support.aio import off_loop
from familiar_connect.support.translate import later, tr

FULL = "full"
FILE_NAME = "context.md"
MORE = later("`/context {full}` shows the prompt itself; so does `familiar inspect`.")
MORE_BY_CHOICE = later("`/context` with `{full}` as its choice shows the prompt itself; so does `familiar inspect`.")
"""Where its words are chosen, not typed."""

FOR_FEWER = later(
    "The last prompt here may be from when fewer people could read this channel. Say "
    "something first; the owner can see the old one with `familiar inspect`."
)


async def run_context(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    await familiar.reply_path.recorder.wait_until_idle()
    page = await off_loop(familiar.last_context_cache.get, channel_id=ctx.channel_id)
    if page is None:
        return SlashReply(text=tr("No context yet: say something first."))
    turn = turn_of_page(page)  # the familiar's latest turn may be of another place
    record = await off_loop(familiar.reply_path.replays.find, turn) if turn else None
    if not await off_loop(may_show_prompt, ctx, familiar, record.request.readers if record is not None else None):
        return SlashReply(text=tr(FOR_FEWER))
    trace = await off_loop(familiar.reply_path.collector.trace, turn) if turn else None
    if trace is None or trace.channel_id != ctx.channel_id:
        text = page.decode("utf-8", errors="replace")
        return SlashReply(text=text, file=SlashFile(name=FILE_NAME, text=text))
    page = await off_loop(prompt_page, trace.trace_id, page, record)
    whole = SlashFile(name=FILE_NAME, text=explain_turn(trace, record, page))
    if ctx.words.strip().lower() == FULL:
        return SlashReply(text=explain_turn(trace, record, page, width=ctx.columns))
    more = tr(MORE if ctx.place is None else MORE_BY_CHOICE).format(full=FULL)
    return SlashReply(text=f"{outline_turn(trace, record, ctx.columns)}\n\n{more}", file=whole)


CONTEXT = SlashCommand(
    name="context",
    description=later("Show what the last prompt was made of and what was cut, or with full all of it."),
    run=run_context,
    needs_manage=True,
    options=(SlashOption(name="choice", description=later("full also shows the prompt itself."), choices=(FULL,)),),
    words=(FULL,),
)
