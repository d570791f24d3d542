"""ImportedLine and ImportedText: what an importer of an extension makes of a file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class ImportedLine:
    """One message of a chat, in the order of the chat."""

    name: str
    """Who said it, as the chat has them."""
    text: str
    sent: datetime | None = None
    """When; None: the file does not tell. A time without a zone is meant where the familiar is."""
    is_user: bool = False
    """Whether the file says that its owner wrote it; else the names decide."""


@dataclass(frozen=True, kw_only=True)
class ImportedText:
    """What a document says."""

    title: str
    pages: tuple[str, ...]
    """One, where the format has no pages."""
