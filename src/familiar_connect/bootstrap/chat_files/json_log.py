"""A chat as JSON: a list of {role or name, content or text, date}, as model endpoints and many programs write it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Any

from familiar_connect.bootstrap.chat_files.file_message import MAX_NAME_CHARS, MAX_TEXT_CHARS, FileMessage, Speaker
from familiar_connect.bootstrap.chat_files.send_dates import parse_send_date
from familiar_connect.errors import ChatImportError
from familiar_connect.support.text import one_line, without_surrogates

NAMES = ("name", "author", "sender", "speaker", "from")
TEXTS = ("content", "text", "message", "mes")
DATES = ("date", "timestamp", "created_at", "time", "send_date", "at")
LISTS = ("messages", "chat", "history", "conversation", "log")
"""Under which of these an object holds its list of messages."""
SPEAKERS: Mapping[str, Speaker] = {
    "user": "user",
    "human": "user",
    "assistant": "character",
    "model": "character",
    "bot": "character",
    "ai": "character",
    "char": "character",
    "character": "character",
}
HIDDEN = frozenset({"system", "developer", "tool", "function"})
"""Roles of what was never said: kept, and never shown to a model."""


def find_message_list(data: object) -> list[Any] | None:
    """The list of messages in *data*; None when there is none."""
    if isinstance(data, dict):
        data = next((data[name] for name in LISTS if isinstance(data.get(name), list)), None)
    return data if isinstance(data, list) else None


def message_of_entry(entry: object, number: int, where: str, zone: tzinfo = UTC) -> FileMessage:
    """The message in one entry of the list; a `ChatImportError` that begins with *where* when it is none."""
    if not isinstance(entry, dict):
        raise ChatImportError(f"{where}: must be an object with a `role` or `name` and a `content` or `text`")
    text = next((found for name in TEXTS if (found := _text_of(entry.get(name))) is not None), None)
    role = str(entry.get("role") or "").lower()
    name = next((str(entry[key]) for key in NAMES if isinstance(entry.get(key), str) and entry[key].strip()), "")
    if text is None or not (role or name):
        raise ChatImportError(f"{where}: needs a `role` or `name`, and a text under `content` or `text`")
    if len(text) > MAX_TEXT_CHARS:
        raise ChatImportError(f"{where}: holds {len(text):,} characters, and a message may have {MAX_TEXT_CHARS:,}")
    return FileMessage(
        line=number,
        name=one_line(without_surrogates(name))[:MAX_NAME_CHARS],
        text=without_surrogates(text),
        speaker=SPEAKERS.get(role, ""),
        is_hidden=role in HIDDEN,
        sent=next((when for key in DATES if (when := parse_send_date(entry.get(key), zone)) is not None), None),
    )


def _text_of(value: object) -> str | None:
    """A text, or the texts of a list of parts; what a model was called with is none."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return None
    parts = [part.get("text") if isinstance(part, dict) else part for part in value]
    return "\n".join(part for part in parts if isinstance(part, str))
