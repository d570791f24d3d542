"""`python -m benchmarks.reliability doors`: every door, killed at its writes."""

from __future__ import annotations

import json
import logging
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.reliability.door_kills.campaign import Campaign, Runner, running_runner
from benchmarks.reliability.door_kills.doors import DOORS, PIECES
from benchmarks.reliability.program import NumberModel
from benchmarks.table import Row

KILLS, QUICK_KILLS = 200, 24


async def measure(
    *,
    kills: int = KILLS,
    doors: Sequence[str] = (),
    part: tuple[int, int] = (1, 1),
    seed: int = 5,
    runner: Runner | None = None,
) -> dict[str, Any]:
    """A campaign behind each of *doors*, else behind all; *runner* lives the lives, else one of its own."""
    if runner is None:
        async with running_runner() as own:
            return await measure(kills=kills, doors=doors, part=part, seed=seed, runner=own)
    found = []
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # who was killed hangs up
    async with NumberModel(pieces=PIECES).running() as model:
        for name in doors or DOORS:
            with tempfile.TemporaryDirectory(prefix="familiar-doors-") as folder:
                door = DOORS[name](folder=Path(folder), model=model)
                async with door.open():
                    campaign = Campaign(door, runner, random.Random(f"{seed} {part[0]}"))
                    await campaign.run(kills, part=part)
                    found.append(await campaign.verdict())
                    print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    return {"doors": found}


def rows(found: dict[str, Any]) -> list[Row]:
    made = []
    for each in found["doors"]:
        how = "system call" if each["traced"] is None else f"our own functions, for {each['traced']}"
        struck = f"{each['sides_struck']} of {each['sides']} sides of {each['places']} places, by {how}"
        answered = (
            f"{each['asked']} asked: {each['answered']} answered, {each['told']} told, {each['unheard']} not heard"
        )
        killed = f"killed {each['kills']} times ({struck}; {each['seconds_a_kill']} s a kill)"
        made.append(
            Row(
                name=f"{each['door']}: {killed}; {answered}",
                value=f"{len(each['lost'])} lost, {len(each['doubled'])} doubled, {len(each['silent'])} without a word",
                bar="0, 0, 0",
                ok=not (each["lost"] or each["doubled"] or each["silent"]),
            )
        )
    return made
