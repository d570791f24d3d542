"""The process that sees the mounts: `python -m …cells JSON`, a line of JSON for each door in each trouble."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reliability.door_kills.campaign import running_runner
from benchmarks.reliability.door_kills.doors import DOORS, PIECES
from benchmarks.reliability.program import NumberModel
from benchmarks.reliability.trouble.cell import Cell
from benchmarks.reliability.trouble.means import TROUBLES, why_no_mounts

PATIENCE_S = 3.0


async def run_cells(doors: Sequence[str], troubles: Sequence[str], no_mounts: str | None) -> None:
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # who is out of sockets hangs up
    async with running_runner() as runner, NumberModel(pieces=PIECES).running() as model:
        for name in doors:
            for wanted in troubles:
                if TROUBLES[wanted].needs_mounts and no_mounts is not None:
                    print(json.dumps({"door": name, "trouble": wanted, "skipped": no_mounts}), flush=True)
                    continue
                with tempfile.TemporaryDirectory(prefix="familiar-trouble-") as folder:
                    door = DOORS[name](folder=Path(folder), model=model, patience_s=PATIENCE_S)
                    trouble = TROUBLES[wanted](home=door.home)
                    trouble.prepare()
                    try:
                        async with door.open():
                            print(json.dumps(await Cell(door, trouble, runner).run()), flush=True)
                    finally:
                        trouble.close()


def main(arguments: Sequence[str]) -> None:
    asked = json.loads(arguments[0])
    no_mounts = why_no_mounts() if any(TROUBLES[each].needs_mounts for each in asked["troubles"]) else None
    asyncio.run(run_cells(asked["doors"], asked["troubles"], no_mounts))


if __name__ == "__main__":
    main(sys.argv[1:])
