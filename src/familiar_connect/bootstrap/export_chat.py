"""export_chat: one chat as SillyTavern's chat file (jsonl) or as Markdown, line by line however long it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from familiar_connect.history.message_edits import DELETED
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn

ChatFormat = Literal["jsonl", "md"]
STEP = 1000
"""Turns read at once."""


@dataclass(frozen=True, kw_only=True)
class ChatExport:
    """A chat to write out, and the names in it."""

    familiar_id: str
    channel_id: int
    chat_name: str
    character_name: str
    zone: str = "UTC"


def export_chat(
    history: HistoryStore,
    chat: ChatExport,
    form: ChatFormat,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[str]:
    """The lines of the file, each with its end; what was deleted is left out."""
    yield from (_jsonl_head if form == "jsonl" else _markdown_head)(history, chat)
    line = _jsonl_line if form == "jsonl" else _markdown_line
    total = history.count(familiar_id=chat.familiar_id, channel_id=chat.channel_id) if progress else 0
    for count, turn in enumerate(_turns(history, chat), start=1):
        if progress is not None and count % STEP == 0:
            progress(count, total)
        if turn.content != DELETED:
            yield line(turn, chat)


def _turns(history: HistoryStore, chat: ChatExport) -> Iterator[HistoryTurn]:
    after = 0
    while turns := history.turns_after(
        familiar_id=chat.familiar_id, after_id=after, channel_id=chat.channel_id, limit=STEP
    ):
        yield from turns
        after = turns[-1].id


def _jsonl_head(history: HistoryStore, chat: ChatExport) -> Iterator[str]:
    people = history.recent_distinct_authors(familiar_id=chat.familiar_id, channel_id=chat.channel_id, limit=1)
    first = history.turns_after(familiar_id=chat.familiar_id, after_id=0, channel_id=chat.channel_id, limit=1)
    head = {
        "user_name": people[0].label if people else "User",
        "character_name": chat.character_name,
        "create_date": _moment(first[0].timestamp) if first else None,
        "chat_metadata": {"familiar_connect": {"familiar": chat.familiar_id, "chat": chat.chat_name}},
    }
    yield json.dumps(head, ensure_ascii=False) + "\n"


def _jsonl_line(turn: HistoryTurn, chat: ChatExport) -> str:
    is_user = turn.role == "user"
    message = {
        "name": _speaker(turn, chat),
        "is_user": is_user,
        "is_system": turn.role not in ("user", "assistant"),
        "send_date": _moment(turn.timestamp),
        "mes": turn.content,
        "extra": {"familiar_connect": {"turn_id": turn.id}},
    }
    if not is_user:
        message |= {"swipe_id": 0, "swipes": [turn.content]}
    return json.dumps(message, ensure_ascii=False) + "\n"


def _markdown_head(_history: HistoryStore, chat: ChatExport) -> Iterator[str]:
    yield f"# {_one_line(chat.character_name)}: {_one_line(chat.chat_name)}\n"


def _markdown_line(turn: HistoryTurn, chat: ChatExport) -> str:
    when = turn.timestamp.astimezone(ZoneInfo(chat.zone))
    return f"\n**{_one_line(_speaker(turn, chat))}** · {when:%Y-%m-%d %H:%M}\n\n{turn.content.strip()}\n"


def _speaker(turn: HistoryTurn, chat: ChatExport) -> str:
    return turn.author.label if turn.author is not None else chat.character_name


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _moment(when: datetime) -> str:
    """As SillyTavern writes it: UTC with milliseconds and a Z."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
