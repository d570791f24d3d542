"""The last prompt of each channel, as a page on disk.

`put` writes what was sent, unshortened; a failure is logged and never reaches the turn. Nothing is
kept in memory, so the page can be read by another process and survives a restart.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.config.folders import LAST_CONTEXT_SUFFIX, last_context_file
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes, remove_file

if TYPE_CHECKING:  # a page that is only read holds no messages
    from familiar_connect.llm.types import Message

logger = logging.getLogger(__name__)

SEPARATOR = "\n\n---\n\n"
NOTES = "## Cuts and timings"
"""How the notes after a prompt begin."""


class LastContextCache:
    """`<channel_id>.last-context.md`, one page per channel."""

    def __init__(self, *, channels_root: Path, clock: Clock | None = None) -> None:
        self._root = Path(channels_root)
        self._clock = clock or SystemClock()

    def put(
        self,
        *,
        channel_id: int,
        messages: Sequence[Message],
        modality: str | Enum,
        notes: str | None = None,
        trace_id: str | None = None,
    ) -> None:
        """Replace the channel's page with *messages*; *notes* (cuts, timings) follow them."""
        kind = modality.value if isinstance(modality, Enum) else modality
        turn = f" turn={trace_id}" if trace_id else ""
        header = f"# {self._clock.now().isoformat()} modality={kind} {len(messages)} messages{turn}"
        try:
            page = page_of(messages, header=header, notes=notes)
            atomic_write(self._path(channel_id), page, durable=False)
        except OSError as failure:
            logger.warning("last context not written", extra={"channel_id": channel_id, "error": str(failure)})

    def get(self, *, channel_id: int) -> bytes | None:
        """The channel's page, or None when there is none to read."""
        try:
            return load_bytes(self._path(channel_id))
        except FileNotFoundError:
            return None
        except OSError as failure:
            logger.warning("last context not read", extra={"channel_id": channel_id, "error": str(failure)})
            return None

    def forget_words(self, is_meant: Callable[[object], bool], *, since: datetime) -> int:
        """Remove the pages that *is_meant*; how many went. One that cannot be read goes too."""
        gone = 0
        for path in self._root.glob(f"*{LAST_CONTEXT_SUFFIX}"):
            try:
                text = load_bytes(path).decode("utf-8", "replace")
            except OSError:
                text = None
            if text is None or is_meant(text):
                remove_file(path)
                gone += 1
        return gone

    def _path(self, channel_id: int) -> Path:
        return last_context_file(self._root, channel_id)


def page_of(messages: Sequence[Message], *, header: str, notes: str | None = None) -> bytes:
    """*messages* as people read them, under *header*."""
    sections = [_section(index, message) for index, message in enumerate(messages)]
    if notes:
        sections.append(notes.strip())
    return f"{header}\n\n{SEPARATOR.join(sections)}\n".encode("utf-8", errors="replace")


def is_of_turn(page: bytes, trace_id: str) -> bool:
    """Whether *page* says of itself that it shows the prompt of that turn."""
    return turn_of_page(page) == trace_id


def turn_of_page(page: bytes) -> str | None:
    """The id of the turn whose prompt *page* says it shows; None where it says none."""
    header = page.partition(b"\n")[0].decode("utf-8", errors="replace")
    return header.rpartition(" turn=")[2] if " turn=" in header else None


def _section(index: int, message: Message) -> str:
    name = f" ({message.name})" if message.name else ""
    pictures = "".join(f"\n\n*[picture: {part.mime}]*" for part in message.media)
    return f"## [{index}] {message.role}{name}\n\n{message.content}{pictures}"
