"""export chat: one chat, for SillyTavern or for reading."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click

from familiar_connect.commands.common import (
    familiar_option,
    home_of,
    profile_of,
    progress_bar,
    root_of,
    say,
    say_new_folder,
    say_verbatim,
    write_unchanged,
)
from familiar_connect.commands.conversation import TERMINAL_PLACE
from familiar_connect.commands.logs import find_chat
from familiar_connect.commands.name_completion import complete_chats
from familiar_connect.config.built_in import PLATFORM_TITLES
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.errors import HomeError

FORMATS = ("jsonl", "md")
EPILOG = f"""\b
Examples:
  familiar export chat                             the latest chat, as SillyTavern's jsonl
  familiar export chat --chat travels -o travels.md
  familiar export chat --format md -o -            Markdown on the screen
  familiar export chat --channel 123456789         what was said in a channel of {" or ".join(PLATFORM_TITLES)}
"""


@click.command(name="chat", epilog=EPILOG)
@familiar_option
@click.option("--chat", "chat_name", metavar="NAME", shell_complete=complete_chats, help="Default: the latest chat.")
@click.option("--channel", "channel_id", type=int, metavar="ID", help="A channel of a platform instead.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The file to write; - is the screen."
)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: by the file's ending, else jsonl.")
@click.pass_context
def export_chat_command(
    ctx: click.Context,
    familiar_id: str | None,
    chat_name: str | None,
    channel_id: int | None,
    output: Path | None,
    form: str | None,
) -> None:
    """Export one chat as a SillyTavern chat file (jsonl) or as Markdown."""
    if chat_name is not None and channel_id is not None:
        raise click.UsageError("use --chat for a chat of the terminal or --channel for a platform's channel, not both")
    root = root_of(ctx, familiar_id)
    name, channel_id = _which(root, chat_name, channel_id)
    chosen = form or _form_of(output)
    to_screen = str(output) == "-"
    with progress_bar("Writing", quiet=to_screen) as progress:
        lines = lines_to_export(root, home_of(ctx), name, channel_id, chosen, progress)
        if to_screen:
            for line in lines:
                say_verbatim(line, nl=False) if sys.stdout.isatty() else write_unchanged(line)
            return
        usual = f"{root.name}-{_file_name(name)}.{chosen}"
        target = output.resolve() if output else HomeFolder(home_of(ctx)).exports / usual
        if target.is_dir():
            target = target / usual
        if output:
            say_new_folder(target)
        count = write_lines(target, lines)
    hint = " In SillyTavern: Manage chat files, Import." if chosen == "jsonl" else ""
    say(f"Wrote {target} ({count:,} messages).{hint}")


def _which(root: Path, chat_name: str | None, channel_id: int | None) -> tuple[str, int]:
    """What the chat is called, and its channel."""
    from familiar_connect.history.chats import ChatRegistry

    if channel_id is not None:
        return str(channel_id), channel_id
    if chat_name is not None:
        return chat_name.strip(), find_chat(root, chat_name)
    current = ChatRegistry(FamiliarFolder(root)).current(TERMINAL_PLACE)
    return current.name, current.channel_id


def _form_of(output: Path | None) -> str:
    ending = output.suffix.lower().lstrip(".") if output and str(output) != "-" else ""
    if ending in ("markdown", "txt"):
        return "md"
    if ending and ending not in FORMATS:
        raise click.UsageError(f"a chat cannot be saved as .{ending}: name a .jsonl or .md file")
    return ending or "jsonl"


def lines_to_export(root: Path, home: Path, name: str, channel_id: int, form: Any, progress: Any) -> Iterable[str]:
    from familiar_connect.bootstrap.chat_files.chat_imports import ChatImports
    from familiar_connect.bootstrap.chat_files.chat_story import story_metadata
    from familiar_connect.bootstrap.export_chat import ChatExport, export_chat
    from familiar_connect.channel_config import ChannelConfigStore
    from familiar_connect.config.load import load_character_config
    from familiar_connect.history.store import HistoryStore
    from familiar_connect.memory.persona import persona_name
    from familiar_connect.memory.store import MemoryStore
    from familiar_connect.support.clock import machine_zone

    folder = FamiliarFolder(root)
    if not folder.history_db.exists():
        raise HomeError(f"{root.name} has no history yet: talk first with `familiar chat --familiar {root.name}`")
    config = load_character_config(folder.settings_file, defaults_path=profile_of(home), zone=machine_zone())
    with closing(HistoryStore(folder.history_db)) as history:
        if not history.count(familiar_id=root.name, channel_id=channel_id):
            raise HomeError(f"nothing was said in {name} yet: `familiar chat --list` and `familiar logs` show where")
        record = ChatImports(folder).find(channel_id)
        header = record.header if record is not None else {}
        channels = ChannelConfigStore(root=folder.channels, character=config)
        chat = ChatExport(
            familiar_id=root.name,
            channel_id=channel_id,
            chat_name=name,
            character_name=persona_name(MemoryStore(folder.memory), root.name),
            zone=config.display_tz,
            header=header,
            metadata=story_metadata(header, folder=folder, channel_id=channel_id, channels=channels),
        )
        yield from export_chat(history, chat, form, progress=progress)


def write_lines(target: Path, lines: Iterable[str]) -> int:
    """Write *lines* to *target*, whole or not at all; how many messages there are, the head not counted."""
    from familiar_connect.support.files import temporary_name
    from familiar_connect.support.no_follow import make_folder

    rest = iter(lines)
    head = next(rest)  # what cannot be exported leaves no folder behind
    make_folder(target.parent)
    temporary = target.parent / temporary_name()
    try:
        with open(temporary, "x", encoding="utf-8", newline="") as file:
            file.write(head)
            count = 0
            for line in rest:
                file.write(line)
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    return count


def _file_name(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name).strip("-") or "chat"
