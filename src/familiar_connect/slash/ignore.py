"""/ignore and /unignore: whose messages are not answered. For the operator."""

from __future__ import annotations

from dataclasses import replace

from familiar_connect.config.built_in import EXAMPLE_PLATFORM
from familiar_connect.conversation.ignored import find_author
from familiar_connect.familiar import Familiar
from familiar_connect.identity import LOCAL_PLATFORMS, Author
from familiar_connect.slash.command import OptionKind, SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.people import MAX_SUGGESTED, suggest_people
from familiar_connect.support.aio import off_loop
from familiar_connect.support.translate import later, tr


async def run_ignore(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """Without words: the list. With a name, a mention or platform:id: that person is answered no more."""
    ignored = familiar.stores.ignored
    if not ctx.words.strip():
        people = await off_loop(ignored.all)
        if not people:
            return SlashReply(text=tr("I ignore no one. /ignore NAME ignores someone."))
        return SlashReply(
            text=tr("I ignore {people}. /unignore NAME answers them again.").format(people=", ".join(map(str, people)))
        )
    who = _with_name(await off_loop(_find, ctx, familiar), ctx)
    if familiar.owner.is_owner(who):
        return SlashReply(text=tr("That is you; I always listen to you."))
    person = await off_loop(ignored.add, who)
    return SlashReply(
        text=tr("I ignore {person} from now on: I still hear them, but I do not answer.").format(person=person)
    )


async def run_unignore(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    if not ctx.words.strip():
        return SlashReply(text=tr("Say who: /unignore NAME, a mention, or platform:id."))
    who = await off_loop(_find, ctx, familiar)
    if not await off_loop(familiar.stores.ignored.remove, who):
        return SlashReply(text=tr("I was not ignoring {who}.").format(who=who.label))
    return SlashReply(text=tr("I answer {who} again.").format(who=who.label))


def _with_name(who: Author, ctx: SlashContext) -> Author:
    """*who* under the name that the platform gives with an id, where nobody here knows one."""
    known = ctx.names.get(who.user_id)
    return who if who.is_named or known is None else replace(who, display_name=known)


def _find(ctx: SlashContext, familiar: Familiar) -> Author:
    here = ctx.author.platform
    return find_author(
        ctx.words,
        familiar.stores.ignored,
        familiar_id=familiar.id,
        history=familiar.history_store,
        store=familiar.memory_store,
        platform=EXAMPLE_PLATFORM if here in LOCAL_PLATFORMS else here,  # nobody is mentioned by a number at our doors
    )


async def suggest_ignored(familiar: Familiar, begun: str) -> list[str]:
    """People on the list whose name or id holds what was typed so far."""
    people = await off_loop(familiar.stores.ignored.all)
    return [str(one) for one in people if begun.strip().lower() in str(one).lower()][:MAX_SUGGESTED]


IGNORE = SlashCommand(
    name="ignore",
    description=later("Stop answering someone. Without a name, lists who is ignored."),
    run=run_ignore,
    options=(
        SlashOption(
            name="person",
            description=later("A name, a mention or platform:id."),
            suggest=suggest_people,
            kind=OptionKind.person,
        ),
    ),
    operator_only=True,
)

UNIGNORE = SlashCommand(
    name="unignore",
    description=later("Answer someone again."),
    run=run_unignore,
    options=(
        SlashOption(
            name="person",
            description=later("A name, a mention or platform:id."),
            required=True,
            suggest=suggest_ignored,
        ),
    ),
    operator_only=True,
)
