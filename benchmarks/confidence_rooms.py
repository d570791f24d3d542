"""Who hears what: random servers, channels and direct messages, and a planted word in every message.

Rooms are made at random and played through `familiar rehearse`: open and hidden channels on two servers, direct
messages, the owner's terminal; people leave and join, channels are hidden and opened, memory is written up by a
careless model, the familiar is closed and opened again. Then somebody asks for each word somewhere. A word may
stand in a prompt, a tool's result or a slash command's answer only where everybody who can read was among those
it was said to; where it may be told, it must be there when asked for.

    python -m benchmarks.confidence_rooms                a thousand rooms, about half an hour
    python -m benchmarks.confidence_rooms --rooms 60     fewer
    python -m benchmarks.confidence_rooms --open         the rule switched off: leaks must be found
    python -m benchmarks.confidence_rooms --process      each through the command line, in a process of its own

Exit code 1 when a word stood where it may not, or too few stood where they may.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOMS = 1_000
LEAST_TOLD = 0.95
ASKED_BEFORE_RESTART = 4
ASKED_AFTER = 12
MESSAGES = 24
CARELESS = ("history_summary", "memory_writer", "memory_search", "interjection_decision", "reasoning_context")
THINGS = ("kettle", "lantern", "ladder", "cellar", "piano", "garden", "harbour", "attic", "bakery", "violin", "tunnel")
KINDS = ("password", "colour", "number", "nickname", "address", "recipe", "birthday", "hiding place", "motto", "price")

Place = dict[str, Any]


@dataclass
class Word:
    """One planted word, what it is asked for by, and whom it was said to."""

    text: str
    topic: str
    audience: tuple[str, str]
    """`("dm", place)`, `("hidden", place)`, `("server", name)` or `("owner", "")`."""
    place: str


@dataclass
class World:
    """The rooms as they are at one moment: our own reckoning of the rule, apart from the program's."""

    places: dict[str, Place]
    people: list[str]
    hidden: set[str]
    members: dict[str, set[str]]
    """Present members of each server."""
    readers: dict[str, set[str]]
    """Who can read each hidden channel."""
    words: list[Word] = field(default_factory=list)

    def audience_of(self, place: str) -> tuple[str, str]:
        about = self.places[place]
        if about["kind"] == "dm":
            return ("dm", place) if about["members"] != ["owner"] else ("owner", "")
        if about.get("platform") == "terminal":
            return ("owner", "")
        return ("hidden", place) if place in self.hidden else ("server", about["server"])

    def may_tell(self, word: Word, place: str) -> bool:
        """Whether everybody who can read *place* now was among those *word* was said to."""
        here, server = self.audience_of(place), self.places[place].get("server")
        kind, where = word.audience
        if here[0] == "owner":
            return kind != "dm"
        if kind == "dm":
            return here == ("dm", where)
        if kind == "hidden":
            person = self.places[place].get("members", [""])[0] if here[0] == "dm" else ""
            return here == ("hidden", where) or (where in self.hidden and person in self.readers[where])
        if kind == "server":
            person = self.places[place].get("members", [""])[0] if here[0] == "dm" else ""
            return server == where or person in self.members[where]
        return False

    def hide(self, place: str, readers: Iterable[str]) -> None:
        """A channel becomes hidden and takes its old words along."""
        self.hidden.add(place)
        self.readers[place] = set(readers)
        for word in self.words:
            if word.place == place and word.audience[0] == "server":
                word.audience = ("hidden", place)

    def speakers(self, place: str) -> list[str]:
        """Who may speak in *place* now."""
        about = self.places[place]
        if about["kind"] == "dm":
            return list(about["members"])
        if about.get("platform") == "terminal":
            return ["owner"]
        return sorted(self.readers[place] if place in self.hidden else self.members[about["server"]])


