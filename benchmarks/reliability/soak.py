"""Soak: a hundred thousand messages heard and five thousand answered in one process, which must not grow by them.

People talk through the real Discord library in rounds; after each round, when nothing is under way, the process
tells what it holds after a garbage collection: memory, handles, tasks, threads, objects, and files in its home.
Python takes its memory from the C library there, which tells to the byte what is in use and what is only kept back.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from itertools import accumulate, product
from pathlib import Path
from typing import Any

from benchmarks.reliability.child import Plan
from benchmarks.reliability.harness import (
    Child,
    TrialServer,
    make_home,
    make_trial_server,
    running_process,
    until,
)
from benchmarks.reliability.traffic import TrafficMessage
from benchmarks.table import Row
from familiar_connect.config.edit import find_setting, write_setting
from familiar_connect.extensions.discord.demo.server import DiscordServer

HEARD, ANSWERED = 100_000, 5_000
ROOMS, PEOPLE, ROUNDS = 20, 60, 40
SAID_AT_ONCE = 250
"""Messages under way before it is looked whether the process keeps up."""
WARM = 0.5
"""Share of the rounds after which the caches are full: from there on nothing may grow."""
MOST_BYTES_PER_TURN = 4_096
"""Of memory beside the index and what `MOST_BYTES_OF` names, for each message answered, in the second half."""
MOST_BYTES_OF = {"sqlite": 64 * 1024 * 1024, "cache_bytes": 64 * 1024 * 1024}
"""Parts that fill and then stay: two megabytes for each open database, and caches."""
MOST_OBJECTS_PER_TURN = 5.0
"""The index counts the words that were ever said: a number for each new one."""
LONG_HEARD = 40_000
"""In a shorter run the first half does not fill every cache, nor bring a page for each person in each room."""
HOMES = Path("/dev/shm")
"""Where the home is made, if this is there: what is measured is memory, and a disk would set the pace."""
EXACT_HEAP = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
"""All memory of Python is the C library's, and no thread keeps freed blocks, which would count as in use."""
SETTLE_S = 600.0
SETTINGS = "text_lull_timeout = 0.05\n"
EMBEDDER = "hashing"
"""The vectors of the small model that comes along take four fifths of the time; they are made the same way."""
_SYLLABLES = ("ba", "ri", "to", "ne", "ku", "la", "mi", "so", "ve", "da", "pol", "gan")
_WORDS = ["".join(each) for size in (2, 3) for each in product(_SYLLABLES, repeat=size)]
_OFTEN = list(accumulate(1 / (rank + 5) for rank in range(len(_WORDS))))
"""How often each is said, as in any language: a few always, most of them seldom. Were there only a dozen words, every
question would find every message."""


