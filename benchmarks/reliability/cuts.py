"""Cuts: the gateway is cut after every twenty lines, and one request in five goes wrong; nobody who asked goes unheard.

Some cuts are polite, some in mid-word, and after some Discord no longer knows the session. Requests meet rate
limits, errors before and after they took effect, and silence.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.reliability.child import Plan
from benchmarks.reliability.harness import (
    answer_verdict,
    find_misheard,
    is_all_stored,
    make_home,
    make_trial_server,
    running_process,
    until,
    wait_until_answered,
)
from benchmarks.reliability.proxy import CuttableProxy, RandomFaults, ServerBehindProxy, server_behind_proxy
from benchmarks.reliability.rows import asked_row, heard_row
from benchmarks.reliability.traffic import generate_traffic
from benchmarks.table import Row

ROOMS, PEOPLE, PER_SECOND, SECONDS = 8, 20, 10.0, 60.0
ASKED = 0.3
CUT_EVERY_S = 2.0
FORGETS_EVERY = 5
"""After every fifth cut the session is gone, and what was missed must be looked up."""
ANSWER_WITHIN_S, HANGS_S = 3.0, 5.0
SETTLE_S = 240.0


async def measure(
    *, seconds: float = SECONDS, cut_every_s: float = CUT_EVERY_S, per_second: float = PER_SECOND, seed: int = 11
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="familiar-cuts-") as folder:
        async with server_behind_proxy() as (server, line):
            stage = make_trial_server(server, rooms=ROOMS, people=PEOPLE)
            root = make_home(Path(folder), stage.rooms)
            plan = Plan(
                root=str(root), api_url=server.api_url, token=server.token, answer_within_s=ANSWER_WITHIN_S, hurry=True
            )
            traffic = generate_traffic(
                seconds=seconds, per_second=per_second, rooms=ROOMS, people=PEOPLE, asked=ASKED, mention=stage.mention
            )
            async with running_process(server, "child", plan) as child:
                chance = server.faults.on_unforeseen = RandomFaults(seed, hangs_s=HANGS_S)
                traffic = generate_traffic(
                    seconds=seconds,
                    per_second=per_second,
                    rooms=ROOMS,
                    people=PEOPLE,
                    asked=ASKED,
                    mention=stage.mention,
                )
                began = time.perf_counter()
                for number, what in enumerate(traffic, 1):
                    await asyncio.sleep(max(0.0, what.at_s - (time.perf_counter() - began)))
                    await stage.say(what)
                    if number % round(cut_every_s * per_second) == 0:  # counted, so that a slow machine has as many
                        await _cut(server, line)
                began = time.perf_counter()
                await until(lambda: is_all_stored(root, stage), within_s=SETTLE_S)
                exchanges = await wait_until_answered(stage, child, within_s=SETTLE_S)
                late_s = time.perf_counter() - began
                server.faults.on_unforeseen = None
                await child.leave()
            return {
                "seconds": seconds,
                "cuts": line.cuts,
                "begun_anew": len(server.facts_of("gateway:2")),
                "resumed": len(server.facts_of("gateway:6")),
                "faults": chance.met,
                "heard": find_misheard(root, stage),
                "answers": answer_verdict(stage, exchanges),
                "posted": sum(len(stage.replies(room)) for room in stage.rooms),
                "settled_after_s": late_s,
                "odd": [each for each in exchanges if not each["sent"]][:20],
            }


async def _cut(server: ServerBehindProxy, line: CuttableProxy) -> None:
    """Cut the gateway, in one of three ways in turn."""
    if line.cuts % FORGETS_EVERY == FORGETS_EVERY - 1:
        server.gateway.forget()
    if line.cuts % 3 == 1:
        await server.gateway.drop()
        line.cuts += 1
    else:
        line.cut()


def rows(found: dict[str, Any]) -> list[Row]:
    heard_, answers = found["heard"], found["answers"]
    unanswered = answers["neither"] + answers["answered_twice"]
    faults = sum(found["faults"].values())
    return [
        heard_row(
            f"{found['cuts']} cuts in {found['seconds']:g} s, {faults} faulty answers: lost, twice, out of order",
            heard_,
        ),
        asked_row(answers, bar="each answered once or reported", ok=not unanswered),
        Row(
            name="replies on Discord against replies made",
            value=f"{found['posted']} against {answers['replies']}",
            bar="the same",
            ok=found["posted"] == answers["replies"],
        ),
        Row(name="resumed, begun anew", value=f"{found['resumed']}, {found['begun_anew']}"),
        Row(name="everything settled after", value=f"{found['settled_after_s']:.1f} s"),
    ]
