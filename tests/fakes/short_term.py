"""Actors of short-term memory: turns that were answered, and the stores that keep notes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from familiar_connect.audience import Audience
from familiar_connect.chat.types import SaidMessage, SimplifiedMessage, Turn
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author, FixedPrivacy, PrivacyLevel
from familiar_connect.memory.short_term import ShortTermNotes
from familiar_connect.support.clock import ManualClock
from tests.fakes.context import ADA

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SERVER, OTHER_SERVER = 5, 6
KITCHEN, GARDEN, CELLAR, ATTIC = 7, 8, 9, 10


def an_entry(text: str, author: Author = ADA, **more: Any) -> SimplifiedMessage:
    facts: dict[str, Any] = {
        "id": text[:8],
        "author_id": author.user_id,
        "author_name": author.label,
        "author_type": "user",
        "content": text,
    }
    return SimplifiedMessage(**facts | more)


def our_entry(text: str) -> SimplifiedMessage:
    return an_entry(text, author_id="99", author_name="Wren", author_type="persona", author_kind="persona")


def finished_turn(
    *messages: SimplifiedMessage, channel: int = KITCHEN, server: int | None = SERVER, by: Author = ADA, **more: Any
) -> Turn:
    """A turn in which *by* spoke last, somewhere."""
    said = (SaidMessage(author=by, text="hello", timestamp=NOON),)
    facts: dict[str, Any] = {
        "familiar_id": "wren",
        "channel_id": channel,
        "guild_id": server,
        "said": said,
        "messages": messages,
        "speaker": by,
        "persona": "Wren",
    }
    return Turn(**facts | more)


@dataclass
class NotesSetup:
    """Notes in memory, with a clock wound by hand and people who can go quiet."""

    history: HistoryStore = field(default_factory=lambda: HistoryStore(":memory:"))
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOON))
    levels: dict[str, PrivacyLevel] = field(default_factory=dict)

    @property
    def notes(self) -> ShortTermNotes:
        return ShortTermNotes(self.history, clock=self.clock, privacy=FixedPrivacy(self.levels))

    def hush(self, author: Author) -> None:
        """From now on *author* is not to be heard."""
        self.levels[author.canonical_key] = PrivacyLevel.FULL

    def say(
        self,
        text: str,
        reply: str = "Hm.",
        *,
        channel: int = KITCHEN,
        server: int | None = SERVER,
        by: Author = ADA,
        audience: Audience | None = None,
    ) -> None:
        """*by* said something somewhere and was answered."""
        self.history.append_turn(
            familiar_id="wren",
            channel_id=channel,
            role="user",
            content=text,
            author=by,
            guild_id=server,
            audience=audience,
        )
        assert self.notes.capture(finished_turn(an_entry(text, by), channel=channel, server=server, by=by), reply)

    def sum_up(self, text: str, *, channel: int = KITCHEN, server: int | None = SERVER, by: Author = ADA) -> bool:
        return self.notes.write_summary(
            text, familiar_id="wren", persona="Wren", channel_id=channel, guild_id=server, author=by
        )

    def here(self, channel: int = KITCHEN, server: int | None = SERVER, by: Author = ADA) -> Any:
        return self.notes.channel_note(
            familiar_id="wren", persona="Wren", channel_id=channel, guild_id=server, author=by
        )

    def lines(self, channel: int = KITCHEN, server: int | None = SERVER, by: Author = ADA) -> list[str]:
        note = self.here(channel, server, by)
        return [f"{line.speaker}: {line.text}" for line in note.lines] if note is not None else []


def texts(pieces: Sequence[Any]) -> str:
    return "\n".join(piece.text for piece in pieces)
