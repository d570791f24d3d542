"""memory forget, export: everything kept of one person, given to them or erased."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from familiar_connect.commands.common import familiar_option, home_of, json_option, profile_of, say, say_json
from familiar_connect.commands.memory.session import MemorySession, open_session
from familiar_connect.config.built_in import EXAMPLE_PLATFORM
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.errors import HomeError
from familiar_connect.identity import Author
from familiar_connect.memory.maintenance.person_lookup import Person, PersonNotFound, find_person
from familiar_connect.support.files import is_held
from familiar_connect.support.text import fold_name, one_line, pluralize, printable, truncate_chars

if TYPE_CHECKING:  # a verb loads no more than it needs
    from familiar_connect.memory.maintenance.forget_person import PersonRecords

QUOTE_CHARS = 120
MAX_QUOTES_SHOWN, MAX_FILES_SHOWN = 30, 50

FORGET_EPILOG = f"""\b
Examples:
  familiar memory forget Alice            shows what it will do, then asks you to type the name
  familiar memory forget {EXAMPLE_PLATFORM}:123 --dry-run
  familiar memory forget {EXAMPLE_PLATFORM}-123 --yes --also-mentions
It refuses while another program has the familiar open: close that first. An interrupted run is finished by the next.
Exit codes: 0 done, 1 not done, 2 done but another program still holds old pages: stop it and run it again.
"""
EXPORT_EPILOG = """\b
Examples:
  familiar memory export Alice --to alice.zip
