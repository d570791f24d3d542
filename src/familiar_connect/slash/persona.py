"""/persona: who the familiar is, in its own card's words; where its owner sits, who they are to it as well."""

from __future__ import annotations

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import write_user_persona
from familiar_connect.familiar import Familiar
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashReply
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import one_line, truncate_chars
from familiar_connect.support.translate import later, tr

MAX_CHARS = 1500
DESCRIPTION = "self/description.md"
CLEAR = "clear"


async def run_persona(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    is_owners_door = ctx.place is None and ctx.is_operator
    if is_owners_door and ctx.words.strip():
        return await _change(one_line(ctx.words).strip(), familiar)
    about = await off_loop(_about, familiar.memory_store)
    also = [alias for alias in familiar.config.aliases if alias != familiar.name]
    names = tr("I am {name}").format(name=familiar.name)
    names += tr(", also called {names}").format(names=", ".join(also)) if also else ""
    text = f"{names}.\n\n{about}" if about else tr("{names}. No one has described me yet.").format(names=names)
    return SlashReply(text=f"{text}\n\n{_about_owner(ctx, familiar)}" if is_owners_door else text)


async def _change(words: str, familiar: Familiar) -> SlashReply:
    """Keep who the owner is, for the next reply and for later runs."""
    text = "" if words.lower() == CLEAR else words
    if len(text) > MAX_CHARS:
        return SlashReply(
            text=tr("That is {count:,} characters; say who you are in at most {max_chars:,}.").format(
                count=len(text), max_chars=MAX_CHARS
            )
        )
    await off_loop(write_user_persona, FamiliarFolder(familiar.root).settings_file, text)
    familiar.reply_path.user_persona.change(text)
    return SlashReply(
        text=tr("From the next reply on I know: {text}").format(text=text)
        if text
        else tr("I no longer know who you are to me.")
    )


def _about_owner(ctx: SlashContext, familiar: Familiar) -> str:
    known = familiar.reply_path.user_persona.read()
    if known:
        return tr("You are {author}: {known}\n/persona TEXT changes it, /persona {clear} removes it.").format(
            author=ctx.author.label, known=known, clear=CLEAR
        )
    return tr("You are {author}. /persona TEXT tells me who you are.").format(author=ctx.author.label)


def _about(store: MemoryStore) -> str:
    try:
        return truncate_chars(store.read_file(DESCRIPTION).strip(), MAX_CHARS)
    except MemoryStoreError:  # a familiar need not have one
        return ""


PERSONA = SlashCommand(
    name="persona", description=later("Show who I am, in the words of my card."), run=run_persona, words=(CLEAR,)
)
