"""/link and /unlink: one person on several networks. Only in direct chats, where nobody else reads a code."""

from __future__ import annotations

from familiar_connect.audience import AudienceKind, Readers
from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.people import note_readers
from familiar_connect.support.aio import off_loop
from familiar_connect.support.translate import later, tr

NOT_ALONE = later("Write that to me in a direct chat, where nobody else reads the code.")
FIRST_CODE = later(
    "If you also talk with me elsewhere, say this there in a direct chat, within ten "
    "minutes: /link {code}\nYou get a second code there, to be said here. Give neither to "
    "anybody: who is linked with you is told what you tell me in direct chats."
)
SECOND_CODE = later(
    "This came from {other}. If that is you, say this there to finish: /link {code}\nIf "
    "it is not, do nothing: somebody wants to read along. Nothing is linked yet."
)
JOINED = later("Done: what you tell me in a direct chat on one side I may tell you on the other. /unlink ends it.")
WRONG_CODE = later("That code is wrong, used up or too old. /link gives a new one.")
UNLINKED = later("You are linked with nobody any more: each of your chats is for itself again.")
WAS_NOT_LINKED = later("You were not linked.")


async def run_link(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    if not _is_alone(await off_loop(note_readers, ctx, familiar), ctx):
        return SlashReply(text=tr(NOT_ALONE))
    links, code = familiar.stores.links, ctx.words.strip()
    if not code:
        return SlashReply(text=tr(FIRST_CODE).format(code=await off_loop(links.offer, ctx.author)))
    step = await off_loop(links.say, ctx.author, code)
    if step is None:
        return SlashReply(text=tr(WRONG_CODE))
    return SlashReply(text=tr(JOINED) if step.is_joined else tr(SECOND_CODE).format(other=step.other, code=step.code))


async def run_unlink(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    was_linked = await off_loop(familiar.stores.links.unlink, ctx.author)
    return SlashReply(text=tr(UNLINKED) if was_linked else tr(WAS_NOT_LINKED))


def _is_alone(here: Readers, ctx: SlashContext) -> bool:
    """Whether nobody but the asker reads here."""
    is_direct = here.audience.kind is AudienceKind.PEOPLE and here.audience.people == {ctx.author.canonical_key}
    return is_direct or here.is_owner


LINK = SlashCommand(
    name="link",
    description=later("Let me know that you are the same person elsewhere, by a code said on both sides."),
    run=run_link,
    options=(SlashOption(name="code", description=later("The code that I gave you on the other side.")),),
)
UNLINK = SlashCommand(
    name="unlink",
    description=later("Undo /link: each of your chats is for itself again."),
    run=run_unlink,
)
