"""import sillytavern, export sillytavern: a whole installation in one command, and back into a folder of that shape."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from familiar_connect.commands import exit_codes
from familiar_connect.commands.chats import lines_to_export, write_lines
from familiar_connect.commands.common import home_of, json_option, open_root, progress_bar, say, say_json
from familiar_connect.commands.conversation import TERMINAL_PLACE
from familiar_connect.commands.import_chat import open_place, take_in
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.home import list_familiars
from familiar_connect.errors import FamiliarError, HomeError
from familiar_connect.support.text import pluralize

if TYPE_CHECKING:
    from familiar_connect.bootstrap.silly_tavern_home import SillyTavernHome
    from familiar_connect.bootstrap.take_over import TakenCharacter

MOST_SHOWN = 30
"""Sentences about what could not be taken; --json has them all."""
IMPORT_EPILOG = """\b
Examples:
  familiar import sillytavern ~/SillyTavern
  familiar import sillytavern ~/SillyTavern/data/default-user --only Wren
  familiar import sillytavern ~/SillyTavern --no-chats
Nothing in that folder is changed. The same command again takes what is new.
Exit codes: 0 everything is imported; 1 something could not be imported; 130 Ctrl-C; the same command continues.
"""
EXPORT_EPILOG = """\b
Examples:
  familiar export sillytavern out
Writes characters, chats, worlds, presets, quick replies and sprites, as they lie in SillyTavern's data/default-user.
Exit codes: 0 everything is written; 1 something could not be written.
"""


@dataclass
class TakenOver:
    """What came of a whole installation."""

    characters: list[TakenCharacter] = field(default_factory=list)
    chats: int = 0
    messages: int = 0
    problems: list[str] = field(default_factory=list)
    worlds_left: list[str] = field(default_factory=list)
    """Lorebooks that no character is linked to."""
    is_stopped: bool = False


@click.command(name="sillytavern", epilog=IMPORT_EPILOG)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--only", metavar="WORDS", help="Only the characters whose file has these words in its name.")
@click.option("--chats/--no-chats", "with_chats", default=True, help="Whether chats come along.")
@json_option
@click.pass_context
def import_sillytavern(ctx: click.Context, folder: Path, only: str | None, with_chats: bool, as_json: bool) -> int:
    """Take over characters, chats, lorebooks, presets, quick replies and sprites of SillyTavern."""
    from familiar_connect.bootstrap.silly_tavern_home import SillyTavernHome

    source, home = SillyTavernHome(folder), home_of(ctx)
    wanted = [path for path in source.cards() if only is None or only.casefold() in path.stem.casefold()]
    if not wanted:
        raise HomeError(f"{source.root / 'characters'}: no character there is called so")
    done = TakenOver()
    try:
        _take_characters(home, source, wanted, done, quiet=as_json)
        if with_chats:
            _take_chats(home, source, done, quiet=as_json)
    except KeyboardInterrupt:
        done.is_stopped = True
    linked = {each.world for each in done.characters}
    done.worlds_left = [name for name in source.worlds() if name not in linked]
    if as_json:
        say_json(asdict(done))
    else:
        _report(done)
    if done.is_stopped:
        return exit_codes.INTERRUPTED
    return exit_codes.FAILED if done.problems or any(each.problems for each in done.characters) else exit_codes.OK


def _take_characters(home: Path, source: SillyTavernHome, cards: list[Path], done: TakenOver, *, quiet: bool) -> None:
    from familiar_connect.bootstrap.take_over import take_over_character

    with progress_bar("Characters", quiet=quiet) as progress:
        for number, path in enumerate(cards, start=1):
            done.characters.append(take_over_character(home, source, path))
            if progress is not None:
                progress(number, len(cards))


def _take_chats(home: Path, source: SillyTavernHome, done: TakenOver, *, quiet: bool) -> None:
    """The chats of each character that was taken, and those of groups for every member of them."""
    by_stem = {Path(each.file).stem: each for each in done.characters if each.familiar}
    groups = list(source.groups())
    with progress_bar("Chats", quiet=quiet) as progress:
        for number, (stem, taken) in enumerate(by_stem.items(), start=1):
            of_groups = [path for group in groups if stem in group.members for path in group.chats]
            files = [*source.chats_of(stem), *of_groups]
            if files:
                _take_files(home, taken, files, done)
            if progress is not None:
                progress(number, len(by_stem))


def _take_files(home: Path, taken: TakenCharacter, files: Iterable[Path], done: TakenOver) -> None:
    from familiar_connect.bootstrap.chat_files.cast import CastWish

    place = open_place(open_root(home, taken.familiar), home)
    with closing(place.history):
        for path in files:
            try:
                for result, _ in take_in(place, path, None, CastWish(), None, done.problems, quiet=True):
                    done.chats += 1
                    done.messages += result.added
            except FamiliarError as error:
                done.problems.append(str(error))


def _report(done: TakenOver) -> None:
    for each in done.characters:
        if not each.familiar:
            continue
        counts = (
            (each.lore, "lore file"),
            (each.moods, "sprite"),
            (each.presets, "preset"),
            (each.quick_replies, "quick reply set"),
        )
        brought = [pluralize(number, what) for number, what in counts if number]
        verb = "Made" if each.is_new else "Looked over"
        say(f"{verb} {each.familiar} from {each.file}{': ' if brought else ''}{', '.join(brought)}.")
    say(f"{pluralize(done.chats, 'chat')} with {pluralize(done.messages, 'new message')}.")
    if done.worlds_left:
        say(
            f"{pluralize(len(done.worlds_left), 'lorebook')} linked to no character: "
            f"{', '.join(done.worlds_left[:10])}. `familiar import lorebook FILE --familiar ID` takes one."
        )
    problems = [*(problem for each in done.characters for problem in each.problems), *done.problems]
    for sentence in problems[:MOST_SHOWN]:
        say(f"familiar: {sentence}", err=True)
    if len(problems) > MOST_SHOWN:
        say(f"familiar: {len(problems) - MOST_SHOWN:,} more; --json has them all.", err=True)
    if done.is_stopped:
        say("familiar: stopped; what was stored stays, and the same command continues from there.", err=True)


@click.command(name="sillytavern", epilog=EXPORT_EPILOG)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@json_option
@click.pass_context
def export_sillytavern(ctx: click.Context, folder: Path, as_json: bool) -> int:
    """Write every familiar as SillyTavern keeps characters, into a new or empty folder."""
    home = home_of(ctx)
    if folder.exists() and any(folder.iterdir()):
        raise HomeError(f"{folder}: is not empty; name a new folder, and copy from it what you want")
    names: set[str] = set()
    counts: dict[str, int] = {}
    problems: list[str] = []
    for familiar_id in list_familiars(home):
        try:
            _export_familiar(home, familiar_id, folder, names, counts)
        except (FamiliarError, OSError) as error:
            problems.append(f"{familiar_id}: {error}")
    if as_json:
        say_json({"folder": str(folder), "written": counts, "problems": problems})
    else:
        written = [pluralize(number, what.removesuffix("s")) for what, number in counts.items()]
        say(f"Wrote {folder}: {', '.join(written) or 'nothing'}.")
        for sentence in problems:
            say(f"familiar: {sentence}", err=True)
    return exit_codes.FAILED if problems else exit_codes.OK


def _export_familiar(home: Path, familiar_id: str, target: Path, names: set[str], counts: dict[str, int]) -> None:
    """One familiar's files below *target*; *names* are taken by others."""
    from familiar_connect.bootstrap.export_card import export_card
    from familiar_connect.bootstrap.take_over import read_origin
    from familiar_connect.memory.persona import persona_name
    from familiar_connect.memory.store import MemoryStore
    from familiar_connect.presets.scripts.quick_replies import QuickReplyStore, name_as_file
    from familiar_connect.presets.store import PresetStore

    root = open_root(home, familiar_id)
    folder, store = FamiliarFolder(root), MemoryStore(FamiliarFolder(root).memory)
    origin = str(read_origin(folder).get("file") or "")
    stem = name_as_file(Path(origin).stem if origin else persona_name(store, familiar_id))
    stem = stem if stem.casefold() not in names else f"{stem} {familiar_id}"
    names.add(stem.casefold())

    def write(path: str, content: bytes, what: str) -> None:
        _write(target / path, content)
        counts[what] = counts.get(what, 0) + 1

    write(f"characters/{stem}.png", export_card(store, familiar_id, "png"), "characters")
    book = _lore_of(store)
    if book is not None:
        write(f"worlds/{stem} lore.json", book, "lorebooks")
    if folder.expressions.is_dir():
        for path in sorted(folder.expressions.iterdir()):
            if path.is_file() and not path.is_symlink():
                write(f"characters/{stem}/{path.name}", path.read_bytes(), "sprites")
    presets, sets = PresetStore(folder.presets), QuickReplyStore(folder.quick_replies)
    for kept, names_there, place, what in (
        (presets.raw, presets.names(), "OpenAI Settings", "presets"),
        (sets.raw, sets.names(), "QuickReplies", "quick reply sets"),
    ):
        for name in names_there:
            content = kept(name)
            path = target / place / f"{name}.json"
            if not path.exists() or path.read_bytes() != content:
                called = name if not path.exists() else f"{name} {familiar_id}"
                write(f"{place}/{called}.json", content, what)
    _export_chats(home, root, target / "chats" / stem, counts)


