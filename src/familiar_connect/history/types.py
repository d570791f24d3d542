"""What the history hands out: turns, and the rows kept beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from familiar_connect.audience import OWNER, Audience
from familiar_connect.identity import Author

IMPORT_PREFIX = "import:"
"""How the platform's id of a message begins that came with a chat file."""


DELETED = "(message deleted)"
"""What the turn of a deleted message reads, and one of ours that repeated words which were erased."""


class TurnMark(StrEnum):
    """Why a turn is not part of the conversation as it is shown."""

    hidden = "hidden"
    """Shown in the chat and exported, never told to a model: a hidden line, a note of the program."""
    undone = "undone"
    """Taken back: kept in the file and shown nowhere."""
    belated = "belated"
    """Read after newer ones were stored, so that its row stands in the wrong place: searched and remembered only."""


class RemovalCause(StrEnum):
    """Why a turn no longer reads as it was said."""

    deleted = "delete"
    edited = "edit"
    purged = "purge"
    banned = "ban"
    private = "privacy"
    undone = "undo"
    repeated = "repeat"
    """Our own words, which repeated what was taken back."""


@dataclass(frozen=True)
class HistoryTurn:
    """One thing that was said, as it is stored: `content` is what was heard, or what the model wrote.

    Ids grow with every turn and are never used twice.
    """

    id: int
    timestamp: datetime
    role: str
    author: Author | None
    content: str
    channel_id: int = 0
    guild_id: int | None = field(default=None, kw_only=True)
    mode: str | None = field(default=None, kw_only=True)
    platform_message_id: str | None = field(default=None, kw_only=True)
    facts: str | None = field(default=None, kw_only=True)
    """What came with the words, as `history.message_metadata` writes it."""
    audience: Audience = field(default=OWNER, kw_only=True)
    """Those it was said to."""
    mark: TurnMark | None = field(default=None, kw_only=True)
    """Set where it is in no prompt."""
    copy_of: int | None = field(default=None, kw_only=True)
    """The turn it repeats, in a chat that was branched off; what is remembered comes from that one."""
    view: str | None = field(default=None, kw_only=True)
    """What scripts made of the words, which stay as they were heard or written; None: nothing else."""

    @property
    def display_text(self) -> str:
        """The words as prompts, the chat and exports have them."""
        return self.content if self.view is None else self.view

    @property
    def actual_words(self) -> str:
        """What was really said, for memory and search: people's own words, and ours as they went out."""
        return self.display_text if self.role == "assistant" else self.content


@dataclass(frozen=True)
class SummaryEntry:
    """A rolling summary and the newest turn it covers."""

    last_summarised_id: int
    summary_text: str
    created_at: datetime


@dataclass(frozen=True)
class OtherChannelInfo:
    """Where else the familiar talks, and when something was last said there."""

    channel_id: int
    mode: str | None
    latest_id: int
    latest_timestamp: datetime


@dataclass(frozen=True)
class CrossContextEntry:
    """What happens in another channel, told for one mode, up to one turn."""

    source_last_id: int
    summary_text: str
    created_at: datetime


@dataclass(frozen=True)
class WatermarkEntry:
    """The newest turn the memory writer has written up."""

    last_written_id: int
    created_at: datetime