@dataclass
class Script:
    """A rehearsal, and what must hold after each of its steps."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    asked: dict[int, tuple[Word, bool]] = field(default_factory=dict)
    """Step → the word asked for, and whether it may be told there."""
    forbidden: dict[int, list[Word]] = field(default_factory=dict)
    """Step → words that may not stand in anything made for it."""


@dataclass
class Findings:
    """What was counted over all rooms."""

    rooms: int = 0
    checked: int = 0
    leaks: list[str] = field(default_factory=list)
    may: int = 0
    told: int = 0
    missing: list[str] = field(default_factory=list)

    @property
    def share_told(self) -> float:
        return self.told / self.may if self.may else 1.0


def random_world(rng: random.Random) -> World:
    """Two servers with open and hidden channels, a direct message for each person, and the owner's terminal."""
    people = ["ada", "bo", "cy"]
    places: dict[str, Place] = {}
    for server in ("Tea House", "Harbour"):
        for number in range(rng.choice((1, 2))):
            name = f"{server[0].lower()}{number}"
            places[name] = {"kind": "text", "server": server, "name": name}
    members = {server: set(people) for server in ("Tea House", "Harbour")}
    hidden = {rng.choice(sorted(places))}
    readers = {place: set(rng.sample(people, 2)) for place in hidden}
    for place in hidden:
        places[place] |= {"hidden": True, "members": sorted(readers[place])}
    for person in rng.sample(people, 2):
        places[f"dm-{person}"] = {"kind": "dm", "members": [person]}
    places["terminal"] = {"kind": "dm", "platform": "terminal", "members": ["owner"]}
    return World(places, people, hidden, members, readers)


def random_script(rng: random.Random, world: World) -> Script:
    """What people say, then questions, with changes of who can read what in between."""
    script = Script()
    topics = [f"{kind} of the {thing}" for kind in KINDS for thing in THINGS]
    rng.shuffle(topics)
    for number in range(MESSAGES):
        place = rng.choice(sorted(world.places))
        word = Word(f"zq{rng.getrandbits(40):010x}", topics[number], world.audience_of(place), place)
        say(script, world, rng, place, f"The {word.topic} is {word.text}.")
        world.words.append(word)
        if rng.random() < 0.08:
            change_readers(script, world, rng)
    ask(script, world, rng, ASKED_BEFORE_RESTART)
    script.steps += [{"write_up": True}, {"write_up": True}, {"write_up": True}, {"restart": True}]
    change_readers(script, world, rng)
    ask(script, world, rng, ASKED_AFTER)
    return script


def say(script: Script, world: World, rng: random.Random, place: str, text: str) -> None:
    """Somebody who can says *text* in *place*; nothing made for it may hold a word its readers may not hear."""
    speaker = rng.choice(world.speakers(place) or ["ada"])
    script.steps.append({"in": place, "by": speaker, "say": f"Ember, {text}", "mention": True, "after": "3m"})
    step = len(script.steps)
    script.forbidden[step] = [word for word in world.words if not world.may_tell(word, place)]


def ask(script: Script, world: World, rng: random.Random, times: int) -> None:
    """Ask for words in places, those that may be told and those that may not; and let a slash command answer."""
    for _ in range(times):
        place = rng.choice([each for each in sorted(world.places) if world.speakers(each)])
        may = [word for word in world.words if world.may_tell(word, place) and word.place != place]
        pool = may if may and rng.random() < 0.7 else world.words
        word = rng.choice(pool)
        say(script, world, rng, place, f"what is the {word.topic}?")
        script.asked[len(script.steps)] = (word, world.may_tell(word, place))


def change_readers(script: Script, world: World, rng: random.Random) -> None:
    """Hide a channel, open one, or let somebody leave a server."""
    channels = [name for name, about in world.places.items() if about["kind"] == "text"]
    choice = rng.choice(("hide", "open", "leave"))
    if choice == "hide" and (shown := [each for each in channels if each not in world.hidden]):
        place = rng.choice(shown)
        script.steps.append({"hide": place})
        world.hide(place, world.people)
    elif choice == "open" and world.hidden:
        place = rng.choice(sorted(world.hidden))
        script.steps.append({"open": place})
        world.hidden.discard(place)


def rehearsal_of(world: World, script: Script, *, is_open: bool) -> dict[str, Any]:
    """The file that `familiar rehearse` plays."""
    settings = 'confidence = "open"\n' if is_open else ""
    settings += '[providers.content_search]\nembedder = "hashing"\n'
    return {
        "familiar": {"name": "Ember", "settings": settings},
        "people": {name: {"name": name.capitalize(), "id": str(100 + i)} for i, name in enumerate(world.people)},
        "places": world.places,
        "models": {"main_prose": {"say": [], "otherwise": "Mm."}, **dict.fromkeys(CARELESS, "echo")},
        "steps": script.steps,
    }


