"""Load: fifty channels, two hundred people, a hundred messages a second, against a bare bot with the same traffic."""

from __future__ import annotations

import asyncio
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.reliability.child import Plan
from benchmarks.reliability.harness import (
    TrialServer,
    answer_verdict,
    find_misheard,
    history,
    is_all_stored,
    make_home,
    make_trial_server,
    running_process,
    until,
    wait_until_answered,
)
from benchmarks.reliability.rows import asked_row, heard_row
from benchmarks.reliability.traffic import generate_traffic, number_of
from benchmarks.table import Row
from familiar_connect.extensions.discord.demo.server import DiscordServer

ROOMS, PEOPLE, PER_SECOND, SECONDS = 50, 200, 100.0, 60.0
ASKED = 0.08
"""Share of the messages that are said to the familiar."""
WARM = 0.5
"""Share of the run after which memory must not grow any more: by then the library has filled its cache."""
SETTLE_S = 60.0
MOST_GROWTH = 0.10
STALL_P99_MS = 20.0
SETTINGS = "text_lull_timeout = 2.0\n"


async def measure(
    *, seconds: float = SECONDS, per_second: float = PER_SECOND, rooms: int = ROOMS, people: int = PEOPLE
) -> dict[str, Any]:
    facts: dict[str, Any] = {"seconds": seconds, "per_second": per_second, "rooms": rooms, "people": people}
    return {
        **facts,
        "familiar": await play("child", **facts),
        "peer": await play("peer", **facts),
    }


async def play(module: str, *, seconds: float, per_second: float, rooms: int, people: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="familiar-load-") as folder:
        async with DiscordServer() as server:
            stage = make_trial_server(server, rooms=rooms, people=people)
            root = make_home(Path(folder), stage.rooms, settings=SETTINGS)
            plan = Plan(root=str(root), api_url=server.api_url, token=server.token)
            async with running_process(server, module, plan) as child:
                begun = await child.ask("read")
                late_s = await _speak(stage, seconds=seconds * WARM, per_second=per_second, first=0.0)
                warm = await child.ask("read")
                late_s = max(late_s, await _speak(stage, seconds=seconds, per_second=per_second, first=seconds * WARM))
                behind = time.perf_counter()
                if module == "child":
                    await until(lambda: is_all_stored(root, stage), within_s=SETTLE_S)
                behind_s = time.perf_counter() - behind
                exchanges = await (
                    wait_until_answered(stage, child, within_s=SETTLE_S) if module == "child" else child.ask("settle")
                )
                ended = await child.ask("read")
                found: dict[str, Any] = {
                    "rss_warm": warm["rss"],
                    "rss_end": ended["rss"],
                    "cpu_ms_per_message": (ended["cpu_s"] - begun["cpu_s"]) / len(stage.said) * 1000,
                    "late_ms": {"warm": warm["late_ms"], "end": ended["late_ms"]},
                    "own_ms": {"warm": warm["own_ms"], "end": ended["own_ms"]},
                    "behind_s": behind_s,
                    "traffic_late_s": late_s,
                    "replies": sum(len(stage.replies(room)) for room in stage.rooms),
                }
                await child.leave()
            if module == "child":
                found |= {"heard": find_misheard(root, stage), "answers": answer_verdict(stage, exchanges)}
                found["disordered_replies"] = _disordered(stage, root)
            return found


async def _speak(stage: TrialServer, *, seconds: float, per_second: float, first: float) -> float:
    """Say everything from *first* up to *seconds*, each at its time; how late we were at worst."""
    everything = generate_traffic(
        seconds=seconds,
        per_second=per_second,
        rooms=len(stage.rooms),
        people=len(stage.people),
        asked=ASKED,
        mention=stage.mention,
    )
    began, worst = time.perf_counter() - first, 0.0
    for what in everything:
        if what.at_s < first:
            continue
        wait = what.at_s - (time.perf_counter() - began)
        worst = max(worst, -wait)
        await asyncio.sleep(max(0.0, wait))
        await stage.say(what)
    return worst


def _disordered(stage: TrialServer, root: Path) -> int:
    """Replies that answer something older than the reply before them, or that the history has in another order."""
    wrong = 0
    rows = history(root)
    for room in stage.rooms:
        sent = stage.replies(room)
        numbers = [number_of(text) or 0 for text in sent]
        wrong += sum(later <= earlier for earlier, later in pairwise(numbers))
        kept = [row.text for row in rows if row.channel_id == room.id and row.role == "assistant"]
        wrong += kept != sent
    return wrong


def rows(found: dict[str, Any]) -> list[Row]:
    ours, peer = found["familiar"], found["peer"]
    heard_, answers = ours["heard"], ours["answers"]
    growth = ours["rss_end"] / ours["rss_warm"] - 1
    is_long = found["seconds"] * WARM * found["per_second"] >= 2500
    late, own = ours["late_ms"]["end"], ours["own_ms"]["end"]
    what = f"{found['per_second']:g} messages a second for {found['seconds']:g} s, {found['rooms']} channels"
    unanswered = answers["neither"] + answers["answered_twice"] + answers["reported"]
    return [
        heard_row(f"{what}: lost, stored twice, out of order", heard_),
        asked_row(answers, bar="all answered once", ok=not unanswered),
        Row(
            name=f"replies out of order, of {ours['replies']:,}",
            value=str(ours["disordered_replies"]),
            bar="0",
            ok=not ours["disordered_replies"],
        ),
        Row(
            name="memory at the end against half-time",
            value=f"{growth:+.1%} ({ours['rss_end'] / 1e6:.0f} MB; the bare bot {_growth(peer):+.1%})",
            bar=f"± {MOST_GROWTH:.0%}" if is_long else "",
            ok=abs(growth) <= MOST_GROWTH if is_long else None,
        ),
        Row(
            name="loop stall p99, ms",
            value=f"{late['p99']:.1f} (p50 {late['p50']:.1f}, worst {late['worst']:.0f}; at most"
            f" {own['p99']:.1f} of it own work; the bare bot p99 {peer['late_ms']['end']['p99']:.1f})",
            bar=f"< {STALL_P99_MS:g}",
            ok=late["p99"] < STALL_P99_MS,
        ),
        Row(
            name="behind the traffic at its end",
            value=f"{'over ' if ours['behind_s'] >= SETTLE_S else ''}{ours['behind_s']:.1f} s",
        ),
        Row(
            name="processor time per message against the bare bot",
            value=f"{ours['cpu_ms_per_message'] / peer['cpu_ms_per_message']:.1f} × "
            f"({ours['cpu_ms_per_message']:.2f} ms against {peer['cpu_ms_per_message']:.2f} ms)",
        ),
        Row(
            name="memory against the bare bot",
            value=f"{ours['rss_end'] / peer['rss_end']:.1f} × "
            f"({ours['rss_end'] / 1e6:.0f} MB against {peer['rss_end'] / 1e6:.0f} MB)",
        ),
    ]


def _growth(found: dict[str, Any]) -> float:
    return float(found["rss_end"] / found["rss_warm"] - 1)
