"""Waiting for something to become true, and looking for words in files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path


async def until(condition: Callable[[], object], *, within_s: float = 200.0) -> None:
    """Let others run until *condition* holds."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 - the condition may be about a thread or a file
            await asyncio.sleep(0)


def wait_until(condition: Callable[[], object], what: str, *, within_s: float = 300.0) -> None:
    """The same for plain code, looking often; *what* is said when it never holds."""
    ends = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < ends, f"waited {within_s:g} s in vain: {what}"
        time.sleep(0.01)


def files_holding(home: Path, words: str) -> list[str]:
    """Names of the files below *home* that contain *words*."""
    return sorted(path.name for path in home.rglob("*") if path.is_file() and words.encode() in path.read_bytes())
