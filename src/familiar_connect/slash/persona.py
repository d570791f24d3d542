"""/persona: who the familiar is, in its own card's words."""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashReply
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import truncate_chars

MAX_CHARS = 1500
DESCRIPTION = "self/description.md"


async def run_persona(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    about = await off_loop(_about, familiar.memory_store)
    also = [alias for alias in familiar.config.aliases if alias != familiar.name]
    names = f"I am {familiar.name}" + (f", also called {', '.join(also)}" if also else "")
    return SlashReply(text=f"{names}.\n\n{about}" if about else f"{names}. Nobody has described me yet.")


def _about(store: MemoryStore) -> str:
    try:
        return truncate_chars(store.read_file(DESCRIPTION).strip(), MAX_CHARS)
    except MemoryStoreError:  # a familiar need not have one
        return ""


PERSONA = SlashCommand(name="persona", description="Who am I?", run=run_persona)
