"""Side calls: what a reply costs besides itself where two rooms are busy at once.

Two rooms of a server are talked in by turns through `familiar rehearse`, as a process. The models that summarise and
write memory are the most careless there are: they say back everything they were given, so that whatever is not bounded
by code grows. Counted are calls of side models for each reply, the longest text a prompt told of another room, the
longest prompt of a side model, and whom the calls were booked to. Run `python -m benchmarks.side_calls`; `--quick` for
a short form, `--json` for a script.
"""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.table import Row, run_part

REPLIES, QUICK_REPLIES = 240, 40
MOST_CALLS = 0.3
"""Calls of side models for each reply."""
MOST_TOLD_CHARS = 700
MOST_PROMPT_CHARS = 32_000
ROOMS = ("tea", "den")
PEOPLE = ("ada", "bo", "cleo", "dan")
TOPICS = ("the boat", "the roof", "my sister's wedding", "the allotment", "that film", "the night train", "the exam")
SAYINGS = (
    "Ember, I spent the whole morning on {topic} and it is still not done.",
    "Ember, have you heard what they decided about {topic}?",
    "Ember, honestly, {topic} costs me more time than my job does.",
    "Ember, we talked about {topic} for an hour and nobody knows what comes next.",
    "Ember, my brother says that {topic} can wait until Thursday.",
)


def measure(*, quick: bool = False) -> dict[str, Any]:
    """The numbers of one run."""
    with tempfile.TemporaryDirectory(prefix="familiar-side-calls-") as folder:
        script, home = Path(folder) / "rooms.json", Path(folder) / "home"
        script.write_text(json.dumps(busy_rooms(QUICK_REPLIES if quick else REPLIES)), encoding="utf-8")
        words = [sys.executable, "-m", "familiar_connect", "rehearse", str(script), "--scripted", "--json"]
        done = subprocess.run([*words, "--keep", str(home)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2_000:])
        steps = [json.loads(line) for line in done.stdout.splitlines()]
        return {**_count_calls(steps), **_read_home(home)}


def busy_rooms(replies: int) -> dict[str, Any]:
    """A rehearsal in which the familiar is spoken to now in one room, now in the other."""
    return {
        "familiar": {"name": "Ember", "settings": '[providers.content_search]\nembedder = "hashing"\n'},
        "people": {name: {"name": name.title()} for name in PEOPLE},
        "places": {room: {"kind": "text", "server": "Tea House", "name": room} for room in ROOMS},
        "models": {
            "main_prose": {"otherwise": "I know the feeling. Tell me how it goes on."},
            "history_summary": "echo",
            "memory_writer": "echo",
        },
        "steps": list(_talk(replies)),
    }


def _talk(replies: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(31)
    for _ in range(replies):
        words = chance.choice(SAYINGS).format(topic=chance.choice(TOPICS))
        room, who = chance.choice(ROOMS), chance.choice(PEOPLE)
        yield {"after": "40s", "in": room, "by": who, "say": words, "mention": True}


def _count_calls(steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    calls = [call for step in steps for call in step.get("calls", ())]
    by_slot = Counter(str(call["slot"]) for call in calls)
    replies = sum(len(step.get("replies", ())) for step in steps)
    side = [call for call in calls if call["slot"] != "main_prose"]
    return {
        "replies": replies,
        "side_calls": len(side),
        "side_calls_per_reply": len(side) / max(1, replies),
        "calls": dict(by_slot),
        "longest_side_prompt": max((sum(len(m["content"]) for m in call["messages"]) for call in side), default=0),
    }


def _read_home(home: Path) -> dict[str, Any]:
    (history,) = home.glob("familiars/*/history.db")
    with closing(sqlite3.connect(history)) as database:
        told = [len(text) for (text,) in database.execute("SELECT summary_text FROM cross_context_summaries")]
        rolling = [len(text) for (text,) in database.execute("SELECT summary_text FROM summaries")]
    with closing(sqlite3.connect(history.with_name("metrics.db"))) as database:
        booked = dict(database.execute("SELECT person, SUM(calls) FROM spending GROUP BY person"))
    return {
        "longest_told_of_a_room": max(told, default=0),
        "longest_rolling_summary": max(rolling, default=0),
        "booked_to_the_house": int(booked.pop("", 0)),
        "booked_to_guests": int(sum(booked.values())),
    }


def rows(found: dict[str, Any]) -> list[Row]:
    return [
        Row(
            name=f"calls of side models for each reply, {found['replies']} replies in two busy rooms",
            value=f"{found['side_calls_per_reply']:.2f} ({found['side_calls']} calls)",
            bar=f"≤ {MOST_CALLS}",
            ok=found["side_calls_per_reply"] <= MOST_CALLS,
        ),
        Row(
            name="longest text told of the other room, characters",
            value=f"{found['longest_told_of_a_room']:,}",
            bar=f"≤ {MOST_TOLD_CHARS}",
            ok=found["longest_told_of_a_room"] <= MOST_TOLD_CHARS,
        ),
        Row(
            name="longest prompt of a side model, characters",
            value=f"{found['longest_side_prompt']:,}",
            bar=f"≤ {MOST_PROMPT_CHARS:,}",
            ok=found["longest_side_prompt"] <= MOST_PROMPT_CHARS,
        ),
        Row(
            name="calls booked to guests besides their replies",
            value=f"{found['booked_to_guests'] - found['replies']}",
            bar="0",
            ok=found["booked_to_guests"] == found["replies"],
        ),
    ]


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="side calls", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
