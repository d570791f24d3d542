"""The parts of an extension that read files for `familiar import`: chats and documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from familiar_connect.extensions.imported import ImportedItem, ImportedText, ReadLimits


@dataclass(frozen=True, kw_only=True)
class ChatImporterPart:
    """A format of chats that `familiar import chat` takes."""

    name: str
    """What the format is called."""
    recognizes: Callable[[bytes, str], bool]
    """Whether a file is of this format, by its first 4096 bytes and its name. It only looks, and at once."""
    read: Callable[[bytes, str], Iterable[ImportedItem]]
    """The chats in all bytes of a file, and its name. It runs in a process of its own, within bounds, and says by an
    `UnreadableFileError` what is wrong with a file. Of a generator each line is handed on as it comes."""
    limits: ReadLimits | None = None
    """What reading one file may take; None: as much as `ReadLimits()` says."""


@dataclass(frozen=True, kw_only=True)
class DocumentImporterPart:
    """A format of documents that `familiar import document` takes."""

    name: str
    recognizes: Callable[[bytes, str], bool]
    """As for chats."""
    read: Callable[[bytes, str], ImportedText]
    """As for chats; the text of a document."""
    limits: ReadLimits | None = None
    """As for chats."""
