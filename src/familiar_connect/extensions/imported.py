"""ImportedLine, ImportedChat, ImportedText and ReadLimits: what an importer makes of a file, and may need for that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from familiar_connect.support.bounded_process import ProcessLimits
from familiar_connect.support.free_memory import MEGABYTE

MAX_TEXT_CHARS = 1_000_000
"""Of one message of a chat."""


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
    is_character: bool = False
    """Whether the file says that a character or a model wrote it; else the names decide."""
    is_hidden: bool = False
    """Whether it was never said: it is kept, and never shown to a model."""
    is_narrator: bool = False
    """Whether nobody says it: it tells what happens."""
    versions: tuple[str, ...] = ()
    """Everything the message may read, where there are several; *text* is one of them."""


@dataclass(frozen=True, kw_only=True)
class ImportedChat:
    """The head of a chat, in a file that holds several: the lines after it belong to it, up to the next head."""

    title: str
    """What it is called there; empty: as its file is."""
    key: str = ""
    """What tells it from every other chat of that program, also in a later file: its number there, for example."""


@dataclass(frozen=True, kw_only=True)
class ImportRemark:
    """A sentence for the owner about what became of a chat: what was kept of it, and what was left out."""

    text: str
    is_of_file: bool = False
    """Whether it is about all of the file and not about the chat that was begun last."""


ImportedItem = ImportedLine | ImportedChat | ImportRemark


@dataclass(frozen=True, kw_only=True)
class ImportedText:
    """What a document says."""

    title: str
    """Empty: the document is called as its file is."""
    pages: tuple[str, ...]
    """One, where the format has no pages."""


@dataclass(frozen=True, kw_only=True)
class ReadLimits(ProcessLimits):
    """What an importer may need for one file; a file that needs more is refused in a sentence."""

    file_bytes: int = 64 * MEGABYTE
    cpu_s: float = 60.0
    memory_bytes: int = 512 * MEGABYTE
    wall_s: float = 120.0
