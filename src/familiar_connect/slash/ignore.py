"""/ignore and /unignore: whose messages are not answered. For the operator."""

from __future__ import annotations

from familiar_connect.config.built_in import EXAMPLE_PLATFORM
from familiar_connect.conversation.ignored import find_author
from familiar_connect.familiar import Familiar
from familiar_connect.identity import LOCAL_PLATFORMS, Author
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.people import MAX_SUGGESTED, suggest_people
from familiar_connect.support.aio import off_loop


async def run_ignore(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """Without words: the list. With a name, a mention or platform:id: that person is answered no more."""
    ignored = familiar.stores.ignored
    if not ctx.words.strip():
        people = await off_loop(ignored.all)
        if not people:
            return SlashReply(text="I ignore nobody. /ignore NAME begins to.")
        return SlashReply(text="I ignore " + ", ".join(map(str, people)) + ". /unignore NAME ends it.")
    who = await off_loop(_find, ctx, familiar)
    if familiar.owner.is_owner(who):
        return SlashReply(text="That is you; I always listen to you.")
    person = await off_loop(ignored.add, who)
    return SlashReply(text=f"I ignore {person} from now on: heard as part of the talk, never answered.")


async def run_unignore(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    if not ctx.words.strip():
        return SlashReply(text="Say whom: /unignore NAME, a mention, or platform:id.")
    who = await off_loop(_find, ctx, familiar)
    if not await off_loop(familiar.stores.ignored.remove, who):
        return SlashReply(text=f"I did not ignore {who.label}.")
    return SlashReply(text=f"I answer {who.label} again.")


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
    return [one.key for one in people if begun.strip().lower() in str(one).lower()][:MAX_SUGGESTED]


IGNORE = SlashCommand(
    name="ignore",
    description="Answer somebody no more; without a name: whom I ignore.",
    run=run_ignore,
    options=(SlashOption(name="person", description="A name, a mention or platform:id.", suggest=suggest_people),),
    operator_only=True,
)

UNIGNORE = SlashCommand(
    name="unignore",
    description="Answer somebody again.",
    run=run_unignore,
    options=(
        SlashOption(
            name="person", description="A name, a mention or platform:id.", required=True, suggest=suggest_ignored
        ),
    ),
    operator_only=True,
)
