"""The sign of life of a program that runs for long: a file that it holds, and whose time it renews.

The event loop renews it, so a program that hangs shows none. A program that ends, however it ends, loses its hold.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from familiar_connect.support.aio import cancel_and_wait, off_loop
from familiar_connect.support.files import SharedLock, is_held
from familiar_connect.support.no_follow import make_folder, open_to_append

RENEW_S = 5.0
LATE_S = 30.0
"""A program that was silent for longer hangs, or the machine does."""


@asynccontextmanager
async def show_life(path: Path) -> AsyncIterator[None]:
    """Hold the file at *path* and renew it until the end of the block; where it cannot be written, do without."""
    lock = SharedLock(path)
    await off_loop(_renew, lock, path)
    renewing = asyncio.create_task(_renew_for_ever(lock, path), name="sign of life")
    try:
        yield
    finally:
        await cancel_and_wait(renewing)
        lock.release()


async def _renew_for_ever(lock: SharedLock, path: Path) -> None:
    while True:
        await asyncio.sleep(RENEW_S)
        await off_loop(_renew, lock, path)


def _renew(lock: SharedLock, path: Path) -> None:
    with suppress(OSError):
        if not path.exists():  # the first time, or somebody emptied the cache
            make_folder(path.parent)
            open_to_append(path).close()
            lock.release()
        lock.hold()
        os.utime(path)


def seconds_since_life(path: Path) -> float | None:
    """How long ago a program renewed the file at *path*; None where no program holds it.

    Windows has no such hold; there the time alone tells.
    """
    if sys.platform != "win32" and not is_held(path):
        return None
    try:
        return max(0.0, time.time() - path.stat().st_mtime)
    except OSError:
        return None