def play(script_file: Path) -> list[dict[str, Any]]:
    """What each step made, played in this process."""
    from familiar_connect.commands.rehearsal_home import make_rehearsal_home
    from familiar_connect.rehearsal.play import PlaySettings, play_rehearsal
    from familiar_connect.rehearsal.player import StepResult
    from familiar_connect.rehearsal.report import step_as_json
    from familiar_connect.rehearsal.script_file import read_rehearsal

    results: list[dict[str, Any]] = []

    def keep(result: StepResult) -> None:
        results.append(step_as_json(result))

    with tempfile.TemporaryDirectory(prefix="familiar-", ignore_cleanup_errors=True) as folder:
        stage = Path(folder)
        rehearsal = read_rehearsal(script_file)
        root = make_rehearsal_home(rehearsal, stage, home=stage)
        play_rehearsal(rehearsal, PlaySettings(root=root, home=stage, is_scripted=True), keep)
    return results


def play_as_process(script_file: Path) -> list[dict[str, Any]]:
    """What each step made, played by the command line."""
    command = [sys.executable, "-m", "familiar_connect", "rehearse", str(script_file), "--scripted", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == 2:
        raise RuntimeError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"step"')]


def examine(world: World, script: Script, results: Sequence[dict[str, Any]], findings: Findings) -> None:
    """Look for words where they may not be, and for those asked for where they may."""
    findings.rooms += len(world.places)
    by_step = {int(result["step"]): result for result in results}
    for step, words in script.forbidden.items():
        result = by_step.get(step, {})
        calls = [call for call in result.get("calls", ()) if call["slot"] != "memory_writer"]
        shown = json.dumps([calls, result.get("answers"), result.get("replies")])
        findings.checked += len(words)
        for word in words:
            if word.text in shown:
                slots = sorted({call["slot"] for call in calls if word.text in json.dumps(call)})
                findings.leaks.append(
                    f"{word.audience} said in {word.place} -> {result.get('in')} ({', '.join(slots)})"
                )
    for step, (word, is_allowed) in script.asked.items():
        if is_allowed:
            calls = [call for call in by_step.get(step, {}).get("calls", ()) if call["slot"] == "main_prose"]
            findings.may += 1
            findings.told += word.text in json.dumps(calls)
            if word.text not in json.dumps(calls):
                findings.missing.append(f"{word.audience} said in {word.place} -> {script.steps[step - 1]['in']}")


def measure(rooms: int, *, seed: int = 0, is_open: bool = False, as_process: bool = False) -> Findings:
    """Play random worlds until *rooms* rooms were looked at."""
    findings = Findings()
    number = 0
    while findings.rooms < rooms:
        rng = random.Random(f"{seed}:{number}")
        world = random_world(rng)
        first = json.loads(json.dumps(world.places))
        script = random_script(rng, world)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rooms.json"
            path.write_text(json.dumps(rehearsal_of(world, script, is_open=is_open) | {"places": first}))
            results = play_as_process(path) if as_process else play(path)
        examine(world, script, results, findings)
        number += 1
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{findings.rooms} of {rooms} rooms, {len(findings.leaks)} leaks\x1b[K")
    return findings


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.confidence_rooms", description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", type=int, default=ROOMS, help="how many rooms (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--open", action="store_true", help='with confidence = "open": leaks must be found')
    parser.add_argument("--process", action="store_true", help="play each world by the command line")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    found = measure(options.rooms, seed=options.seed, is_open=options.open, as_process=options.process)
    rows = {
        "rooms": found.rooms,
        "words looked for where they may not be": found.checked,
        "leaks": len(found.leaks),
        "asked for where they may be told": found.may,
        "told": round(found.share_told, 4),
    }
    if options.json:
        print(json.dumps(rows | {"where": found.leaks[:20], "missing": found.missing[:20]}, indent=2))
    else:
        print("\n".join(f"{name}: {value}" for name, value in rows.items()))
        print("\n".join(f"  leak: {each}" for each in found.leaks[:10]))
        print("\n".join(f"  not told: {each}" for each in found.missing[:10]))
    return 0 if not found.leaks and found.share_told >= LEAST_TOLD else 1


if __name__ == "__main__":
    sys.exit(main())
