"""/memory: what the familiar keeps for good, as files you can read."""

from __future__ import annotations

from dataclasses import replace

from familiar_connect.audience import AudienceKind
from familiar_connect.conversation.place_readers import PlaceReaders, telling_policy
from familiar_connect.disclosure import may_tell_all
from familiar_connect.familiar import Familiar
from familiar_connect.memory.store import MemoryStoreError
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.support.aio import off_loop

MAX_LISTED = 60
MAX_SUGGESTED = 25


async def run_memory(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """Without words: the list of files. With a file's name: its text. Both as far as may be told in this place."""
    memory = await off_loop(memory_at_place, ctx, familiar)
    if ctx.words.strip():
        return SlashReply(text=await off_loop(_read_one, memory, ctx.words.strip()))
    return SlashReply(text=await off_loop(_listing, memory))


def memory_at_place(ctx: SlashContext, familiar: Familiar) -> VisibleMemory:
    """What of memory may be told where the command was used. Reads the channel's settings and its newest turn."""
    policy = telling_policy(familiar.config)
    places = PlaceReaders(
        owner=familiar.owner,
        channels=familiar.channel_configs,
        private_channel_ids=familiar.config.private_channel_ids,
        policy=policy,
    )
    is_dm = ctx.place is not None and ctx.guild_id is None
    here = places.at(None, channel_id=ctx.channel_id, guild_id=ctx.guild_id, author=ctx.author, is_dm=is_dm)
    last = familiar.history_store.channel_audience(familiar_id=familiar.id, channel_id=ctx.channel_id)
    if last is not None and last.kind is AudienceKind.SERVER and last.id == ctx.guild_id:
        here = replace(here, audience=last)  # nothing shows the channel here; it was open when it was last seen
    return VisibleMemory(familiar.stores.audiences, lambda said_to: may_tell_all(said_to, here, policy))


def _read_one(memory: VisibleMemory, wanted: str) -> str:
    rel_path = _resolve_path(memory, wanted)
    try:
        return memory.read_file(rel_path).strip()
    except MemoryStoreError as error:
        return str(error)


def _resolve_path(memory: VisibleMemory, wanted: str) -> str:
    """The one file whose name ends in *wanted*, where there is just one; else *wanted* itself."""
    files = memory.glob("**/*.md")
    found = [path for path in files if path.endswith(f"/{wanted}")]
    return found[0] if wanted not in files and len(found) == 1 else wanted


def _listing(memory: VisibleMemory) -> str:
    files = memory.glob("**/*.md")
    shown = "\n".join(f"  {path}" for path in files[:MAX_LISTED])
    more = f"\n  … and {len(files) - MAX_LISTED} more" if len(files) > MAX_LISTED else ""
    return f"Memory is plain Markdown in {memory.store.root}\n{shown}{more}\nRead one with /memory FILE."


async def suggest_files(familiar: Familiar, begun: str) -> list[str]:
    """Files whose path holds what was typed so far."""
    files = await off_loop(familiar.memory_store.glob, "**/*.md")
    return [path for path in files if begun.strip().lower() in path.lower()][:MAX_SUGGESTED]


MEMORY = SlashCommand(
    name="memory",
    description="List the memory files; /memory FILE shows one.",
    run=run_memory,
    options=(SlashOption(name="file", description="A file to read.", suggest=suggest_files),),
    operator_only=True,
)
