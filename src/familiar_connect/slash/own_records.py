"""/what-do-you-know-about-me and /forget-me: what is kept of the asker, shown to them alone or erased at their word."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import MemoryStoreError
from familiar_connect.familiar import Familiar
from familiar_connect.identity import LOCAL_PLATFORMS, Author
from familiar_connect.memory.file_audience import without_front_matter
from familiar_connect.memory.maintenance.forget_person import PersonEraser, PersonRecords
from familiar_connect.memory.maintenance.person_lookup import Person, files_of_person
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.slash.memory import memory_at_place
from familiar_connect.support.aio import off_loop
from familiar_connect.support.translate import later, tr, tr_many

CONFIRM = "confirm"
AT_HOME = later(
    "Leave this chat first. Then `familiar memory forget {key} --familiar {id}` shows "
    "what I keep about you, asks you to confirm, and erases it."
)
NOTHING = later("I know nothing about you.")
ELSEWHERE = later("What you told me elsewhere is shown only there.")
MOST_WAITING = 500
"""Messages of one person that may still wait for an answer somewhere."""
LISTENS_ON = later("I still listen to you; /privacy full stops that.")


async def run_what_do_you_know(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    person = await off_loop(_person, ctx.author, familiar)
    notes = await off_loop(_visible_notes, ctx, person, familiar)
    reminders = await off_loop(familiar.stores.reminders.of_person, ctx.author)
    level = familiar.stores.privacy.get(ctx.author).value
    if not (notes or person.turns or reminders):
        return SlashReply(
            text=tr("{nothing} Your privacy setting is {level}; /privacy explains it.").format(
                nothing=tr(NOTHING), level=level
            )
        )
    counts = [tr_many("{count} message of yours", "{count} messages of yours", person.turns)]
    counts += [tr_many("{count} reminder", "{count} reminders", len(reminders))] if reminders else []
    names = tr(" I know you as {names}.").format(names=", ".join(person.names)) if person.names else ""
    head = tr("I keep {counts}; your privacy setting is {level}.{names}").format(
        counts=tr(" and ").join(counts), level=level, names=names
    )
    told = "\n\n".join(notes) or tr("I have no note about you that I may show here.")
    tail = tr("{elsewhere} /forget-me erases everything.").format(elsewhere=tr(ELSEWHERE))
    return SlashReply(text=f"{head}\n\n{told}\n\n{tail}")


def _person(author: Author, familiar: Familiar) -> Person:
    """The asker under every name they were seen under, with how much they said."""
    speakers = familiar.history_store.authors.speakers(familiar_id=familiar.id)
    known = next((each for each in speakers if each.author.canonical_key == author.canonical_key), None)
    return Person(author=known.author, turns=known.turns) if known is not None else Person(author=author)


def _visible_notes(ctx: SlashContext, person: Person, familiar: Familiar) -> list[str]:
    """What the asker's own files say, as far as it may be heard in the place of the command."""
    memory = memory_at_place(ctx, familiar)
    found = []
    for path in files_of_person(person, memory.list_files()):
        try:
            text = without_front_matter(memory.read_file(path)).strip()
        except MemoryStoreError:  # a file that cannot be read tells nothing
            continue
        if text:
            found.append(text)
    return found


