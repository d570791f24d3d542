"""logs: what was said lately, wherever it was said; or what the program itself wrote down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import (
    MOST_TURNS,
    familiar_option,
    home_of,
    json_option,
    profile_of,
    root_of,
    say,
    say_json,
    say_verbatim_below,
)
from familiar_connect.commands.conversation import TERMINAL_PLACE
from familiar_connect.commands.name_completion import complete_chats
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.errors import HomeError
from familiar_connect.support.text import list_some

if TYPE_CHECKING:
    from familiar_connect.history.store import HistoryStore
    from familiar_connect.history.types import HistoryTurn

STEP = 2000
"""Turns read at once while looking back for words."""
MOST_LOG_BYTES = 1_000_000
REMOVED_BY = {
    "delete": "removed: the message was deleted",
    "purge": "removed: the messages were purged",
    "ban": "removed with a ban",
    "privacy": "removed by full privacy",
    "repeat": "removed: it repeated something removed",
}
"""How a turn that was taken back is told of, by its `RemovalCause`."""

EPILOG = """\b
Examples:
  familiar logs                    the last turns, in all places
  familiar logs -n 3 --chat main   of one chat of the terminal
  familiar logs -q kettle          those that contain the word
  familiar logs --json             for a script
  familiar logs --program          warnings and errors of the program itself
To see what the model was shown: `familiar inspect`.
"""


@click.command(epilog=EPILOG)
@familiar_option
@click.option("-n", "--last", default=20, show_default=True, type=click.IntRange(1, MOST_TURNS), help="How many.")
@click.option("--chat", "chat_name", metavar="NAME", shell_complete=complete_chats, help="Only this chat.")
@click.option("--channel", "channel_id", type=int, metavar="ID", help="Only this channel.")
@click.option("-q", "--query", metavar="WORDS", help="Only turns that contain these words.")
@click.option("--program", is_flag=True, help="The program's own log instead.")
@json_option
@click.pass_context
def logs(
    ctx: click.Context,
    familiar_id: str | None,
    last: int,
    chat_name: str | None,
    channel_id: int | None,
    query: str | None,
    program: bool,
    as_json: bool,
) -> None:
    """Show what was said lately, oldest first: when, where, by whom."""
    from zoneinfo import ZoneInfo

    from familiar_connect.config.load import load_character_config
    from familiar_connect.memory.persona import persona_name
    from familiar_connect.memory.store import MemoryStore
    from familiar_connect.presets.macros.identity_macros import name_filler
    from familiar_connect.support.clock import machine_zone

    if program:
        _show_program_log(HomeFolder(home_of(ctx)).log_file, last)
        return
    root = root_of(ctx, familiar_id)
    if chat_name is not None:
        channel_id = find_chat(root, chat_name)
    config = load_character_config(
        FamiliarFolder(root).settings_file, defaults_path=profile_of(home_of(ctx)), zone=machine_zone()
    )
    name = persona_name(MemoryStore(FamiliarFolder(root).memory), root.name)
    rows = _rows(root, ZoneInfo(config.display_tz), name, last=last, channel_id=channel_id, query=query)
    if as_json:
        say_json(rows)
    elif not rows:
        say("Nothing was said there." if query is None else "No turn contains these words.")
    else:
        with_names = name_filler(name, config.user_name)
        for row in rows:
            when = str(row["time"])[:16].replace("T", " ")
            text = f"{row['text']} [{row['removed']}]" if "removed" in row else str(row["text"])
            say_verbatim_below(f"{when}  {row['where']}  {row['who']}: ", with_names(text))
            if "view" in row:
                other, label = (
                    ("words", "the model wrote") if row["role"] == "assistant" else ("view", "scripts make it")
                )
                say_verbatim_below(f"    {label}: ", with_names(str(row[other])))


def find_chat(root: Path, name: str) -> int:
    """The channel id of a chat of the terminal."""
    from familiar_connect.history.chats import ChatRegistry

    registry = ChatRegistry(FamiliarFolder(root))
    found = registry.find(TERMINAL_PLACE, name)
    if found is None:
        names = list_some([chat.name for chat in registry.all(TERMINAL_PLACE)], 20)
        raise HomeError(f"{root.name} has no chat {name!r}; there are: {names}")
    return found.channel_id


def _rows(
    root: Path, zone: tzinfo, name: str, *, last: int, channel_id: int | None, query: str | None
) -> list[dict[str, object]]:
    from familiar_connect.history.store import HistoryStore

    folder = FamiliarFolder(root)
    if not folder.history_db.exists():
        return []
    places = name_places(root)

    found: list[dict[str, object]] = []
    wanted = query.casefold() if query else None
    with closing(HistoryStore(folder.history_db)) as history:

        def as_row(turn: HistoryTurn) -> dict[str, object]:
            return {
                "turn_id": turn.id,
                "time": turn.timestamp.astimezone(zone).isoformat(timespec="seconds"),
                "channel_id": turn.channel_id,
                "where": places.get(turn.channel_id, str(turn.channel_id)),
                "role": turn.role,
                "who": turn.author.label if turn.author else name,
                "text": turn.actual_words,
                **({"words": turn.content, "view": turn.view} if turn.view is not None else {}),
                **_removal(history, root.name, turn),
            }

        before = (history.latest_id(familiar_id=root.name, channel_id=channel_id) or 0) + 1
        while len(found) < last:
            step = STEP if wanted else last
            turns = history.older_than(
                familiar_id=root.name, max_id=before - 1, channel_id=channel_id, limit=min(step, STEP)
            )
            if not turns:
                break
            before = turns[0].id
            found += [
                as_row(turn) for turn in reversed(turns) if wanted is None or wanted in turn.actual_words.casefold()
            ]
    return found[:last][::-1]


def _removal(history: HistoryStore, familiar_id: str, turn: HistoryTurn) -> dict[str, object]:
    """What a turn read that was taken back, and how, for the owner's eyes; nothing for one that stands."""
    from familiar_connect.history.message_edits import MessageEdits
    from familiar_connect.history.types import DELETED

    if turn.content != DELETED:
        return {}
    edits = MessageEdits(history, familiar_id).edits_of_turn(turn.id)
    said = [each for each in edits if each.said_before != DELETED]
    if not said:
        return {}
    cause = REMOVED_BY.get(said[-1].removed_by, "removed")
    return {"removed": f"{cause}; it read: {said[-1].said_before}", "removed_by": said[-1].removed_by}