def _lore_of(store: Any) -> bytes | None:
    """Lore beside the card's own book, as one lorebook; None: there is none."""
    from familiar_connect.bootstrap.export_silly_tavern import DEFAULT_FOLDER, export_silly_tavern_lorebook

    if DEFAULT_FOLDER not in {entry.name for entry in store.list_dir()}:
        return None
    book = export_silly_tavern_lorebook(store).book
    return json.dumps(book, ensure_ascii=False, indent=4).encode() if book.get("entries") else None


def _export_chats(home: Path, root: Path, target: Path, counts: dict[str, int]) -> None:
    from familiar_connect.history.chats import ChatRegistry
    from familiar_connect.history.store import HistoryStore
    from familiar_connect.presets.scripts.quick_replies import name_as_file

    folder = FamiliarFolder(root)
    if not folder.history_db.exists():
        return
    with closing(HistoryStore(folder.history_db)) as history:
        chats = [
            each
            for each in ChatRegistry(folder).all(TERMINAL_PLACE)
            if history.count(familiar_id=root.name, channel_id=each.channel_id)
        ]
    taken: set[str] = set()
    for chat in chats:
        name = name_as_file(chat.name)
        name = name if name.casefold() not in taken else f"{name} {chat.channel_id}"
        taken.add(name.casefold())
        write_lines(target / f"{name}.jsonl", lines_to_export(root, home, chat.name, chat.channel_id, "jsonl", None))
        counts["chats"] = counts.get("chats", 0) + 1


def _write(path: Path, content: bytes) -> None:
    from familiar_connect.support.files import atomic_write

    atomic_write(path, content)
