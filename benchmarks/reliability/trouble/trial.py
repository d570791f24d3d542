"""`python -m benchmarks.reliability trouble`: every door while the machine runs short of something."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.reliability.door_kills.campaign import TOP
from benchmarks.reliability.trouble.means import TROUBLES
from benchmarks.table import Row

DOOR_NAMES = ("discord room", "twitch", "page", "chat --plain", "ask")
LONGEST_LINE = 1 << 20


async def measure(*, doors: Sequence[str] = (), troubles: Sequence[str] = ()) -> dict[str, Any]:
    """A cell for each of *doors* in each of *troubles*; None named: all."""
    asked = {"doors": [*(doors or DOOR_NAMES)], "troubles": [*(troubles or TROUBLES)]}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.reliability.trouble.cells", json.dumps(asked)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(TOP / "src"), str(TOP)))},
        limit=LONGEST_LINE,
    )
    assert process.stdout is not None
    cells: list[dict[str, Any]] = []
    try:
        async for line in process.stdout:
            cells.append(json.loads(line))
            told = {key: value for key, value in cells[-1].items() if key not in ("streams", "owner", "asker")}
            print(json.dumps(told), file=sys.stderr, flush=True)
    finally:
        if process.returncode is None and len(cells) < len(asked["doors"]) * len(asked["troubles"]):
            process.kill()
        await process.wait()
    return {"cells": cells}


def rows(found: dict[str, Any]) -> list[Row]:
    made = []
    for each in found["cells"]:
        name = f"{each['door']}, {each['trouble']}"
        if "skipped" in each:
            made.append(Row(name=name, value=f"skipped: {each['skipped']}"))
            continue
        after = each["after"] if not each["restarts"] else f"{each['after']}, then {each['again']} after a restart"
        talk = f"before: {each['before']}; meanwhile: {each['meanwhile']}; after: {after}"
        said = f'; it said "{each["said"]}"' if each["said"] else ""
        faults = "; ".join(each["faults"]) or "no fault"
        made.append(Row(name=f"{name}: {talk}{said}", value=faults, bar="no fault", ok=not each["faults"]))
    return made
