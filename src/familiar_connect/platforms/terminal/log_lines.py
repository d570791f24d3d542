"""LogLines: the log of a chat as notes beside it, so that no line of it falls into a reply or into what is typed."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable


class LogLines(io.TextIOBase):
    """A stream for a log. Its lines are shown by the event loop, whatever thread they come from."""

    def __init__(self, loop: asyncio.AbstractEventLoop, show: Callable[[str], None]) -> None:
        super().__init__()
        self._loop = loop
        self._show = show

    def write(self, text: str) -> int:
        line = text.rstrip("\n")
        if line and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._show, line)
        return len(text)