async def measure(
    *, heard: int | None = None, answered: int | None = None, rounds: int = ROUNDS, is_shown: bool = True
) -> dict[str, Any]:
    """The curve, a reading for each round."""
    heard, answered = heard or HEARD, answered or ANSWERED
    with tempfile.TemporaryDirectory(prefix="familiar-soak-", dir=_home_parent()) as folder:
        async with DiscordServer() as server:
            stage = make_trial_server(server, rooms=ROOMS, people=PEOPLE)
            root = make_home(Path(folder), stage.rooms, settings=SETTINGS)
            write_setting(root / "character.toml", find_setting("providers.content_search.embedder"), EMBEDDER)
            plan = Plan(
                root=str(root),
                api_url=server.api_url,
                token=server.token,
                model_s=0.0,
                never_joins_in=True,
                keeps_exchanges=False,
                never_steps_back=True,
            )
            async with running_process(server, "child", plan, **EXACT_HEAP) as child:
                began = time.perf_counter()
                curve = [await _reading(child, root, 0, 0)]
                for number in range(rounds):
                    said = await _talk(stage, root, number, heard // rounds, answered // rounds, child)
                    curve.append(await _reading(child, root, len(stage.said), said + curve[-1]["answered"]))
                    if is_shown:
                        print(_line(curve[-1], time.perf_counter() - began), file=sys.stderr, flush=True)
                await child.leave()
    return {"curve": curve, "seconds": time.perf_counter() - began}


def _home_parent() -> Path | None:
    return HOMES if HOMES.is_dir() else None


async def _talk(stage: TrialServer, root: Path, number: int, heard: int, asked: int, child: Child) -> int:
    """One round: *heard* messages, *asked* of them to the familiar, all stored and answered; how many answers."""
    rng = random.Random(number)
    questions = set(rng.sample(range(heard), asked))
    first = len(stage.said)
    before = sum(len(stage.replies(room)) for room in stage.rooms)
    for place in range(heard):
        words = " ".join(rng.choices(_WORDS, cum_weights=_OFTEN, k=rng.randint(3, 24)))
        to = f"{stage.mention} " if place in questions else ""
        text = f"{to}{words} [m{first + place:06d}]"
        await stage.say(
            TrafficMessage(
                number=first + place,
                at_s=0.0,
                room=rng.randrange(ROOMS),
                person=rng.randrange(PEOPLE),
                text=text,
                is_asked=place in questions,
            )
        )
        if place % SAID_AT_ONCE == SAID_AT_ONCE - 1:
            await child.ask("settle")
    if not await until(lambda: _stored(root) >= first + heard, within_s=SETTLE_S):
        raise RuntimeError(f"of {first + heard} messages {_stored(root)} are stored")
    await child.ask("settle")
    return sum(len(stage.replies(room)) for room in stage.rooms) - before


def _stored(root: Path) -> int:
    with closing(sqlite3.connect(f"file:{root / 'history.db'}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM turns WHERE role = 'user'").fetchone()[0])


async def _reading(child: Child, root: Path, heard: int, answered: int) -> dict[str, Any]:
    found: dict[str, Any] = await child.ask("count")
    sizes = _file_sizes(root.parent.parent)
    return {
        **found,
        "held": found["heap_in_use"] - found["index"] - found["sqlite"] - found["cache_bytes"],
        "heard": heard,
        "answered": answered,
        "files": len(sizes),
        "file_bytes": sum(sizes),
        "pages": sum(1 for _ in (root / "memory").rglob("*.md")),
    }


def _file_sizes(home: Path) -> list[int]:
    found = []
    for path in home.rglob("*"):
        with suppress(FileNotFoundError):  # a file that was being written has its name by now
            if path.is_file():
                found.append(path.stat().st_size)
    return found


def _line(reading: dict[str, Any], seconds: float) -> str:
    return (
        f"{reading['heard']:>7,} heard {reading['answered']:>6,} answered  {reading['rss'] / 1e6:6.1f} MB"
        f" ({reading['heap_in_use'] / 1e6:.1f} in use: index {reading['index'] / 1e6:.1f}, sqlite"
        f" {reading['sqlite'] / 1e6:.1f}, caches {reading['cache_bytes'] / 1e6:.1f}, other {reading['held'] / 1e6:.1f};"
        f" {reading['heap_free'] / 1e6:.1f} free)  {reading['objects']:>9,} objects"
        f" {sum(reading['by_type'].values()) / 1e6:.1f} MB ({_largest(reading['by_type'])})"
        f"  {reading['cached']:,} of {reading['cached_most']:,} cached  {reading['pages']:,} pages"
        f"  {reading['handles']} handles  {reading['tasks']} tasks  {reading['threads']} threads,"
        f" {reading['pooled']} in pools"
        f"  {reading['files']:,} files {reading['file_bytes'] / 1e6:.1f} MB  {seconds:.0f} s"
    )


def slope(curve: Sequence[dict[str, Any]], what: str) -> float:
    """How much of *what* comes with each answered turn, in the second half: the line of least squares."""
    warm = curve[int(len(curve) * WARM) :]
    turns = [each["answered"] for each in warm]
    values = [each[what] for each in warm]
    middle, mean = sum(turns) / len(turns), sum(values) / len(values)
    spread = sum((turn - middle) ** 2 for turn in turns)
    if not spread:
        return 0.0
    return float(sum((turn - middle) * (value - mean) for turn, value in zip(turns, values, strict=True)) / spread)


def rows(found: dict[str, Any]) -> list[Row]:
    curve = found["curve"]
    last, warm = curve[-1], curve[int(len(curve) * WARM)]
    is_long = last["heard"] >= LONG_HEARD
    what = f"{last['heard']:,} heard, {last['answered']:,} answered in {found['seconds']:.0f} s"
    grown = [name for name in ("handles", "tasks", "threads") if last[name] > warm[name] + 2]
    named = ("cached", "pages", "files")
    return [
        _slope_row(f"{what}: memory for each turn answered, beside what is told below", curve, "held", is_long),
        _slope_row("objects for each turn answered", curve, "objects", is_long),
        _size_row("memory of caches", "cache_bytes", warm, last, is_long),
        Row(name="the largest of them, at the end", value=_largest(last["caches"])),
        Row(name="what Python holds more of than in the middle", value=_largest(_growth(last, warm))),
        Row(
            name="memory of the process, and gaps that the C library keeps for later, in the middle and at the end",
            value=", ".join(f"{warm[name] / 1e6:.1f} → {last[name] / 1e6:.1f} MB" for name in ("rss", "heap_free")),
        ),
        Row(
            name="memory of the index for each message heard",
            value=f"{last['index'] / max(1, last['heard']):,.0f} bytes ({last['index'] / 1e6:.1f} MB at the end)",
        ),
        _size_row("memory of SQLite", "sqlite", warm, last, is_long),
        Row(
            name="handles, tasks, threads, in the middle and at the end",
            value=", ".join(f"{warm[name]} → {last[name]}" for name in ("handles", "tasks", "threads")),
            bar="no more" if is_long else "",
            ok=not grown if is_long else None,
        ),
        Row(
            name="threads that wait for work in pools of at most four, in the middle and at the end",
            value=f"{warm['pooled']} → {last['pooled']}",
        ),
        Row(
            name="entries in caches, pages of memory, files, in the middle and at the end",
            value=", ".join(f"{warm[name]:,} → {last[name]:,}" for name in named)
            + f", {warm['file_bytes'] / 1e6:.1f} → {last['file_bytes'] / 1e6:.1f} MB",
        ),
    ]


def _slope_row(name: str, curve: Sequence[dict[str, Any]], what: str, is_long: bool) -> Row:
    """How much of *what* a turn leaves behind, against the most it may."""
    most = MOST_BYTES_PER_TURN if what == "held" else MOST_OBJECTS_PER_TURN
    found, warm, last = slope(curve, what), curve[int(len(curve) * WARM)][what], curve[-1][what]
    return Row(
        name=name,
        value=f"{found:+,.1f} ({warm:,} in the middle, {last:,} at the end)",
        bar=f"<= {most:,g}" if is_long else "",
        ok=found <= most if is_long else None,
    )


def _size_row(name: str, what: str, warm: dict[str, Any], last: dict[str, Any], is_long: bool) -> Row:
    """How large *what* is, against the most it may be."""
    return Row(
        name=f"{name}, in the middle and at the end",
        value=f"{warm[what] / 1e6:.1f} → {last[what] / 1e6:.1f} MB",
        bar=f"<= {MOST_BYTES_OF[what] / 1e6:.0f} MB" if is_long else "",
        ok=last[what] <= MOST_BYTES_OF[what] if is_long else None,
    )


def _growth(last: dict[str, Any], warm: dict[str, Any]) -> dict[str, int]:
    return {name: size - warm["by_type"].get(name, 0) for name, size in last["by_type"].items()}


def _largest(sizes: dict[str, int]) -> str:
    largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:6]
    return ", ".join(f"{name.removeprefix('familiar_connect.')} {size / 1e6:.1f} MB" for name, size in largest)
