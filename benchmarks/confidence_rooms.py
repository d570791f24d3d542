"""Who hears what: random servers with real permissions, and a planted word in every message.

Rooms are made at random: text, voice, forum and age-restricted channels, categories, public and private threads on two
servers, with roles, role and member overwrites; direct messages; the owner's own place. People come and go and change
roles, channels are closed to one person, hidden and opened, messages are edited, deleted and said again by PluralKit,
memory is written up by a careless model, the familiar is closed and opened again. Then somebody asks for each word
somewhere. A word may stand in a prompt, a tool's result or a slash command's answer only where everybody who can read
now could read it then, or is let in as people were let in then; where the rule lets it be told, it must be there when
asked for. Most rooms are played through `familiar rehearse`, every fifth world on our own Discord through the library.

    python -m benchmarks.confidence_rooms                            two thousand rooms, about two hours
    python -m benchmarks.confidence_rooms --rooms 60 --seed 3        fewer, with other dice
    python -m benchmarks.confidence_rooms --part 2/4                 the second of four parts
    python -m benchmarks.confidence_rooms --door discord             all of it on our own Discord
    python -m benchmarks.confidence_rooms --open                     the rule switched off: leaks must be found
    python -m benchmarks.confidence_rooms --plant NAME               a fault in the code: leaks must be found
    python -m benchmarks.confidence_rooms --process                  rehearsals by the command line

Exit code 1 when a word stood where it may not, or too few stood where they may.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from benchmarks.planted_faults import FAULTS, plant
from benchmarks.room_events import Story, StoryTeller, random_world
from benchmarks.room_world import RoomWorld
from benchmarks.rooms_rehearsed import play_rehearsed, rehearsal_of

ROOMS = 2_000
LEAST_TOLD = 0.99
ON_DISCORD_EVERY = 5
"""One of so many worlds is played on our own Discord, and another has a group of Telegram."""
GROUP = ":group"
"""How the name of a world with such a group ends."""


@dataclass
class Findings:
    """What was counted over all rooms."""

    rooms: int = 0
    worlds: int = 0
    on_discord: int = 0
    checked: int = 0
    leaks: list[str] = field(default_factory=list)
    withdrawn: int = 0
    """Words that were edited away or deleted and stood in a later prompt all the same."""
    may: int = 0
    told: int = 0
    missing: list[str] = field(default_factory=list)

    @property
    def share_told(self) -> float:
        return self.told / self.may if self.may else 1.0

    @property
    def is_good(self) -> bool:
        return not self.leaks and self.share_told >= LEAST_TOLD


def examine(name: str, story: Story, results: dict[int, dict[str, Any]], findings: Findings) -> None:
    """Look for words where they may not be, and for those asked for where they are to be found."""
    for number, words in story.forbidden.items():
        result = results.get(number, {})
        calls = [call for call in result.get("calls", ()) if call["slot"] != "memory_writer"]
        shown = json.dumps([calls, result.get("answers"), result.get("replies")])
        findings.checked += len(words)
        for word in words:
            if word.text in shown:
                slots = sorted({call["slot"] for call in calls if word.text in json.dumps(call)})
                where = story.events[number - 1]["in"]
                findings.leaks.append(
                    f"{name}, event {number}: said in {word.place} by event {word.message} -> {where}"
                    f" ({', '.join(slots) or 'answer'})"
                )
        findings.withdrawn += sum(word.text in shown for word in story.withdrawn.get(number, ()))
    for number, (word, is_expected) in story.asked.items():
        if is_expected:
            calls = [call for call in results.get(number, {}).get("calls", ()) if call["slot"] == "main_prose"]
            is_told = word.text in json.dumps(calls)
            findings.may += 1
            findings.told += is_told
            if not is_told:
                where = story.events[number - 1]["in"]
                findings.missing.append(
                    f"{name}, event {number}: said in {word.place} by event {word.message} -> {where}"
                )


def make_story(name: str, *, is_discord: bool) -> tuple[RoomWorld, RoomWorld, Story]:
    """A world as it is at first, as it is at the end, and what happens in between; the same for the same *name*."""
    rng = random.Random(name)
    world = random_world(rng, is_discord=is_discord, has_group=name.endswith(GROUP))
    first = copy.deepcopy(world)
    return first, world, StoryTeller(rng, world, is_discord=is_discord).tell()


def play_world(name: str, findings: Findings, *, is_discord: bool, is_open: bool, as_process: bool) -> None:
    first, _, story = make_story(name, is_discord=is_discord)
    if is_discord:
        from benchmarks.rooms_on_discord import play_on_discord

        results = play_on_discord(first, story, is_open=is_open)
    else:
        results = play_rehearsed(rehearsal_of(first, is_open=is_open), story, as_process=as_process)
    findings.rooms += len(first.places)
    findings.worlds += 1
    findings.on_discord += len(first.places) if is_discord else 0
    examine(name, story, results, findings)


def worlds(seed: int, part: int, parts: int, door: str) -> Iterator[tuple[str, bool]]:
    """Names of worlds without end, and whether each is played on Discord."""
    number = part - 1
    while True:
        is_discord = door == "discord" or (door == "both" and number // parts % ON_DISCORD_EVERY == 1)
        has_group = door == "group" or (door == "both" and number // parts % ON_DISCORD_EVERY == 2)
        yield f"{seed}:{number}{':discord' if is_discord else GROUP if has_group else ''}", is_discord
        number += parts


def measure(
    rooms: int,
    *,
    seed: int = 0,
    part: tuple[int, int] = (1, 1),
    door: str = "both",
    is_open: bool = False,
    fault: str | None = None,
    as_process: bool = False,
    until_leak: bool = False,
    until_s: float | None = None,
) -> Findings:
    """Play random worlds until *rooms* rooms were looked at, or something leaked, or the time is up."""
    findings, began = Findings(), time.monotonic()
    with plant(fault) if fault is not None else nullcontext():
        for name, is_discord in worlds(seed, *part, door):
            play_world(name, findings, is_discord=is_discord, is_open=is_open, as_process=as_process)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{findings.rooms} of {rooms} rooms, {len(findings.leaks)} leaks\x1b[K")
            is_late = until_s is not None and time.monotonic() - began >= until_s
            if findings.rooms >= rooms or is_late or (until_leak and findings.leaks):
                return findings
    return findings


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.confidence_rooms", description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", type=int, default=ROOMS, help="how many rooms (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="1/1", help="which of how many parts, such as 2/4; each its share of rooms")
    parser.add_argument("--door", choices=("both", "rehearse", "discord", "group"), default="both")
    parser.add_argument("--open", action="store_true", help='with confidence = "open": leaks must be found')
    parser.add_argument("--plant", choices=sorted(FAULTS), help="plant a fault in the permission code")
    parser.add_argument("--process", action="store_true", help="play each rehearsal by the command line")
    parser.add_argument("--minutes", type=float, help="stop after so long")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    part, _, parts = options.part.partition("/")
    share = (int(part), int(parts or 1))
    began = time.monotonic()
    found = measure(
        -(-options.rooms // share[1]),
        seed=options.seed,
        part=share,
        door=options.door,
        is_open=options.open,
        fault=options.plant,
        as_process=options.process,
        until_s=options.minutes * 60 if options.minutes is not None else None,
    )
    rows = {
        "seed and part": f"{options.seed}, {options.part}",
        "rooms": found.rooms,
        "of them on Discord": found.on_discord,
        "seconds a room": round((time.monotonic() - began) / max(found.rooms, 1), 2),
        "words looked for where they may not be": found.checked,
        "leaks": len(found.leaks),
        "asked for where they may be told": found.may,
        "told": round(found.share_told, 4),
        "taken back and shown again": found.withdrawn,
    }
    if options.json:
        print(json.dumps(rows | {"where": found.leaks[:20], "missing": found.missing[:20]}, indent=2))
    else:
        print("\n".join(f"{name}: {value}" for name, value in rows.items()))
        print("\n".join(f"  leak: {each}" for each in found.leaks[:10]))
        print("\n".join(f"  not told: {each}" for each in found.missing[:10]))
    return 0 if found.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