"""


@click.command(epilog=FORGET_EPILOG)
@click.argument("person")
@click.option("--dry-run", is_flag=True, help="Only show what it would do.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--also-mentions", is_flag=True, help="Also remove from other files what others said about them.")
@familiar_option
@json_option
@click.pass_context
def forget(
    ctx: click.Context,
    person: str,
    dry_run: bool,
    yes: bool,
    also_mentions: bool,
    familiar_id: str | None,
    as_json: bool,
) -> int:
    """Erase everything kept about PERSON: turns, file, versions, aliases, proposals, traces, summaries, quotes.

    What they said goes wherever memory quotes it: in sessions and in files about others.
    PERSON is a name, an alias, a slug (platform-id) or platform:id. It cannot be undone.
    """
    from familiar_connect.memory.maintenance.forget_person import PersonEraser

    with open_session(ctx, familiar_id) as memory:
        if not dry_run:
            _refuse_while_open(memory.root)
        home = HomeFolder(home_of(ctx))
        tell = _quiet if as_json else _progress
        forgetting = PersonEraser(
            memory.root,
            store=memory.store,
            history=memory.history,
            caches=lambda who: (home.model_cache, *_typed_lines(home, memory.familiar_id, who)),
            progress=tell,
        )
        cut = forgetting.pending_order()
        if cut is not None and not dry_run:
            tell(f"finishing an earlier run that was interrupted: {cut.person.author.canonical_key}")
            forgetting.forget(cut.person, also_mentions=cut.also_mentions)
        who = cut.person if cut is not None and _is_meant(cut.person, person) else _person(memory, person)
        found = forgetting.look_up(who)
        if not as_json or dry_run:
            if as_json:
                say_json(_facts(found))
            else:
                say(_listing(found, also_mentions=also_mentions))
        if dry_run:
            return 0
        if not yes and not _confirmed(who):
            say("Nothing was erased.", err=True)
            return 1
        gone = forgetting.forget(who, also_mentions=also_mentions)
        if as_json:
            result = {"turns": gone.turns, "versions": gone.versions, "edited": gone.edited, "complete": gone.complete}
            say_json({**_facts(found), "erased": result})
        else:
            counts = (gone.turns, "turn"), (gone.versions, "file version"), (gone.replays, "trace")
            turns, versions, traces = (pluralize(count, what) for count, what in counts)
            say(f"Erased {turns}, {versions} and {traces} of {who}.")
        if not gone.complete:
            say("Another program still holds old pages: stop it, then run this again.", err=True)
        return 0 if gone.complete else 2


@click.command(epilog=EXPORT_EPILOG)
@click.argument("person")
@click.option("--to", "target", required=True, type=click.Path(path_type=Path), metavar="FILE.zip", help="Where to.")
@familiar_option
@json_option
@click.pass_context
def export(ctx: click.Context, person: str, target: Path, familiar_id: str | None, as_json: bool) -> None:
    """Export everything kept about PERSON as a ZIP: their turns, their file, its versions, mentions elsewhere."""
    from familiar_connect.memory.maintenance.export_person import export_person

    with open_session(ctx, familiar_id) as memory:
        done = export_person(
            _person(memory, person),
            target,
            familiar_id=memory.familiar_id,
            history=memory.history,
            store=memory.store,
            provenance=memory.provenance,
            progress=_quiet if as_json else _progress,
        )
    if as_json:
        facts = {"file": str(done.path), "turns": done.turns, "versions": done.versions, "mentions": done.mentions}
        say_json(facts)
    else:
        say(f"{done.path}: {done.turns:,} turns, {done.versions} versions, {done.mentions} mentions elsewhere")


def _person(memory: MemorySession, words: str) -> Person:
    """The person *words* mean; the owner by the name they gave too, under which they may not have spoken yet."""
    try:
        return find_person(words, familiar_id=memory.familiar_id, history=memory.history, store=memory.store)
    except PersonNotFound:
        if (owner := _owner_called(memory, words)) is None:
            raise
    known = find_person(owner.canonical_key, familiar_id=memory.familiar_id, history=memory.history, store=memory.store)
    aliases = frozenset(known.author.all_known_names)
    return replace(known, author=replace(known.author, display_name=owner.display_name, aliases=aliases))


def _owner_called(memory: MemorySession, words: str) -> Author | None:
    """Who sits at the terminal, where *words* is the name they gave."""
    from familiar_connect.config.load import load_character_config
    from familiar_connect.platforms.terminal.place import find_terminal_person
    from familiar_connect.privacy import PrivacyRegistry

    folder = FamiliarFolder(memory.root)
    config = load_character_config(folder.settings_file, defaults_path=profile_of(folder.home.root))
    if config.user_name is None or fold_name(config.user_name) != fold_name(words):
        return None
    privacy = PrivacyRegistry(folder.privacy_file)
    return find_terminal_person(config.user_name, memory.history, privacy, memory.familiar_id)


def _refuse_while_open(root: Path) -> None:
    """A program that has the familiar open keeps words in its search index and its next prompt, beyond our reach."""
    from familiar_connect.memory.index.indexing_store import IN_USE_FILE

    folder = FamiliarFolder(root)
    if is_held(folder.running_file) or is_held(folder.index / IN_USE_FILE):
        raise HomeError(
            f"{root.name} is open in another program, so nothing was erased: close it, then run this again, "
            "or forget them on the page under Memory, People"
        )


def _typed_lines(home: HomeFolder, familiar_id: str, person: Person) -> tuple[Path, ...]:
    """What was typed at this terminal, kept for its editor."""
    if person.author.platform != "terminal":
        return ()
    return home.chat_lines(familiar_id), home.older_chat_lines


def _is_meant(person: Person, words: str) -> bool:
    names = {person.slug, person.author.canonical_key, *person.author.all_known_names}
    return fold_name(words) in map(fold_name, names)


def _confirmed(person: Person) -> bool:
    label = printable(person.author.label)
    typed: str = click.prompt(f"This cannot be undone. Type {label} to erase it", default="", show_default=False)
    return typed.strip() == label


def _progress(what: str) -> None:
    say(f"… {what}", err=True)


def _quiet(_: str) -> None:
    """A script wants the result alone."""


def _facts(found: Any) -> dict[str, Any]:
    return {
        "person": found.person.author.canonical_key,
        "names": found.person.names,
        "turns": found.turns,
        "files": found.files,
        "versions": found.versions,
        "aliases": found.aliases,
        "pending": found.pending,
        "pages": found.pages,
        "summaries": found.summaries,
        "quoted": [{"file": quote.rel_path, "text": quote.part.text} for quote in found.quotes],
        "mentioned_in": found.mention_paths,
    }


def _listing(found: PersonRecords, *, also_mentions: bool) -> str:
    def names(words: tuple[str, ...]) -> str:
        shown = ", ".join(words[:10])
        return f"{shown} and {len(words) - 10} more" if len(words) > 10 else shown or "none"

    label = found.person.author.label
    others = tuple(name for name in found.person.names if name != label)
    return "\n".join(
        (
            f"{found.person}, also known as {names(others)}" if others else str(found.person),
            f"  turns          {found.turns:,}",
            f"  file           {names(found.files)}, {pluralize(found.versions, 'version')}",
            f"  aliases        {names(found.aliases)}",
            f"  proposals      {names(found.pending)}",
            f"  last prompts   {names(found.pages)}",
            f"  traces         {found.replays:,} that mention them, and those that repeat their words",
            f"  summaries      {found.summaries}, rewritten from what is left",
            f"  caches         {names(found.caches)}",
            f"  other files    {pluralize(len(found.other_paths), 'file')} quote or name them",
            *_other_files(found, also_mentions),
        )
    )


def _other_files(found: PersonRecords, also_mentions: bool) -> Iterator[str]:
    """Each file of others once, with how much of it goes and how much stays."""
    left = MAX_QUOTES_SHOWN
    for path in found.other_paths[:MAX_FILES_SHOWN]:
        quotes = [each for each in found.quotes if each.rel_path == path]
        named = sum(each.rel_path == path for each in found.mentions)
        gone = len(quotes) + (named if also_mentions else 0)
        fate = [f"{pluralize(gone, 'part')} removed, from earlier versions too"] if gone else []
        fate += [f"stay unless --also-mentions: {pluralize(named, 'part')}"] if named and not also_mentions else []
        yield f"    {path}: {'; '.join(fate)}"
        for quote in quotes[: max(0, left)]:
            yield f"      {truncate_chars(one_line(quote.part.text), QUOTE_CHARS)}"
        left -= len(quotes)
    if len(found.other_paths) > MAX_FILES_SHOWN:
        yield f"    and {pluralize(len(found.other_paths) - MAX_FILES_SHOWN, 'more file')}"
