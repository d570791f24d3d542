"""What may be told of people besides what a scene shows: kept memories, reminders, and whatever else somebody knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from familiar_connect.context.types import ContextRequest
from familiar_connect.identity import Author


@dataclass(frozen=True, kw_only=True)
class KeptMemory:
    """One thing remembered of a person, under the id a tool takes."""

    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class PendingReminder:
    """Something the persona is to remember later."""

    id: str
    purpose: str
    due_at: datetime
    recurrence: str = ""
    recipient: Author | None = None
    """None: a task of its own."""
    persona: str = ""
    """Whose reminder it is; empty: any persona's."""


class PersonalMemories(Protocol):
    """Memories of people, by canonical key."""

    async def of(self, people: Sequence[Author], request: ContextRequest) -> Mapping[str, Sequence[KeptMemory]]: ...


class Reminders(Protocol):
    async def pending(self, request: ContextRequest) -> Sequence[PendingReminder]: ...


class Enricher(Protocol):
    """Adds lines to what is told of people, by canonical key; it changes nothing else of them."""

    async def lines(self, people: Sequence[Author], request: ContextRequest) -> Mapping[str, Sequence[str]]: ...