def name_places(root: Path) -> dict[int, str]:
    """What each channel is called: chats by their names, others as their settings or their server say."""
    from familiar_connect.conversation.channels import ChannelLabels
    from familiar_connect.history.chats import ChatRegistry

    folder = FamiliarFolder(root)
    met = {channel: each.label for channel, each in ChannelLabels(folder.channel_names_file).read_channels().items()}
    chats = {chat.channel_id: chat.name for chat in ChatRegistry(folder).all(TERMINAL_PLACE)}
    return {**met, **dict(_named_channels(folder)), **chats}


def _named_channels(folder: FamiliarFolder) -> Iterator[tuple[int, str]]:
    from familiar_connect.config.toml import read_toml
    from familiar_connect.errors import ConfigError

    for file in folder.channel_files():
        try:
            name = (read_toml(file) or {}).get("channel_name")
        except ConfigError:  # `doctor` says what is wrong with it
            continue
        if isinstance(name, str) and file.stem.isdigit():
            yield int(file.stem), name


def _show_program_log(file: Path, last: int) -> None:
    from familiar_connect.support.no_follow import load_bytes

    try:
        text = load_bytes(file)[-MOST_LOG_BYTES:].decode("utf-8", "replace")
    except FileNotFoundError:
        say(f"{file} does not exist: nothing has been logged yet.")
        return
    say("\n".join([str(file), *text.splitlines()[-last:]]))
