"""Gauge: how late the event loop of this process runs, what memory it holds and what work it has done."""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.table import spread

TICK_S = 0.01
_PAGE = resource.getpagesize()


def resident_bytes() -> int:
    """Memory held now; where the system does not tell, the most that was ever held."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


class ProcessStats:
    """Ticks, and notes how late each tick came.

    Of a delay, at most the work this process did meanwhile is its own: the rest is the machine, busy with others.
    """

    def __init__(self) -> None:
        self._late: list[float] = []
        self._own: list[float] = []

    async def run(self) -> None:
        while True:
            began, worked = time.perf_counter(), time.process_time()
            await asyncio.sleep(TICK_S)
            late = max(0.0, time.perf_counter() - began - TICK_S)
            self._late.append(late)
            self._own.append(min(late, time.process_time() - worked))

    def read(self) -> dict[str, Any]:
        """Everything since the last reading."""
        late, self._late = self._late or [0.0], []
        own, self._own = self._own or [0.0], []
        return {
            "rss": resident_bytes(),
            "cpu_s": time.process_time(),
            "late_ms": spread(late, 1000),
            "own_ms": spread(own, 1000),
        }
