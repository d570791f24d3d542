"""/memory: what the familiar keeps for good, as files you can read."""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.support.aio import off_loop

MAX_LISTED = 60
MAX_SUGGESTED = 25


async def run_memory(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """Without words: the list of files. With a file's name: its text."""
    store = familiar.memory_store
    if ctx.words.strip():
        return SlashReply(text=await off_loop(_read_one, store, ctx.words.strip()))
    return SlashReply(text=await off_loop(_listing, store))


def _read_one(store: MemoryStore, wanted: str) -> str:
    rel_path = _resolve_path(store, wanted)
    try:
        return store.read_file(rel_path).strip() or f"{rel_path} is empty."
    except MemoryStoreError as error:
        return str(error)


def _resolve_path(store: MemoryStore, wanted: str) -> str:
    """The one file whose name ends in *wanted*, where there is just one; else *wanted* itself."""
    files = store.glob("**/*.md")
    found = [path for path in files if path.endswith(f"/{wanted}")]
    return found[0] if wanted not in files and len(found) == 1 else wanted


def _listing(store: MemoryStore) -> str:
    files = store.glob("**/*.md")
    shown = "\n".join(f"  {path}" for path in files[:MAX_LISTED])
    more = f"\n  … and {len(files) - MAX_LISTED} more" if len(files) > MAX_LISTED else ""
    return f"Memory is plain Markdown in {store.root}\n{shown}{more}\nRead one with /memory FILE."


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
