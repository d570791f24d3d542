"""A chat as JSON: {role or name, content or text, date}, as model endpoints and many programs write it.

One list, an object that holds one, or an object a line; and what ChatGPT, Claude, Discord and programs for characters
export, each by whoever knows it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from familiar_connect.api.importing import (
    MAX_TEXT_CHARS,
    ImportedLine,
    UnreadableFileError,
    parse_object,
    parse_send_date,
    read_lines,
    read_objects,
)
from familiar_connect.extensions.import_chats.assistants import is_chatgpt, is_claude, read_chatgpt, read_claude
from familiar_connect.extensions.import_chats.discord_package import is_discord_row, read_messages
from familiar_connect.extensions.import_chats.json_list import split_list
from familiar_connect.extensions.import_chats.roleplay import find_reader
from familiar_connect.extensions.import_chats.take import ChatItem, LeftOut, take_object

MAX_OBJECT_BYTES = 64 * 1024 * 1024
"""Of one object, which is read whole."""
NAMES = ("name", "author", "sender", "speaker", "from")
TEXTS = ("content", "text", "message", "mes")
DATES = ("date", "timestamp", "created_at", "time", "send_date", "at")
LISTS = ("messages", "chat", "history", "conversation", "log")
"""Under which of these an object holds its list of messages."""
USERS = frozenset({"user", "human"})
CHARACTERS = frozenset({"assistant", "model", "bot", "ai", "char", "character"})
HIDDEN = frozenset({"system", "developer", "tool", "function"})
"""Roles of what was never said: kept, and never shown to a model."""


def read_json_log(data: bytes) -> Iterator[ChatItem]:
    """The messages of a log; an `UnreadableFileError` says where there is none."""
    begun = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if begun.startswith(b"["):
        yield from _read_list(split_list(data))
        return
    row = _parse_whole(data)
    if row is not None:
        yield from _read_object(row)
        return
    first = next((text for _, text in read_lines(io.BytesIO(data)) if text.strip()), "")
    if parse_object(first) is None:
        raise UnreadableFileError(
            "is neither a line of SillyTavern's chats nor a list of messages; choose one of its .jsonl", where="line 1"
        )
    for number, line in read_objects(io.BytesIO(data)):
        yield read_message(line, f"line {number}")


def _parse_whole(data: bytes) -> dict[str, Any] | None:
    """The object that a file is; None where it is none, or one a line."""
    if len(data) > MAX_OBJECT_BYTES:
        return None
    try:
        found = json.loads(data)
    except RecursionError:
        raise UnreadableFileError("is nested too deeply to read") from None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _read_list(entries: Iterator[Any]) -> Iterator[ChatItem]:
    """A list of conversations, or of messages."""
    first = next(entries, None)
    everything = chain((first,), entries)
    if isinstance(first, dict) and is_discord_row(first):
        left = LeftOut()
        yield from read_messages(everything, "", left, "list")
        yield from left.tell()
    elif isinstance(first, dict) and (is_chatgpt(first) or is_claude(first)):
        for number, entry in enumerate(everything, start=1):
            yield from _read_conversation(entry, f"conversation {number}")
    elif first is not None:
        for number, entry in enumerate(everything, start=1):
            yield read_message(entry, f"message {number}")


def _read_conversation(entry: object, where: str) -> Iterator[ChatItem]:
    row = take_object(entry, where)
    if is_chatgpt(row):
        yield from read_chatgpt(row, where)
    elif is_claude(row):
        yield from read_claude(row, where)
    else:
        raise UnreadableFileError("has neither a `mapping` nor `chat_messages`; fetch the file again", where=where)


def _read_object(row: dict[str, Any]) -> Iterator[ChatItem]:
    """One conversation, in the form of whoever wrote it."""
    if is_chatgpt(row) or is_claude(row):
        yield from _read_conversation(row, "conversation 1")
        return
    if (reader := find_reader(row)) is not None:
        yield from reader(row)
        return
    entries = next((row[name] for name in LISTS if isinstance(row.get(name), list)), None)
    if entries is None:
        yield read_message(row, "line 1")
        return
    for number, entry in enumerate(entries, start=1):
        yield read_message(entry, f"message {number}")


def read_message(entry: object, where: str) -> ImportedLine:
    """The message in one entry of the list; an `UnreadableFileError` that names *where* when it is none."""
    if not isinstance(entry, dict):
        raise UnreadableFileError("must be an object with a `role` or `name` and a `content` or `text`", where=where)
    text = next((found for name in TEXTS if (found := _text_of(entry.get(name))) is not None), None)
    role = str(entry.get("role") or "").lower()
    name = next((found for key in NAMES if (found := _name_of(entry.get(key)))), "")
    if text is None or not (role or name):
        raise UnreadableFileError("needs a `role` or `name`, and a text under `content` or `text`", where=where)
    if len(text) > MAX_TEXT_CHARS:
        raise UnreadableFileError(
            f"holds {len(text):,} characters, and a message may have {MAX_TEXT_CHARS:,}", where=where
        )
    return ImportedLine(
        name=name,
        text=text,
        is_user=role in USERS,
        is_character=role in CHARACTERS,
        is_hidden=role in HIDDEN,
        sent=next((when for key in DATES if (when := parse_send_date(entry.get(key), None)) is not None), None),
    )


def _name_of(value: object) -> str:
    """A name, or that of an author with more about them."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("nickname", "name", "username") if value.get(key)), "")
    return value if isinstance(value, str) and value.strip() else ""


def _text_of(value: object) -> str | None:
    """A text, or the texts of a list of parts; what a model was called with is none."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return None
    parts = [part.get("text") if isinstance(part, dict) else part for part in value]
    return "\n".join(part for part in parts if isinstance(part, str))
