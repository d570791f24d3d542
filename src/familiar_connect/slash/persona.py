"""/persona: who the familiar is, in its own card's words; where its owner sits, who they are to it as well."""

from __future__ import annotations

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import write_user_persona
from familiar_connect.familiar import Familiar
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashReply
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import one_line, truncate_chars

MAX_CHARS = 1500
DESCRIPTION = "self/description.md"
CLEAR = "clear"


async def run_persona(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    is_owners_door = ctx.place is None and ctx.is_operator
    if is_owners_door and ctx.words.strip():
        return await _change(one_line(ctx.words).strip(), familiar)
    about = await off_loop(_about, familiar.memory_store)
    also = [alias for alias in familiar.config.aliases if alias != familiar.name]
    names = f"I am {familiar.name}" + (f", also called {', '.join(also)}" if also else "")
    text = f"{names}.\n\n{about}" if about else f"{names}. No one has described me yet."
    return SlashReply(text=f"{text}\n\n{_about_owner(ctx, familiar)}" if is_owners_door else text)


async def _change(words: str, familiar: Familiar) -> SlashReply:
    """Keep who the owner is, for the next reply and for later runs."""
    text = "" if words.lower() == CLEAR else words
    if len(text) > MAX_CHARS:
        return SlashReply(text=f"That is {len(text):,} characters; say who you are in at most {MAX_CHARS:,}.")
    await off_loop(write_user_persona, FamiliarFolder(familiar.root).settings_file, text)
    familiar.reply_path.user_persona.change(text)
    return SlashReply(text=f"From the next reply on I know: {text}" if text else "I no longer know who you are to me.")


def _about_owner(ctx: SlashContext, familiar: Familiar) -> str:
    known = familiar.reply_path.user_persona.read()
    if known:
        return f"You are {ctx.author.label}: {known}\n/persona TEXT changes it, /persona {CLEAR} removes it."
    return f"You are {ctx.author.label}. /persona TEXT tells me who you are."


def _about(store: MemoryStore) -> str:
    try:
        return truncate_chars(store.read_file(DESCRIPTION).strip(), MAX_CHARS)
    except MemoryStoreError:  # a familiar need not have one
        return ""


PERSONA = SlashCommand(
    name="persona", description="Show who I am, in the words of my card.", run=run_persona, words=(CLEAR,)
)