async def run_forget_me(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    if ctx.place is None:
        return SlashReply(text=tr(AT_HOME).format(key=ctx.author.canonical_key, id=familiar.id))
    wanted = ctx.words.strip().lower()
    if wanted not in ("", CONFIRM):
        return SlashReply(
            text=tr("Nothing was erased. /forget-me {confirm} erases what I keep about you.").format(confirm=CONFIRM)
        )
    if wanted:
        await ctx.acknowledge(tr("I am erasing what I keep about you."))
        async with familiar.intake.queue.pause():
            await familiar.reply_path.recorder.wait_until_idle()
            told = await erase_person(await off_loop(_person, ctx.author, familiar), familiar)
            return SlashReply(text=f"{told} {tr(LISTENS_ON)}")
    await familiar.reply_path.recorder.wait_until_idle()
    person = await off_loop(_person, ctx.author, familiar)
    return SlashReply(text=_warning(await off_loop(look_up_records, person, familiar)))


def look_up_records(person: Person, familiar: Familiar) -> PersonRecords:
    """What is kept of *person*, and so what erasing takes away."""
    return _eraser(familiar).look_up(person)


def _eraser(familiar: Familiar) -> PersonEraser:
    home = FamiliarFolder(familiar.root).home

    def list_typed_lines(person: Person) -> tuple[Path, ...]:
        """What was typed at this computer's terminal, kept for its editor."""
        is_here = person.author.platform in LOCAL_PLATFORMS
        return (home.chat_lines(familiar.id), home.older_chat_lines) if is_here else ()

    return PersonEraser(
        familiar.root,
        store=familiar.memory_store,
        history=familiar.history_store,
        caches=list_typed_lines,
        keeps_index=familiar.index.current is not None,
    )


def _warning(found: PersonRecords) -> str:
    counts = [len(found.files), len(found.quotes)]
    parts = (
        (found.turns, tr_many("{count} message of yours", "{count} messages of yours", found.turns)),
        (
            counts[0],
            tr_many(
                "{count} file about you, with every earlier version",
                "{count} files about you, with every earlier version",
                counts[0],
            ),
        ),
        (
            counts[1],
            tr_many(
                "{count} part of other files that quote you", "{count} parts of other files that quote you", counts[1]
            ),
        ),
        (
            found.replays,
            tr_many(
                "{count} record of past prompts that may show your words",
                "{count} records of past prompts that may show your words",
                found.replays,
            ),
        ),
    )
    listed = "; ".join(told for count, told in parts if count) or tr("nothing")
    return tr(
        "I keep of you: {listed}. All of it and your reminders are erased for good, in every "
        "place, by /forget-me {confirm}. It cannot be undone. What others said about you "
        "stays."
    ).format(listed=listed, confirm=CONFIRM)


async def erase_person(person: Person, familiar: Familiar) -> str:
    """Erase everything kept of *person* while the familiar lives on, and nothing is being said; what went."""
    last = await off_loop(_last_turns, person, familiar)

    async def erase() -> str:
        gone = await off_loop(_eraser(familiar).forget, person)
        await familiar.index.forget()
        familiar.pipelines.models.side_calls.forget()
        await off_loop(familiar.stores.links.unlink, person.author)
        return tr("Erased: {turns:,} messages, {versions:,} texts and {replays:,} records of prompts.").format(
            turns=gone.turns, versions=gone.versions, replays=gone.replays
        )

    told = await familiar.memory_writer_scheduler.run_alone(erase)
    for channel_id, turn_id in last:
        familiar.intake.revise(channel_id, turn_id, None)
    return told


def _last_turns(person: Person, familiar: Familiar) -> list[tuple[int, int]]:
    """Channel and number of the last things they said, which somebody may be about to answer."""
    ids = familiar.history_store.authors.ids_of(familiar_id=familiar.id, author=person.author)[-MOST_WAITING:]
    found = familiar.history_store.turns_without_words(familiar_id=familiar.id, turn_ids=ids)
    return [(turn.channel_id, turn.id) for turn in found.values()]


WHAT_DO_YOU_KNOW = SlashCommand(
    name="what-do-you-know-about-me",
    description=later("Show what I keep about you, as far as I may say it here. Only you see it."),
    run=run_what_do_you_know,
)

FORGET_ME = SlashCommand(
    name="forget-me",
    description=later("Erase everything I keep about you; it first shows what goes."),
    run=run_forget_me,
    options=(SlashOption(name="choice", description=later("confirm erases it."), choices=(CONFIRM,)),),
    words=(CONFIRM,),
)
