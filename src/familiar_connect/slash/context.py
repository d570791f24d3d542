"""/context: what the model was last shown in this channel, where each block came from and what was cut."""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.observe.inspector import explain_turn
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashReply
from familiar_connect.support.aio import off_loop


async def context(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    await familiar.path.witness.settled()
    page = await off_loop(familiar.last_context_cache.get, channel_id=ctx.channel_id)
    if page is None:
        return SlashReply(text="No context yet: say something first.")
    trace = await off_loop(familiar.path.collector.last_trace, familiar.id)
    if trace is None or trace.channel_id != ctx.channel_id:
        return SlashReply(text=page.decode("utf-8", errors="replace"))
    record = await off_loop(familiar.path.replays.find, trace.trace_id)
    return SlashReply(text=explain_turn(trace, record, page))


CONTEXT = SlashCommand(
    name="context",
    description="Show the last prompt: every block, where it came from, what it cost, what was cut.",
    run=context,
    operator_only=True,
)
