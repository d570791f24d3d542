"""/stop: end the reply that is being made or is still arriving. For the operator, and for whoever is being answered.

`/stop say` has the familiar say in a word that it stops, and let the matter rest.
"""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.people import note_readers
from familiar_connect.slash.roleplay import door_of
from familiar_connect.support.aio import off_loop

SAY = "say"
NOT_YOURS = "Only my operator, or the person I am answering, can stop me."
NOTHING = "I am not answering anyone here."


async def run_stop(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    path, wanted = familiar.reply_path, ctx.words.strip().lower()
    if not (ctx.is_operator or path.deliveries.get(ctx.channel_id).answers(ctx.author.canonical_key)):
        return SlashReply(text=NOT_YOURS)
    if not await path.queue.stop(ctx.channel_id):
        return SlashReply(text=NOTHING)
    if wanted == SAY:
        await off_loop(note_readers, ctx, familiar)
        await path.controls.say_stopped(door_of(ctx))
    return SlashReply(text="Stopped. What I had written so far stays.")


STOP = SlashCommand(
    name="stop",
    description="Stop my reply here. With /stop say, I say that I stopped.",
    run=run_stop,
    options=(SlashOption(name="how", description="say: I say that I stopped.", choices=(SAY,)),),
)
