"""/memory: what the familiar keeps for good, as files you can read."""

from __future__ import annotations

from familiar_connect.audience import may_tell_all
from familiar_connect.familiar import Familiar
from familiar_connect.memory.maintenance.person_lookup import find_notes, find_people
from familiar_connect.memory.maintenance.person_page import PersonPage, build_person_page
from familiar_connect.memory.store import MemoryStoreError
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.reply.inspection.turn_view import describe_audience
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.people import readers_at
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import list_some
from familiar_connect.support.translate import later, tr

MAX_LISTED = 60
MAX_SUGGESTED = 25


async def run_memory(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """Without words: the list of files. With a file's name: its text. Both as far as may be told in this place."""
    memory = await off_loop(memory_at_place, ctx, familiar)
    if ctx.words.strip():
        return SlashReply(text=await off_loop(_read_one, familiar, memory, ctx.words.strip()))
    return SlashReply(text=await off_loop(_listing, memory))


def memory_at_place(ctx: SlashContext, familiar: Familiar) -> VisibleMemory:
    """What of memory may be told where the command was used, to those who can read there now."""
    policy = familiar.config.telling_policy
    here = readers_at(ctx, familiar)
    return VisibleMemory(familiar.stores.audiences, lambda said_to: may_tell_all(said_to, here, policy))


def _read_one(familiar: Familiar, memory: VisibleMemory, wanted: str) -> str:
    found = _find_files(familiar, memory, wanted)
    page = _find_person_page(familiar, memory, wanted, found)
    if page is not None:
        return page.text.strip()
    if not found:
        return _explain_nothing(familiar, wanted)
    if len(found) > 1:
        return tr("{wanted!r} could be {found}: say which.").format(
            wanted=wanted, found=list_some(found, MAX_SUGGESTED)
        )
    try:
        return memory.read_file(found[0]).strip()
    except MemoryStoreError as error:
        return str(error)


def _find_person_page(familiar: Familiar, memory: VisibleMemory, wanted: str, found: list[str]) -> PersonPage | None:
    """Whoever is meant by name as one page, where more than one file of theirs may be told here."""
    if wanted in found or f"{wanted}.md" in found:
        return None
    people = find_people(wanted, familiar_id=familiar.id, history=familiar.history_store, store=familiar.memory_store)
    page = build_person_page(memory, people[0].file, describe_audience) if len(people) == 1 else None
    return page if page is not None and len(page.parts) > 1 else None


def _explain_nothing(familiar: Familiar, wanted: str) -> str:
    """Why there is nothing to read about *wanted*."""
    known = (
        find_people(wanted, familiar_id=familiar.id, history=familiar.history_store, store=familiar.memory_store)
        or wanted.casefold() == (familiar.config.user_name or "").casefold()
    )
    if known:
        return tr("I have no note about {wanted} that I may show here yet: I write notes after a conversation.").format(
            wanted=wanted
        )
    return tr("There is no memory file {wanted!r} and no one by that name. /memory lists the files.").format(
        wanted=wanted
    )


def _find_files(familiar: Familiar, memory: VisibleMemory, wanted: str) -> list[str]:
    """The files that are meant: by path, with or without `.md`, by the end of one, or by a person's name."""
    files = memory.list_files()  # all of them: a file past some number would not be there for whoever asks
    names = (wanted, f"{wanted}.md")
    if wanted.endswith(".md") or any(name in files for name in names):
        exact = [name for name in names if name in files]
        return exact[:1] or [path for path in files if path.endswith(f"/{wanted}")]
    return find_notes(
        wanted,
        files,
        familiar_id=familiar.id,
        history=familiar.history_store,
        store=familiar.memory_store,
    ) or [path for path in files if path.endswith(f"/{wanted}.md")]


def _listing(memory: VisibleMemory) -> str:
    files = memory.list_files()
    shown = "\n".join(f"  {path}" for path in files[:MAX_LISTED])
    more = tr("\n  … and {count} more").format(count=len(files) - MAX_LISTED) if len(files) > MAX_LISTED else ""
    how = tr("/memory FILE or a person's name shows one.")
    return tr("My memory is plain Markdown in {root}\n{shown}{more}\n{how}").format(
        root=memory.store.root, shown=shown, more=more, how=how
    )


async def suggest_files(familiar: Familiar, begun: str) -> list[str]:
    """Files whose path holds what was typed so far."""
    files = await off_loop(familiar.memory_store.list_files)
    return [path for path in files if begun.strip().lower() in path.lower()][:MAX_SUGGESTED]


MEMORY = SlashCommand(
    name="memory",
    description=later("List the memory files; /memory FILE or a person's name shows one."),
    run=run_memory,
    options=(SlashOption(name="file", description=later("A file to read, or a person."), suggest=suggest_files),),
    operator_only=True,
)
