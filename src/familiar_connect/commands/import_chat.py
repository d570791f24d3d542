"""import chat, import list, import undo: chats from elsewhere, to be gone on with here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands import exit_codes
from familiar_connect.commands.common import (
    familiar_option,
    home_of,
    json_option,
    open_root,
    profile_of,
    progress_bar,
    root_of,
    say,
    say_json,
    spinner,
)
from familiar_connect.commands.conversation import TERMINAL_PLACE
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import ChatImportError, FamiliarError
from familiar_connect.support.text import list_some, pluralize

if TYPE_CHECKING:
    from familiar_connect.bootstrap.chat_files.cast import CastWish
    from familiar_connect.bootstrap.chat_files.chat_file import ChatFile
    from familiar_connect.bootstrap.import_chat import ChatImportResult
    from familiar_connect.bootstrap.write_up_cost import WriteUpCost
    from familiar_connect.config.character import CharacterConfig
    from familiar_connect.history.store import HistoryStore

CHATS_TOLD = 30
"""Of one file that holds many, told one by one."""
LINES_LOOKED_AT = 50
"""Of a chat file, for the name of the familiar it is with."""
EPILOG = """\b
Examples:
  familiar import chat "chats/Wren/Wren - evening.jsonl"    a SillyTavern chat, also of a group
  familiar import chat chats/Wren/*.jsonl                   every chat with one character
  familiar import chat talk.txt --character Wren            lines such as `Wren: Hello.`, with dates or without
  familiar import chat log.json --chat travels              a list of messages with role and content
  familiar import chat conversations.json --only travel     of ChatGPT's or Claude's export, those called so
  familiar import chat package.zip                          what you wrote on Discord, from the data it sends you
  familiar import chat talk.txt --cost                      what writing it into memory would cost; imports nothing
  familiar chat --chat travels                              go on with it
Importing a file again adds what is new in it. `familiar import list` lists the imports, `import undo` removes one.
Exit codes: 0 everything is imported; 1 something could not be imported; 130 Ctrl-C; the same command continues.
"""


@dataclass(frozen=True)
class ImportPlace:
    """Where chats go, and with which settings."""

    root: Path
    config: CharacterConfig
    history: HistoryStore

    @property
    def folder(self) -> FamiliarFolder:
        return FamiliarFolder(self.root)


@click.command(name="chat", epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@click.option("--chat", "chat_name", metavar="NAME", help="The chat's name here (default: the file's name).")
@click.option("--character", metavar="NAME", help="Who in the file is this familiar, if that is unclear.")
@click.option("--user", metavar="NAME", help="Who in a text or JSON log is you, if that is unclear.")
@click.option("--only", metavar="WORDS", help="Of a file with several chats, those with these words in their title.")
@click.option("--write-up", is_flag=True, help="Write it into memory now, not while the familiar runs.")
@click.option(
    "--cost", "tells_cost", is_flag=True, help="Only say what writing it into memory would cost; import nothing."
)
@familiar_option
@json_option
@click.pass_context
def import_chat_command(
    ctx: click.Context,
    files: tuple[Path, ...],
    chat_name: str | None,
    character: str | None,
    user: str | None,
    only: str | None,
    write_up: bool,
    tells_cost: bool,
    familiar_id: str | None,
    as_json: bool,
) -> int:
    """Import chats: SillyTavern's, other programs', plain text. Continue one with `familiar chat --chat NAME`."""
    from familiar_connect.bootstrap.chat_files.cast import CastWish

    if chat_name is not None and len(files) > 1:
        raise click.UsageError("--chat names one chat: import the others separately")
    home = home_of(ctx)
    if familiar_id is None and (familiar_id := _familiar_named_in(files, home)) is not None and not as_json:
        what = "It is a chat" if len(files) == 1 else "They are chats"
        goes = "it goes" if len(files) == 1 else "they go"
        say(f"{what} with {familiar_id}, so {goes} there; `--familiar ID` chooses another.")
    root = root_of(ctx, familiar_id)
    if tells_cost:
        return _say_costs(root, home, files, only, as_json=as_json)
    taken: list[ChatImportResult] = []
    costs: list[WriteUpCost] = []
    errors: list[str] = []
    stopped = False
    place = open_place(root, home)
    with closing(place.history):
        for file in files:
            before = len(taken)
            try:
                cast = CastWish(character=character, user=user)
                for result, cost in take_in(place, file, chat_name, cast, only, errors, quiet=as_json):
                    taken.append(result)
                    costs.append(cost)
            except FamiliarError as error:
                errors.append(str(error))
            except KeyboardInterrupt:
                stopped = True
                break
            finally:
                if not as_json:
                    _say_all_taken(taken[before:], root.name)
        waiting = place.history.watermarks.count_unwritten(familiar_id=root.name)
    if not stopped and any(each.added or each.changed for each in taken):
        stopped = not index_words(ctx, familiar_id, quiet=as_json)
    if write_up and not stopped and taken:
        stopped = not _write_up(root, home, quiet=as_json)
    if as_json:
        chats = [_facts(each, cost, root.name) for each, cost in zip(taken, costs, strict=True)]
        say_json({"chats": chats, "errors": errors, "to_write_up": 0 if write_up else waiting})
    waiting = 0 if write_up or not taken or as_json else waiting
    return _finish(errors, waiting, root.name, stopped=stopped, as_json=as_json)


def _say_costs(root: Path, home: Path, files: Sequence[Path], only: str | None, *, as_json: bool) -> int:
    """Say what writing *files* up would take; nothing is stored, and no model is asked."""
    from familiar_connect.bootstrap.chat_files.cast import name_in_file
    from familiar_connect.bootstrap.import_chat import scan_chat
    from familiar_connect.bootstrap.write_up_cost import estimate_write_up
    from familiar_connect.config.load import load_character_config
    from familiar_connect.memory.persona import persona_name
    from familiar_connect.memory.store import MemoryStore
    from familiar_connect.support.clock import machine_zone

    folder, names = FamiliarFolder(root), _ids_by_name(home)
    own_name = persona_name(MemoryStore(folder.memory), folder.familiar_id)
    config = load_character_config(folder.settings_file, defaults_path=profile_of(home), zone=machine_zone())
    found = []
    for path in files:
        chats = _read_file(path, folder, config, only, quiet=as_json)
        with closing(chats[0]):
            scans = [scan_chat(each) for each in chats]
            messages = sum(map(len, scans))
            called = name_in_file(scans[0].names, chats[0].header, own_name)
        chars = path.stat().st_size if len(chats) == 1 else sum(each.chars for each in scans)
        cost = estimate_write_up(config, messages=messages, chars=chars)
        who = {"familiar": root.name, "with": _familiar_in_file(path, names), "character": called, "name": own_name}
        facts = {"file": path.name, "holds": len(chats), "messages": messages}
        found.append({**facts, **who, **asdict(cost), "says": str(cost)})
        if not as_json:
            held = f"{len(chats):,} chats with {pluralize(messages, 'message')}"
            say(f"{path.name}: {held if len(chats) > 1 else pluralize(messages, 'message')}. {cost}")
    if as_json:
        say_json({"chats": found})
    return exit_codes.OK


def _familiar_named_in(files: Sequence[Path], home: Path) -> str | None:
    """The one of several familiars that *files* are with; None: nobody's name tells. Chats of several are refused."""
    from familiar_connect.config.home import list_familiars
    from familiar_connect.config.secrets import FAMILIAR_VARIABLE, Secrets

    if len(list_familiars(home)) < 2 or Secrets(home).get(FAMILIAR_VARIABLE) is not None:
        return None
    names = _ids_by_name(home)
    found: dict[str, Path] = {}
    for file in files:
        if (owner := _familiar_in_file(file, names)) is not None:
            found.setdefault(owner, file)
    if len(found) > 1:
        told = ", ".join(f"{file.name} with {owner}" for owner, file in found.items())
        raise ChatImportError(
            f"these are chats with different familiars ({told}); nothing was imported: import the chats of one "
            "at a time, or choose with --familiar ID where all of them go"
        )
    return next(iter(found), None)


def _ids_by_name(home: Path) -> dict[str, set[str]]:
    """The familiars of *home* by everything they are called, folded."""
    from familiar_connect.config.home import list_familiars
    from familiar_connect.memory.persona import persona_name
    from familiar_connect.memory.store import MemoryStore
    from familiar_connect.support.text import fold_name

    names: dict[str, set[str]] = {}
    for each in list_familiars(home):
        called = persona_name(MemoryStore(FamiliarFolder(open_root(home, each)).memory), each)
        for name in (each, called):
            names.setdefault(fold_name(name), set()).add(each)
    return names


def _familiar_in_file(file: Path, names: Mapping[str, set[str]]) -> str | None:
    """The familiar a chat file of SillyTavern's is with, by its head or, where that is silent, by who speaks in it."""
    from itertools import islice

    from familiar_connect.bootstrap.chat_files.chat_file import find_sillytavern_chat
    from familiar_connect.support.text import fold_name

    try:
        chat = find_sillytavern_chat(file)
        if chat is None:
            return None
        found = names.get(fold_name(str(chat.header.get("character_name") or "")), set())
        if not found:
            said = [each for each in islice(chat.messages(), LINES_LOOKED_AT) if each.speaker == "character"]
            found = set().union(*(names.get(fold_name(each.name), set()) for each in said))
    except FamiliarError:  # whoever takes the file in says what is wrong
        return None
    return next(iter(found)) if len(found) == 1 else None


def open_place(root: Path, home: Path) -> ImportPlace:
    from familiar_connect.config.load import load_character_config
    from familiar_connect.history.store import HistoryStore
    from familiar_connect.support.clock import machine_zone

    folder = FamiliarFolder(root)
    config = load_character_config(folder.settings_file, defaults_path=profile_of(home), zone=machine_zone())
    return ImportPlace(root, config, HistoryStore(folder.history_db))


def take_in(
    place: ImportPlace,
    path: Path,
    chat_name: str | None,
    wish: CastWish,
    only: str | None,
    errors: list[str],
    *,
    quiet: bool,
) -> Iterator[tuple[ChatImportResult, WriteUpCost]]:
    """What came of each chat of a file, and what writing it up will take; the chats of one file fail one by one."""
    from familiar_connect.bootstrap.import_chat import scan_chat
    from familiar_connect.bootstrap.write_up_cost import estimate_write_up
    from familiar_connect.history.chats import check_chat_name

    name = check_chat_name(chat_name) if chat_name is not None else None
    chats = _read_file(path, place.folder, place.config, only, quiet=quiet)
    with closing(chats[0]):
        if len(chats) == 1:
            yield _take_in_file(place, chats[0], name, wish, quiet=quiet)
            return
        if name is not None:
            raise ChatImportError(f"{path}: holds {len(chats):,} chats, and --chat names one; choose it with --only")
        if not quiet:
            scans = [scan_chat(each) for each in chats]
            cost = estimate_write_up(
                place.config, messages=sum(map(len, scans)), chars=sum(each.chars for each in scans)
            )
            say(f"{path.name}: {len(chats):,} chats. {cost}")
        for each in chats:
            try:
                yield _take_in_file(place, each, None, wish, quiet=True)
            except ChatImportError as error:
                errors.append(f"{path}, chat {each.title!r}: {error}")


def _take_in_file(
    place: ImportPlace, file: ChatFile, name: str | None, wish: CastWish, *, quiet: bool
) -> tuple[ChatImportResult, WriteUpCost]:
    from dataclasses import replace

    from familiar_connect.bootstrap.chat_files.cast import choose_cast
    from familiar_connect.bootstrap.chat_files.chat_story import keep_story
    from familiar_connect.bootstrap.import_chat import ChatImporter, scan_chat
    from familiar_connect.bootstrap.write_up_cost import estimate_write_up
    from familiar_connect.channel_config import ChannelConfigStore
    from familiar_connect.memory.persona import persona_name
    from familiar_connect.memory.store import MemoryStore
    from familiar_connect.platforms.terminal.place import find_terminal_person
    from familiar_connect.privacy import PrivacyRegistry

    folder, config, path = place.folder, place.config, file.path
    with spinner(f"reading {path.name}", quiet=quiet):
        scan = scan_chat(file)
    cost = estimate_write_up(config, messages=len(scan), chars=scan.chars if file.title else path.stat().st_size)
    if not quiet:
        say(f"{path.name}: {pluralize(len(scan), 'message')}. {cost}")
    own_name = persona_name(MemoryStore(folder.memory), folder.familiar_id)
    privacy = PrivacyRegistry(folder.privacy_file)
    user = find_terminal_person(config.user_name, place.history, privacy, folder.familiar_id)
    if privacy.is_full(user):
        raise ChatImportError(
            "your privacy here is full, so nothing you said is kept: `/privacy minimal` in a chat first"
        )
    cast = choose_cast(scan.names, file.header, own_name, user, wish)
    channels = ChannelConfigStore(root=folder.channels, character=config)
    importer = ChatImporter(folder, place.history, place_id=TERMINAL_PLACE, channels=channels)
    before = importer.header_before(file, name)
    with progress_bar(f"Importing {path.name}", quiet=quiet) as progress:
        result = importer.take_in(file, scan, cast, chat_name=name, progress=progress)
    told = keep_story(file.header, before, folder=folder, channel_id=result.record.channel_id, channels=channels)
    return replace(result, notes=(*result.notes, *told)), cost


def _read_file(
    path: Path, folder: FamiliarFolder, config: CharacterConfig, only: str | None, *, quiet: bool
) -> list[ChatFile]:
    """The chats at *path* that are wanted, read by whoever knows the format; closing one closes all."""
    from zoneinfo import ZoneInfo

    from familiar_connect.bootstrap.chat_files.chat_file import read_chat_files

    with spinner(f"reading {path.name}", quiet=quiet):
        chats = read_chat_files(path, home=folder.home.root, zone=ZoneInfo(config.display_tz))
    importer = chats[0].importer
    if importer is not None and not importer.is_built_in and not quiet:
        say(f"{path.name}: read as {importer.name}, by the extension {importer.extension}.")
    if only is None:
        return chats
    wanted = [each for each in chats if only.casefold() in (each.title or path.stem).casefold()]
    if not wanted:
        chats[0].close()
        titles = list_some([each.title or path.stem for each in chats], 10)
        raise ChatImportError(f"{path}: no chat in it has {only!r} in its title; there are: {titles}")
    return wanted


def index_words(ctx: click.Context, familiar_id: str | None, *, quiet: bool) -> bool:
    """Let search find the words of what came; what they mean is taken in while the familiar runs. False: Ctrl-C."""
    from familiar_connect.commands.memory.search import open_index

    try:
        with open_index(ctx, familiar_id) as index, progress_bar("Making it searchable", quiet=quiet) as progress:
            if index.turns is not None:
                index.turns.sync(None, words_progress=progress)
    except KeyboardInterrupt:
        return False
    except FamiliarError as error:
        say(f"familiar: search will find it later: {error}", err=True)
    return True


def _write_up(root: Path, home: Path, *, quiet: bool) -> bool:
    """Write up everything that waits. False: Ctrl-C."""
    from familiar_connect.commands.memory.write_now import write_waiting

    try:
        asyncio.run(write_waiting(root, home, quiet=quiet))
    except KeyboardInterrupt:
        return False
    return True


def _finish(errors: list[str], waiting: int, familiar_id: str, *, stopped: bool, as_json: bool) -> int:
    for sentence in () if as_json else errors:
        say(f"familiar: {sentence}", err=True)
    if stopped:
        say("familiar: stopped; what was stored stays, and the same command continues from there.", err=True)
        return exit_codes.INTERRUPTED
    if waiting:
        say(
            f"{waiting:,} messages wait to be written up as memory: that happens while the familiar runs, or now with "
            f"`familiar memory write-now --familiar {familiar_id}`."
        )
    return exit_codes.FAILED if errors else exit_codes.OK


def _facts(result: ChatImportResult, cost: WriteUpCost, familiar_id: str) -> dict[str, object]:
    from dataclasses import asdict

    record, scan = result.record, result.scan
    return {
        "familiar": familiar_id,
        "import": record.number,
        "chat": record.chat,
        "channel_id": record.channel_id,
        "file": record.file,
        "form": record.form,
        "messages": len(scan),
        "added": result.added,
        "changed": result.changed,
        "taken_back": result.taken_back,
        "hidden": scan.hidden,
        "with_swipes": scan.with_versions,
        "character": result.cast.character,
        "others": list(result.cast.others),
        "first": scan.first.isoformat() if scan.first else None,
        "last": scan.last.isoformat() if scan.last else None,
        "fields_dropped": result.fields_dropped,
        "notes": list(result.notes),
        "write_up": {**asdict(cost), "says": str(cost)},
    }


def _say_all_taken(results: Sequence[ChatImportResult], owner: str) -> None:
    """What came of the chats of one file: of one in full, of several a line each."""
    if len(results) == 1:
        _say_taken(results[0], owner)
    if len(results) < 2:
        return
    for result in results[:CHATS_TOLD]:
        kept = f"{result.added:,} of {pluralize(len(result.scan), 'message')}"
        was_new = result.added or result.changed or result.taken_back
        said = f"Imported {kept}" if was_new else f"Already there: {pluralize(len(result.scan), 'message')}"
        say(f"{said} as {result.record.chat!r} (import {result.record.number}). {' '.join(result.notes)}".rstrip())
    if more := results[CHATS_TOLD:]:
        added = sum(each.added for each in more)
        say(f"Imported {added:,} messages of {len(more):,} more chats; `familiar import list` shows them.")
    say(f"Continue one: `familiar chat --familiar {owner} --chat {_quoted(results[0].record.chat)}`")


def _say_taken(result: ChatImportResult, owner: str) -> None:
    record, scan = result.record, result.scan
    if not (result.added or result.changed or result.taken_back):
        say(f"Already there: {len(scan):,} messages, as {owner}'s chat {record.chat!r} (import {record.number}).")
    else:
        said = f" from {scan.first:%Y-%m-%d} to {scan.last:%Y-%m-%d}" if scan.first and scan.last else ""
        more = [
            f"{count:,} {what}"
            for count, what in (
                (scan.with_versions, "with swipes"),
                (scan.hidden, "hidden"),
                (result.changed, "changed"),
                (result.taken_back, "gone from it"),
            )
            if count
        ]
        say(
            f"Imported {result.added:,} of {len(scan):,} messages{said} as {owner}'s chat {record.chat!r} "
            f"(import {record.number}){': ' if more else ''}{', '.join(more)}."
        )
    if result.cast.others:
        say(f"{result.cast.character} is this familiar; others in it: {list_some(result.cast.others, 10)}.")
    for sentence in result.notes:
        say(sentence)
    if result.fields_dropped:
        say(f"{result.fields_dropped:,} fields needed for exporting it again were too large to keep.")
    say(f"Continue it: `familiar chat --familiar {owner} --chat {_quoted(record.chat)}`")


def _quoted(name: str) -> str:
    import shlex

    return shlex.quote(name)
