"""What somebody wrote on Discord, from the data that Discord sends them: a list of their own messages a channel."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from familiar_connect.api.importing import (
    MAX_TEXT_CHARS,
    ImportedChat,
    ImportedLine,
    ImportRemark,
    UnreadableFileError,
    parse_send_date,
)
from familiar_connect.extensions.import_chats.archive import Archive
from familiar_connect.extensions.import_chats.json_list import parse_json_value, split_list
from familiar_connect.extensions.import_chats.take import (
    ChatItem,
    LeftOut,
    take_object,
    take_part,
    take_text,
    take_title,
)

_MESSAGES = re.compile(r"(?:^|.*/)c?(\d{5,20})/messages\.(?:json|csv)$", re.IGNORECASE)


def is_discord_row(row: Mapping[str, Any]) -> bool:
    return "Contents" in row and "Timestamp" in row


def find_channels(names: Iterable[str]) -> dict[str, str]:
    """Which files of an archive hold messages → of which channel."""
    return {name: found[1] for name in names if (found := _MESSAGES.match(name)) is not None}


def read_package(archive: Archive) -> Iterator[ChatItem]:
    """Each channel of the package that holds words."""
    channels = find_channels(archive.names)
    titles = _read_titles(archive)
    own_name = _read_own_name(archive)
    silent = 0
    for name, channel in sorted(channels.items(), key=lambda item: int(item[1])):
        data = archive.read(name)
        rows = read_csv(data) if name.lower().endswith(".csv") else split_list(data)
        left = LeftOut()
        lines = list(read_messages(rows, own_name, left, name))
        if not lines:
            silent += 1
            continue
        yield ImportedChat(title=titles.get(channel) or _describe(archive, name, channel), key=f"discord:{channel}")
        yield from lines
        yield from left.tell()
    yield ImportRemark(
        text="Discord's data holds what you wrote, not what others answered; every line is yours.", is_of_file=True
    )
    if silent:
        what = "channel without words was" if silent == 1 else "channels without words were"
        yield ImportRemark(text=f"{silent:,} {what} left out.", is_of_file=True)


def read_messages(rows: Iterable[Any], own_name: str, left: LeftOut, file: str) -> Iterator[ImportedLine]:
    """The lines of one channel, the oldest first."""
    found: list[tuple[int, ImportedLine]] = []
    for number, value in enumerate(rows, start=1):
        where = f"{file}, message {number}"
        row = take_object(value, where)
        text = take_text(row.get("Contents"), where)
        attached = str(row.get("Attachments") or "").split()
        left.add("picture or file", "pictures and files", len(attached))
        if not text.strip():
            continue
        name = str(row.get("ID") or "")
        sent = parse_send_date(_in_utc(row.get("Timestamp")), None)
        order = int(name) if name.isdigit() and len(name) <= 20 else -number
        found.append((order, ImportedLine(name=own_name, text=text, is_user=True, sent=sent)))
    found.sort(key=lambda item: item[0])
    for _, line in found:
        yield line


def read_table(data: bytes) -> Iterator[ChatItem]:
    """One channel that older packages hold as a table."""
    left = LeftOut()
    yield from read_messages(read_csv(data), "", left, "table")
    yield from left.tell()


def read_csv(data: bytes) -> Iterator[dict[str, str | None]]:
    """The rows of the tables that older packages hold."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFileError("is not UTF-8 text; save the file as UTF-8", where="line 1") from None
    csv.field_size_limit(MAX_TEXT_CHARS)
    try:
        yield from csv.DictReader(io.StringIO(text))
    except csv.Error as error:
        raise UnreadableFileError(f"is not a table that can be read ({error})", where="table") from None


def _in_utc(value: object) -> object:
    """Discord's times are in UTC, and most packages do not say so."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?", value):
        return f"{value}+00:00"
    return value


def _read_titles(archive: Archive) -> dict[str, str]:
    """What the package calls its channels, by their numbers."""
    index = next((name for name in archive.names if re.search(r"(?:^|/)(?!servers)[^/]+/index\.json$", name)), None)
    for name in filter(None, (index, *(each for each in archive.names if each.endswith("/index.json")))):
        found = _try_json(archive, name)
        titles = {key: take_title(value) for key, value in found.items() if key.isdigit()}
        if titles.keys() & set(find_channels(archive.names).values()):
            return titles
    return {}


def _describe(archive: Archive, name: str, channel: str) -> str:
    """What a channel is called by its own file."""
    beside = f"{name.rpartition('/')[0]}/channel.json"
    found = _try_json(archive, beside) if beside in archive.names else {}
    server = take_title(take_part(found, "guild").get("name"))
    title = take_title(found.get("name")) or f"channel {channel}"
    return f"{title} in {server}" if server else title


def _read_own_name(archive: Archive) -> str:
    user = next((name for name in archive.names if name.lower().endswith("/user.json")), None)
    found = _try_json(archive, user) if user is not None else {}
    return take_title(found.get("global_name"), found.get("username"))


def _try_json(archive: Archive, name: str) -> dict[str, Any]:
    """The object in a file that only helps; empty where there is none."""
    try:
        found = parse_json_value(archive.read(name), name)
    except (UnreadableFileError, json.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) else {}
