"""People facts: what else is known of the people here, asked of each source with a time limit; one may fail alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from familiar_connect.context.participants import Participant
from familiar_connect.context.providers.scene.protocols import (
    Enricher,
    KeptMemory,
    PendingReminder,
    PersonalMemories,
    Reminders,
)
from familiar_connect.context.types import ContextRequest

logger = logging.getLogger(__name__)

SOURCE_LIMIT_S = 1.5

T = TypeVar("T")


@dataclass(frozen=True)
class PeopleFacts:
    """What others know of the people here, by canonical key."""

    memories: Mapping[str, Sequence[KeptMemory]] = field(default_factory=dict)
    reminders: Sequence[PendingReminder] = ()
    more: Sequence[Mapping[str, Sequence[str]]] = ()


@dataclass
class PeopleSources:
    """Who is asked. Any of them may be missing."""

    memories: PersonalMemories | None = None
    reminders: Reminders | None = None
    enrichers: Sequence[Enricher] = ()

    async def ask(self, people: Sequence[Participant], request: ContextRequest) -> PeopleFacts:
        """Everyone at once; enrichers keep their order. Nobody is asked about people who do not allow it."""
        memories, reminders, more = await asyncio.gather(
            self._memories(people, request), self._reminders(request), self._more(people, request)
        )
        return PeopleFacts(memories, reminders, more)

    async def _memories(
        self, people: Sequence[Participant], request: ContextRequest
    ) -> Mapping[str, Sequence[KeptMemory]]:
        authors = [each.author for each in people if each.author is not None and may_remember(each, request)]
        if self.memories is None or not authors:
            return {}
        found = await _in_time(self.memories.of(authors, request)) or {}
        return {author.canonical_key: found.get(author.canonical_key, ()) for author in authors}

    async def _reminders(self, request: ContextRequest) -> Sequence[PendingReminder]:
        return () if self.reminders is None else await _in_time(self.reminders.pending(request)) or ()

    async def _more(
        self, people: Sequence[Participant], request: ContextRequest
    ) -> Sequence[Mapping[str, Sequence[str]]]:
        authors = [each.author for each in people if each.author is not None and each.is_open and not each.is_self]
        if not authors:
            return ()
        found = await asyncio.gather(*(_in_time(each.lines(authors, request)) for each in self.enrichers))
        return [lines for lines in found if lines]


def may_remember(person: Participant, request: ContextRequest) -> bool:
    """Whether memories of *person* may be told here."""
    imitated = request.turn.imitated if request.turn is not None else None
    author, member = person.author, person.member
    if author is None or person.is_self or not person.is_open or not request.settings.personal_memories_enabled:
        return False
    if member is not None and (member.is_blacklisted or not member.is_personalised):
        return False
    return imitated is None or imitated.author.canonical_key == author.canonical_key


async def _in_time(asked: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(SOURCE_LIMIT_S):
            return await asked
    except Exception as error:  # isolation: the list is worth more than any one detail
        logger.warning("what a source knows of people was left out", extra={"error": type(error).__name__})
        return None
