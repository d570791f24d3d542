"""Waiting for something to become true, and looking for words in files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

PATIENT_ROUNDS = 50
"""How often a loop's other work gets its turn before a wait is taken to be for something outside."""


async def until(condition: Callable[[], object], *, within_s: float = 200.0) -> None:
    """Let others run until *condition* holds."""
    rounds = 0
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0)
            rounds += 1
            if rounds > PATIENT_ROUNDS:  # nothing left to do on this loop: leave the processor to what is awaited
                time.sleep(min(0.005, rounds / 200_000))  # noqa: ASYNC251 - a sleep of the loop's would move a clock that is the test's


def wait_until(condition: Callable[[], object], what: str | Callable[[], str], *, within_s: float = 300.0) -> None:
    """The same for plain code, looking often; *what* is said when it never holds, as it is then."""
    ends = time.monotonic() + within_s
    while not condition():
        if time.monotonic() >= ends:
            raise AssertionError(f"waited {within_s:g} s in vain: {what() if callable(what) else what}")
        time.sleep(0.01)


def files_holding(home: Path, words: str) -> list[str]:
    """Names of the files below *home* that contain *words*."""
    return sorted(path.name for path in home.rglob("*") if path.is_file() and words.encode() in path.read_bytes())
