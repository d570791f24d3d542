"""export_chat: one chat as SillyTavern's chat file (jsonl) or as Markdown, line by line however long it is.

A chat that came from such a file is written with every field it had; brought in again, it is the same chat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from familiar_connect.bootstrap.chat_files.sillytavern_lines import OUR_KEY, raw_words
from familiar_connect.history.message_edits import count_with_words
from familiar_connect.history.message_metadata import foreign_fields
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import DELETED, HistoryTurn
from familiar_connect.history.versions import TurnVersions, TurnVersionStore

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
    header: Mapping[str, Any] = field(default_factory=dict)
    """First line of the file it came from."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The note, the variables and whatever else SillyTavern keeps with a chat."""


def export_chat(
    history: HistoryStore,
    chat: ChatExport,
    form: ChatFormat,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[str]:
    """The lines of the file, each with its end; what was deleted is left out."""
    is_jsonl = form == "jsonl"
    yield from (_jsonl_head if is_jsonl else _markdown_head)(history, chat)
    total = _count(history, chat, with_hidden=is_jsonl) if progress else 0
    written = 0
    for turns in _steps(history, chat, with_hidden=is_jsonl):
        versions = _versions(history, chat, turns) if is_jsonl else {}
        for turn in turns:
            if turn.content != DELETED:
                yield _jsonl_line(turn, chat, versions.get(turn.id)) if is_jsonl else _markdown_line(turn, chat)
                written += 1
        if progress is not None:
            progress(written, total)


def _count(history: HistoryStore, chat: ChatExport, *, with_hidden: bool) -> int:
    return count_with_words(history, familiar_id=chat.familiar_id, channel_id=chat.channel_id, with_hidden=with_hidden)


def _steps(history: HistoryStore, chat: ChatExport, *, with_hidden: bool) -> Iterator[list[HistoryTurn]]:
    after = 0
    while turns := history.turns_after(
        familiar_id=chat.familiar_id, after_id=after, channel_id=chat.channel_id, limit=STEP, with_hidden=with_hidden
    ):
        yield turns
        after = turns[-1].id


def _versions(history: HistoryStore, chat: ChatExport, turns: list[HistoryTurn]) -> dict[int, TurnVersions]:
    found = TurnVersionStore(history, chat.familiar_id).versions_of_all(turn.id for turn in turns)
    return {each.turn_id: each for each in found}


def _jsonl_head(history: HistoryStore, chat: ChatExport) -> Iterator[str]:
    people = history.recent_distinct_authors(familiar_id=chat.familiar_id, channel_id=chat.channel_id, limit=1)
    first = history.turns_after(familiar_id=chat.familiar_id, after_id=0, channel_id=chat.channel_id, limit=1)
    ours = {"familiar": chat.familiar_id, "chat": chat.chat_name, "channel_id": chat.channel_id}
    head = {
        "user_name": people[0].label if people else "User",
        "character_name": chat.character_name,
        "create_date": _moment(first[0].timestamp) if first else None,
        **chat.header,
        "chat_metadata": {**chat.metadata, OUR_KEY: ours},
    }
    yield json.dumps(head, ensure_ascii=False) + "\n"


def _jsonl_line(turn: HistoryTurn, chat: ChatExport, versions: TurnVersions | None) -> str:
    is_user = turn.role == "user"
    came = foreign_fields(turn.facts)
    message: dict[str, Any] = {
        "name": _speaker(turn, chat),
        "is_user": is_user,
        "is_system": turn.mark is not None or turn.role not in ("user", "assistant"),
        "send_date": _moment(turn.timestamp),
        "mes": turn.display_text,
    }
    if came:
        if "send_date" not in came:
            del message["send_date"]
        message |= {**came, "is_system": message["is_system"]}
    extra = came.get("extra")
    heard = (
        raw_words(versions.texts, versions.views) if versions is not None else raw_words([turn.content], [turn.view])
    )
    message["extra"] = {**(extra if isinstance(extra, dict) else {}), OUR_KEY: {"turn_id": turn.id, **heard}}
    texts = versions.display_texts if versions is not None else (turn.display_text,)
    if "swipe_id" in came or len(texts) > 1 or (not is_user and not came):
        message |= {"swipe_id": versions.chosen if versions is not None else 0, "swipes": list(texts)}
    return json.dumps(message, ensure_ascii=False) + "\n"


def _markdown_head(_history: HistoryStore, chat: ChatExport) -> Iterator[str]:
    yield f"# {_one_line(chat.character_name)}: {_one_line(chat.chat_name)}\n"


def _markdown_line(turn: HistoryTurn, chat: ChatExport) -> str:
    when = turn.timestamp.astimezone(ZoneInfo(chat.zone))
    return f"\n**{_one_line(_speaker(turn, chat))}** · {when:%Y-%m-%d %H:%M}\n\n{turn.display_text.strip()}\n"


def _speaker(turn: HistoryTurn, chat: ChatExport) -> str:
    return turn.author.label if turn.author is not None else chat.character_name


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _moment(when: datetime) -> str:
    """As SillyTavern writes it: UTC with milliseconds and a Z."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
