"""A provider that holds up the event loop, met in a conversation and looked up afterwards on the command line."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from familiar_connect.context.gather import BLOCKED_S
from familiar_connect.context.types import ContextRequest, Contribution
from tests.fakes.program import run_program
from tests.fakes.scripted_familiar import scripted_familiar


class Blocking:
    """Works in the loop where it should use a thread."""

    id = "conditioning"
    deadline_s = 5.0

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        ends = time.thread_time() + 2 * BLOCKED_S
        while time.thread_time() < ends:
            pass
        return []


async def test_a_provider_that_blocks_everybody_is_named_by_inspect(tmp_path: Path) -> None:
    """The turn itself goes on; its trace says who held it up, and so does `familiar inspect`."""
    async with scripted_familiar(tmp_path, ["Here."]) as house:
        house.familiar.providers["conditioning"] = Blocking()
        await house.talk("are you there?")
    told = await asyncio.to_thread(run_program, tmp_path, "inspect")

    assert told.returncode == 0, told.stderr
    (line,) = [line for line in told.stdout.splitlines() if line.startswith("| conditioning ")]
    assert "blocked the event loop for " in line
