"""A chat as JSON: {role or name, content or text, date}, as model endpoints and many programs write it.

One list, an object that holds one, or an object a line. A list is read whole.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
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

MAX_LIST_BYTES = 64 * 1024 * 1024
"""Of a list, which is read whole."""
NAMES = ("name", "author", "sender", "speaker", "from")
TEXTS = ("content", "text", "message", "mes")
DATES = ("date", "timestamp", "created_at", "time", "send_date", "at")
LISTS = ("messages", "chat", "history", "conversation", "log")
"""Under which of these an object holds its list of messages."""
USERS = frozenset({"user", "human"})
CHARACTERS = frozenset({"assistant", "model", "bot", "ai", "char", "character"})
HIDDEN = frozenset({"system", "developer", "tool", "function"})
"""Roles of what was never said: kept, and never shown to a model."""


def read_json_log(data: bytes) -> Iterator[ImportedLine]:
    """The messages of a log; an `UnreadableFileError` says where there is none."""
    entries = _find_list(data)
    if entries is not None:
        for number, entry in enumerate(entries, start=1):
            yield read_message(entry, f"message {number}")
        return
    first = next((text for _, text in read_lines(io.BytesIO(data)) if text.strip()), "")
    if parse_object(first) is None:
        raise UnreadableFileError(
            "is neither a line of SillyTavern's chats nor a list of messages; choose one of its .jsonl", where="line 1"
        )
    for number, row in read_objects(io.BytesIO(data)):
        yield read_message(row, f"line {number}")


def _find_list(data: bytes) -> list[Any] | None:
    """The messages of a file that is one JSON value; None when it is not."""
    if len(data) > MAX_LIST_BYTES:
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, dict):
        found = next((found[name] for name in LISTS if isinstance(found.get(name), list)), None)
    return found if isinstance(found, list) else None


def read_message(entry: object, where: str) -> ImportedLine:
    """The message in one entry of the list; an `UnreadableFileError` that names *where* when it is none."""
    if not isinstance(entry, dict):
        raise UnreadableFileError("must be an object with a `role` or `name` and a `content` or `text`", where=where)
    text = next((found for name in TEXTS if (found := _text_of(entry.get(name))) is not None), None)
    role = str(entry.get("role") or "").lower()
    name = next((str(entry[key]) for key in NAMES if isinstance(entry.get(key), str) and entry[key].strip()), "")
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


def _text_of(value: object) -> str | None:
    """A text, or the texts of a list of parts; what a model was called with is none."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return None
    parts = [part.get("text") if isinstance(part, dict) else part for part in value]
    return "\n".join(part for part in parts if isinstance(part, str))
