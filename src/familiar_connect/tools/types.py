"""Values of the tools: their names, outcomes, refusals and argument readers.

What tools work with: a keeper of summaries, a sender of stickers, and whoever tells people of changes.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:  # every verb that reads settings loads this file
    from familiar_connect.chat.message_parts import Sticker
    from familiar_connect.identity import Author
    from familiar_connect.llm.types import ToolSpec


SOURCE = "memory_tool"
"""What the audit calls whoever writes memory here."""

REMEMBER = "remember"
UPDATE_MEMORY = "update_memory"
FORGET_MEMORY = "forget_memory"
SHORT_TERM_NOTE = "short_term_note"
SEARCH_MEMORY = "search_memory"
FOLLOW_LINKS = "follow_links"
SEND_STICKER = "send_sticker"
REVEAL_MESSAGE_METADATA = "reveal_message_metadata"
SET_REMINDER = "set_reminder"

ALL_TOOLS = (
    REMEMBER,
    UPDATE_MEMORY,
    FORGET_MEMORY,
    SHORT_TERM_NOTE,
    SEARCH_MEMORY,
    FOLLOW_LINKS,
    SEND_STICKER,
    REVEAL_MESSAGE_METADATA,
    SET_REMINDER,
)
MACROS: Mapping[str, str] = {
    "memory_tool": REMEMBER,
    "memory_update_tool": UPDATE_MEMORY,
    "memory_delete_tool": FORGET_MEMORY,
    "short_term_memory_tool": SHORT_TERM_NOTE,
    "memory_search_tool": SEARCH_MEMORY,
    "search_tool": SEARCH_MEMORY,
    "memory_links_tool": FOLLOW_LINKS,
    "sticker_tool": SEND_STICKER,
    "message_metadata_tool": REVEAL_MESSAGE_METADATA,
    "task_tool": SET_REMINDER,
}
"""Tool macro of authored text → the function it names."""
FAMILIES: Mapping[str, frozenset[str]] = {
    "memory": frozenset({REMEMBER, UPDATE_MEMORY, FORGET_MEMORY}),
    "short_term_memory": frozenset({SHORT_TERM_NOTE}),
    "search": frozenset({SEARCH_MEMORY}),
    "sticker": frozenset({SEND_STICKER}),
    "message_metadata": frozenset({REVEAL_MESSAGE_METADATA}),
    "task": frozenset({SET_REMINDER}),
}
"""Family of authored text's conditions → the functions of which one suffices."""


class Status(Enum):
    """The outcome of a call."""

    saved = "saved"
    updated = "updated"
    deleted = "deleted"
    found = "found"
    sent = "sent"
    invalid_arguments = "invalid_arguments"
    disabled = "disabled"
    limit = "limit"
    ambiguous_user = "ambiguous_user"
    user_not_found = "user_not_found"
    not_found = "not_found"
    privacy_restricted = "privacy_restricted"
    internal = "internal"
    storage = "storage"


@dataclass(frozen=True)
class Outcome:
    """What the model is told of one call. *facts* are data, never instructions."""

    status: Status
    message: str
    facts: Mapping[str, object] = field(default_factory=dict)

    def as_text(self) -> str:
        return json.dumps({"status": self.status.value, "message": self.message, **self.facts}, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class MemoryChange:
    """One thing a reply changed in memory, for whoever tells people of it."""

    status: Status
    id: int
    text: str
    """What it says now; of a deleted one, what it said."""
    before: str = ""
    about: Author | None = None
    """None: it is about the server."""
    persona: str = ""


class Refusal(Exception):
    """A call that is not carried out; it holds what the model is told."""

    def __init__(self, status: Status, message: str, **facts: object) -> None:
        super().__init__(message)
        self.outcome = Outcome(status, message, facts)


@dataclass(frozen=True)
class Tool:
    """A function offered to the model, and what does it."""

    spec: ToolSpec
    run: Callable[[Mapping[str, object]], Awaitable[Outcome]]


def tool_spec(name: str, description: str, /, *required: str, **properties: Mapping[str, object]) -> ToolSpec:
    """The description of a tool whose arguments are *properties*."""
    from familiar_connect.llm.types import ToolSpec

    schema = {
        "type": "object",
        "properties": {key: dict(value) for key, value in properties.items()},
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name, description, schema)


def text_argument(given: Mapping[str, object], name: str, *, required: bool = True) -> str:
    """The string *name* of the arguments; `Refusal` for anything else."""
    value = given.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value.strip()):
        raise Refusal(Status.invalid_arguments, f"`{name}` must be a text that is not empty")
    return value.strip()


def id_argument(given: Mapping[str, object], name: str = "id") -> int:
    """The whole number *name* of the arguments, also where a model wrote it as text."""
    value = given.get(name)
    if isinstance(value, str) and len(value) <= 12 and value.strip().isascii() and value.strip().isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 10**12:
        raise Refusal(Status.invalid_arguments, f"`{name}` must be the number of a memory")
    return value


Notify = Callable[[MemoryChange], Awaitable[None]]
SendSticker: TypeAlias = "Callable[[Sticker], Awaitable[None]]"
"""Puts a sticker into the channel being answered."""


class SummaryKeeper(Protocol):
    """Keeps what a conversation comes to, for a while."""

    def write_summary(
        self, text: str, *, familiar_id: str, persona: str, channel_id: int, guild_id: int | None, author: Author
    ) -> bool: ...
