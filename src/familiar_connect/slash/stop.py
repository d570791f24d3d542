"""/stop: end the reply that is being made or is still arriving. For the operator, and for whoever is being answered."""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashReply

NOT_YOURS = "Only the familiar's operator, or whoever I am answering, can stop me."
NOTHING = "I am not answering anybody here."


async def run_stop(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    path = familiar.reply_path
    if not (ctx.is_operator or path.deliveries.get(ctx.channel_id).answers(ctx.author.canonical_key)):
        return SlashReply(text=NOT_YOURS)
    stopped = await path.queue.stop(ctx.channel_id)
    return SlashReply(text="Stopped. What had arrived stays." if stopped else NOTHING)


STOP = SlashCommand(name="stop", description="End the reply that I am making here.", run=run_stop)
