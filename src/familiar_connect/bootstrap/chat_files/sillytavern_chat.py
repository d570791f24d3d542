"""A SillyTavern chat file: `read_sillytavern_chat(path) -> Transcript`.

One JSON object a line: the first may be a header (`user_name`, `character_name`, `chat_metadata` with the author's
note, variables and the timed effects of World Info), every other one a message. Narrators, hidden lines, versions
(swipes) and names of their own are kept. A line that is no message is an error that names it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from familiar_connect.chat.files.file_lines import parse_send_date
from familiar_connect.chat.scene import Member, Scene
from familiar_connect.chat.transcript_file import FIRST_MOMENT, MAX_BYTES, MOST_ANSWERED, PLATFORM, Transcript
from familiar_connect.chat.types import InboundMessage, LineFacts
from familiar_connect.errors import ConfigError
from familiar_connect.identity import Author
from familiar_connect.llm.types import Role
from familiar_connect.presets.story.state_store import read_timed_effects, read_variables
from familiar_connect.presets.story.types import AuthorNote, ChatFacts, NotePosition, StoryState

SUFFIX = ".jsonl"
NOTE_POSITIONS: dict[int, NotePosition] = {0: "after_main", 1: "chat", 2: "before_main"}
ROLES: tuple[Role, ...] = ("system", "user", "assistant")
OWN_FIELDS = ("scenario", "mes_example", "system_prompt")
"""What a chat may say instead of the card."""


def read_sillytavern_chat(path: Path) -> Transcript:
    """The chat in the file at *path*. It reads a file: callers on an event loop run it in a thread."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path}: is larger than the {MAX_BYTES:,} bytes a chat may have here")
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as a chat ({type(error).__name__}); export it again") from None
    rows = [_row(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1) if line.strip()]
    header = rows.pop(0) if rows and "mes" not in rows[0] else {}
    if not rows:
        raise ConfigError(f"{path}: holds no messages; a line for each is wanted, with `name`, `is_user` and `mes`")
    user = _told_name(header, "user_name") or _first_name(rows, is_user=True)
    char = _told_name(header, "character_name") or _first_name(rows, is_user=False)
    messages = tuple(_message(row, number) for number, row in enumerate(rows))
    me = _author(char)
    return Transcript(
        messages=messages,
        seen=Scene(
            participants=(_author(user),), members=(Member(author=_author(user)),), me=me, own_name=char, is_dm=True
        ),
        answered=max(1, min(MOST_ANSWERED, next((n for n, m in enumerate(reversed(messages)) if m.is_self), 1))),
        facts=chat_facts(header, user, path.stem),
    )


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ConfigError(
            f"{where}: is not a JSON object, so this is not a SillyTavern chat; choose a .jsonl of its chats"
        )
    return found


def _told_name(header: Mapping[str, Any], key: str) -> str:
    """The name that the header gives; newer files say there that it is not used."""
    name = str(header.get(key) or "")
    return "" if name == "unused" else name


def _first_name(rows: list[dict[str, Any]], *, is_user: bool) -> str:
    return next((str(row["name"]) for row in rows if row.get("name") and bool(row.get("is_user")) is is_user), "")


def _author(name: str) -> Author:
    return Author(PLATFORM, name, name, name)


def _message(row: Mapping[str, Any], number: int) -> InboundMessage:
    extra = row.get("extra")
    kind = extra.get("type") if isinstance(extra, Mapping) else None
    sent = parse_send_date(row.get("send_date"))
    by_user = bool(row.get("is_user"))
    name = str(row.get("name") or "")
    swipes = row.get("swipes")
    swipe = row.get("swipe_id")
    return InboundMessage(
        platform=PLATFORM,
        channel_id=7,
        author=_author(name),
        text=str(row.get("mes") or ""),
        timestamp=sent or FIRST_MOMENT + timedelta(minutes=number),
        message_id=str(number),
        is_self=not by_user,
        is_bot=not by_user,
        line=LineFacts(
            name=name,
            is_narrator=kind == "narrator",
            is_hidden=bool(row.get("is_system")),
            is_other=bool(row.get("force_avatar")),
            is_undated=sent is None,
            swipes=tuple(map(str, swipes)) if isinstance(swipes, list) else (),
            swipe=swipe if isinstance(swipe, int) else 0,
        ),
    )


def chat_facts(header: Mapping[str, Any], user: str, stem: str) -> ChatFacts:
    """What the header line of a chat says besides whose it is."""
    found = header.get("chat_metadata")
    metadata: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    book = metadata.get("world_info")
    return ChatFacts(
        user=user,
        chat_id=str(metadata.get("main_chat") or stem),
        note=_note(metadata),
        card_fields={name: str(metadata[name]) for name in OWN_FIELDS if metadata.get(name)},
        book=book if isinstance(book, str) else "",
        state=StoryState(
            variables=read_variables(metadata.get("variables")),
            timed=read_timed_effects(metadata.get("timedWorldInfo")),
        ),
    )


def _note(metadata: Mapping[str, Any]) -> AuthorNote | None:
    position = NOTE_POSITIONS.get(_number(metadata.get("note_position"), 1))
    if position is None or not any(key.startswith("note_") for key in metadata):
        return None
    role = metadata.get("note_role", 0)
    named = role if role in ROLES else ROLES[_number(role, 0) if 0 <= _number(role, 0) < len(ROLES) else 0]
    return AuthorNote(
        text=str(metadata.get("note_prompt") or ""),
        position=position,
        depth=_number(metadata.get("note_depth"), 4),
        role=cast(Role, named),
        interval=_number(metadata.get("note_interval"), 1),
    )


def _number(value: object, default: int) -> int:
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return default
