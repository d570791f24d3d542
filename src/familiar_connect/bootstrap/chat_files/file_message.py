"""What a chat file says: its messages one by one, whatever form the file has."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any, Literal

Speaker = Literal["user", "character", ""]
"""Who says a message, as far as the file tells; empty: only the name does."""

MAX_NAME_CHARS = 200
SPEAKER_CHARS, SAID_CHARS = 8, 16
"""Of a fingerprint: what tells the speaker, and what tells the rest."""


@dataclass(frozen=True, kw_only=True)
class FileMessage:
    """One message of a chat file."""

    line: int
    """Where it stands: the line of the file, or its number in a list."""
    name: str
    text: str
    speaker: Speaker = ""
    is_hidden: bool = False
    is_narrator: bool = False
    sent: datetime | None = None
    versions: tuple[str, ...] = ()
    """Everything it may read, where there are several."""
    chosen: int = 0
    """Which version it reads."""
    turn_id: int = 0
    """The turn it was when our own export wrote it; 0 for any other."""
    kept: Mapping[str, Any] = field(default_factory=dict)
    """Every other field of SillyTavern's, for the way back."""
    words: tuple[str, ...] = ()
    """The raw words behind each version, or behind its one text, where our own export kept them; empty: as shown."""

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same message; of two by one speaker the first `SPEAKER_CHARS` are the same."""
        sent = self.sent.astimezone(UTC).isoformat(timespec="milliseconds") if self.sent else ""
        said = "\0".join((f"{self.is_hidden} {self.chosen} {sent}", self.text, *self.versions))
        return _speaker_digest(self.name, self.speaker == "user") + _digest(said, SAID_CHARS)


@lru_cache(maxsize=1_000)
def _speaker_digest(name: str, is_user: bool) -> str:
    return _digest(f"{is_user} {name}", SPEAKER_CHARS)


def _digest(text: str, chars: int) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=chars // 2).hexdigest()
