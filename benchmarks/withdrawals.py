"""What was taken back: random talk with a planted word in every message, random withdrawals, a search for the words.

People talk in open and hidden channels and in direct messages; a careless model writes up and sums up everything, the
familiar repeats some of it, is closed, killed and opened again. Meanwhile messages are deleted and edited, somebody
asks for full privacy and somebody to be forgotten. Afterwards no prompt and no file may hold a word that was taken
back, but for the marked rows of history; of a word that was erased there is no byte. Words of other messages must
still stand in the memory files that held them, and be in the prompt when asked for. A month passes before the last
messages are taken back, so that pages that look back at it hold some of them.

    python -m benchmarks.withdrawals                            a thousand withdrawals
    python -m benchmarks.withdrawals --count 100 --seed 7       fewer
    python -m benchmarks.withdrawals --part 2/4                 the second quarter of them
    python -m benchmarks.withdrawals --without                  nothing is carried out: words must be found

Exit code 1 when a word survived, or too many others were lost.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

COUNT = 1_000
MESSAGES = 22
WITHDRAWALS = 7
ASKED = 6
LEAST_TOLD = 0.99
PEOPLE = ("ada", "bo", "cy", "dee")
CARELESS = ("history_summary", "memory_writer", "memory_search", "interjection_decision", "reasoning_context")
THINGS = ("kettle", "lantern", "ladder", "cellar", "piano", "garden", "harbour", "attic", "bakery", "violin", "tunnel")
KINDS = ("password", "colour", "number", "nickname", "address", "recipe", "birthday", "hiding place", "motto", "price")
PLACES: dict[str, dict[str, Any]] = {
    "open": {"kind": "text", "server": "Tea House", "name": "open"},
    "side": {"kind": "text", "server": "Tea House", "name": "side"},
    "hidden": {"kind": "text", "server": "Tea House", "name": "hidden", "hidden": True, "members": ["ada", "bo", "cy"]},
    "dm-ada": {"kind": "dm", "members": ["ada"]},
    "dm-cy": {"kind": "dm", "members": ["cy"]},
}


@dataclass
class Planted:
    """One message and the word in it."""

    id: str
    word: str
    topic: str
    place: str
    by: str
    state: str = "said"
    """`said`, `withdrawn` or `erased`."""


@dataclass
class Script:
    """A rehearsal, and what holds after each of its steps."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    planted: list[Planted] = field(default_factory=list)
    gone: dict[int, frozenset[str]] = field(default_factory=dict)
    """Step → the words that were taken back by then."""
    asked: dict[int, Planted] = field(default_factory=dict)
    answers: list[dict[str, str]] = field(default_factory=list)

    def add(self, step: dict[str, Any]) -> int:
        self.steps.append(step)
        self.gone[len(self.steps)] = frozenset(each.word for each in self.planted if each.state != "said")
        return len(self.steps)


@dataclass
class Findings:
    """What was counted."""

    withdrawals: int = 0
    worlds: int = 0
    survivors: list[str] = field(default_factory=list)
    asked: int = 0
    told: int = 0
    missing: list[str] = field(default_factory=list)
    kept: int = 0
    looked_back: int = 0
    """Words that stood on the page of a month."""
    lost: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def share_told(self) -> float:
        return self.told / self.asked if self.asked else 1.0


def random_script(rng: random.Random) -> Script:
    """Talk, write-ups, restarts and withdrawals in a random order; privacy and forgetting towards the end."""
    script = Script()
    topics = [f"{kind} of the {thing}" for kind in KINDS for thing in THINGS]
    rng.shuffle(topics)
    moments = sorted(rng.sample(range(4, MESSAGES), WITHDRAWALS))
    for number in range(MESSAGES):
        say(script, rng, number, topics[number])
        if rng.random() < 0.15:
            script.add({"write_up": True})
        if number in moments:
            take_back(script, rng)
        if rng.random() < 0.05:
            script.add({"restart": rng.choice((True, "kill"))})
    script.add({"write_up": True})
    turn_the_month(script, rng, topics[MESSAGES])
    take_back(script, rng)
    leave(script, rng)
    ask(script, rng)
    return script


def turn_the_month(script: Script, rng: random.Random, topic: str) -> None:
    """Let a month pass and start anew, so that pages look back at it before the last words are taken back."""
    say(script, rng, MESSAGES, topic)
    script.steps[-1]["after"] = "32d"
    script.add({"write_up": True})
    script.add({"restart": True})


def say(script: Script, rng: random.Random, number: int, topic: str) -> None:
    place = rng.choice(sorted(PLACES))
    by = rng.choice(PLACES[place].get("members") or PEOPLE)
    planted = Planted(f"m{number}", f"zq{rng.getrandbits(40):010x}", topic, place, by)
    is_answered = rng.random() < 0.7
    script.planted.append(planted)
    if rng.random() < 0.3:
        script.answers.append({"when": planted.word, "say": f"So {planted.word} it is."})
    earlier = [each for each in script.planted[:-1] if each.place == place and each.state == "said"]
    step: dict[str, Any] = {"in": place, "by": by, "id": planted.id, "after": "3m", "mention": is_answered}
    if earlier and rng.random() < 0.2:
        step["reply_to"] = rng.choice(earlier).id
    lasts = rng.random() < 0.5  # what lasts is looked back at when a month is over
    words = f"My cat is called {planted.word}, the {topic}." if lasts else f"Ember, the {topic} is {planted.word}."
    script.add({**step, "say": words})


def take_back(script: Script, rng: random.Random) -> None:
    """Delete or reword one message that stands."""
    chosen = rng.choice([each for each in script.planted if each.state == "said"])
    chosen.state = "withdrawn"
    where = {"in": chosen.place, "by": chosen.by, "after": "1m"}
    if rng.random() < 0.6:
        script.add({"delete": chosen.id, **where})
        return
    new = Planted(chosen.id, f"zq{rng.getrandbits(40):010x}", chosen.topic, chosen.place, chosen.by)
    script.planted.append(new)
    script.add({"edit": chosen.id, **where, "say": f"Ember, the {new.topic} is {new.word}."})


def leave(script: Script, rng: random.Random) -> None:
    """One person asks for full privacy, another to be forgotten."""
    private, forgotten = rng.sample(PEOPLE, 2)
    for person, state, slash, args in (
        (private, "withdrawn", "privacy", ["full"]),
        (forgotten, "erased", "forget-me", ["confirm"]),
    ):
        for each in script.planted:
            if each.by == person and (each.state == "said" or state == "erased"):
                each.state = state
        place = rng.choice([name for name, about in PLACES.items() if person in (about.get("members") or PEOPLE)])
        script.add({"slash": slash, "args": args, "in": place, "by": person, "after": "2m"})
    script.add({"restart": True})


def ask(script: Script, rng: random.Random) -> None:
    """Ask for words that stand where they were said, and for some that do not."""
    for _ in range(ASKED):
        about = rng.choice(script.planted)
        by = about.by if about.state == "said" else None
        standing = {each.by for each in script.planted if each.state == "said"}
        speakers = [each for each in PLACES[about.place].get("members") or PEOPLE if each in standing]
        if not speakers:
            continue
        by = by or rng.choice(speakers)
        question = f"Ember, what is the {about.topic}?"
        number = script.add({"in": about.place, "by": by, "say": question, "mention": True, "after": "5m"})
        if about.state == "said":
            script.asked[number] = about


def rehearsal_of(script: Script) -> dict[str, Any]:
    """The file that `familiar rehearse` plays."""
    return {
        "familiar": {"name": "Ember", "settings": '[providers.content_search]\nembedder = "hashing"\n'},
        "people": {name: {"name": name.capitalize(), "id": str(100 + at)} for at, name in enumerate(PEOPLE)},
        "places": PLACES,
        "models": {"main_prose": {"say": script.answers, "otherwise": "Mm."}, **dict.fromkeys(CARELESS, "echo")},
        "steps": script.steps,
    }


def play(script: Script, findings: Findings, folder: Path, *, is_carried_out: bool = True) -> None:
    """Play *script* in *folder*, looking at what each step made; then at every byte that is left."""
    from familiar_connect.commands.rehearsal_home import make_rehearsal_home
    from familiar_connect.memory.withdrawal.withdraw_turns import TurnWithdrawal, WithdrawalResult
    from familiar_connect.rehearsal.play import PlaySettings, play_rehearsal
    from familiar_connect.rehearsal.player import StepResult
    from familiar_connect.rehearsal.report import step_as_json
    from familiar_connect.rehearsal.script_file import read_rehearsal

    path = folder / "talk.json"
    path.write_text(json.dumps(rehearsal_of(script)), encoding="utf-8")
    stage = folder / "home"
    stage.mkdir()
    rehearsal = read_rehearsal(path)
    root = make_rehearsal_home(rehearsal, stage, home=stage)
    remembered: set[str] = set()
    on_pages: set[str] = set()

    def look(result: StepResult) -> None:
        shown: dict[str, Any] = step_as_json(result)
        look_at_step(script, shown, findings)
        number = int(shown["step"])
        if script.steps[number - 1].keys() & {"delete", "edit", "slash"}:
            compare_files(script, number, root, remembered, findings)
        remembered.clear()
        remembered.update(words_in_files(script, root))
        on_pages.update(words_in_files(script, root, "*month*.md"))

    nothing = patch.object(TurnWithdrawal, "carry_out", lambda _: WithdrawalResult())
    with nullcontext() if is_carried_out else nothing:
        play_rehearsal(rehearsal, PlaySettings(root=root, home=stage, is_scripted=True), look)
    findings.looked_back += len(on_pages)
    path.unlink()
    look_at_home(script, stage, findings)


def look_at_step(script: Script, shown: dict[str, Any], findings: Findings) -> None:
    number = int(shown["step"])
    told = json.dumps([shown.get("calls"), shown.get("answers"), shown.get("replies")])
    for word in script.gone[number]:
        if word in told:
            slots = sorted({call["slot"] for call in shown.get("calls") or () if word in json.dumps(call)})
            findings.survivors.append(f"step {number} ({', '.join(slots) or 'answer'}): {word}")
    if number in script.asked:
        about = script.asked[number]
        calls = [call for call in shown.get("calls") or () if call["slot"] == "main_prose"]
        findings.asked += 1
        findings.told += about.word in json.dumps(calls)
        if about.word not in json.dumps(calls):
            findings.missing.append(f"step {number}: {about.word} in {about.place}")


def words_in_files(script: Script, root: Path, names: str = "*.md") -> set[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (root / "memory").rglob(names))
    return {each.word for each in script.planted if each.word in text}


def compare_files(script: Script, number: int, root: Path, before: set[str], findings: Findings) -> None:
    """After a withdrawal: what others said and stood in a memory file must still stand in one."""
    after = words_in_files(script, root)
    stands = before - script.gone[number]
    findings.kept += len(stands & after)
    findings.lost += [f"step {number}: {word}" for word in sorted(stands - after)]
    findings.survivors += [f"step {number}, files: {word}" for word in sorted(after & script.gone[number])]


def look_at_home(script: Script, home: Path, findings: Findings) -> None:
    """Look for every word that was taken back in every byte, packed or not."""
    words = {each.word: each.state for each in script.planted if each.state != "said"}
    for path in sorted(each for each in home.rglob("*") if each.is_file()):
        is_history = path.name.startswith("history.db")
        for where, data in pieces_of(path):
            is_marked = is_history and where in ("turn_revisions", "bytes")
            for word, state in words.items():
                if word.encode() in data and not (is_marked and state == "withdrawn"):
                    findings.survivors.append(f"{state}, {path.relative_to(home)} ({where}): {word}")


def pieces_of(path: Path) -> Iterator[tuple[str, bytes]]:
    """What a file holds: its bytes, what is packed in them, and the tables of a database."""
    data = path.read_bytes()
    yield "bytes", data
    if path.suffix == ".z":
        yield "unpacked", unpack(data)
    if data.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            database.text_factory = bytes
            # A word index keeps all it has in plain tables, and cannot be read through by itself.
            tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL %'"
            for (name,) in database.execute(tables).fetchall():
                table = name.decode()
                for row in database.execute(f'SELECT * FROM "{table}"'):
                    yield table, b"\n".join(unpack(each) for each in row if isinstance(each, bytes))


def unpack(data: bytes) -> bytes:
    from familiar_connect.observe.trace import FORM, unpack_facts

    try:
        return json.dumps(unpack_facts(data)).encode() if data.startswith(FORM) else zlib.decompress(data)
    except (ValueError, zlib.error):
        return data


def measure(count: int, *, seed: int = 0, part: tuple[int, int] = (1, 1), is_carried_out: bool = True) -> Findings:
    """Play random talk until *count* messages were taken back; of several *part*s every so-manieth."""
    findings = Findings()
    number, (first, of) = 0, part
    begun = time.monotonic()
    while findings.withdrawals < count / of:
        number += 1
        if number % of != first % of:
            continue
        script = random_script(random.Random(f"{seed}:{number}"))
        with tempfile.TemporaryDirectory(prefix="familiar-", ignore_cleanup_errors=True) as folder:
            before = len(findings.survivors) + len(findings.lost) + len(findings.missing)
            play(script, findings, Path(folder), is_carried_out=is_carried_out)
        for found in (findings.survivors, findings.lost, findings.missing):
            found[:] = [each if each.startswith("world") else f"world {number}, {each}" for each in found]
        findings.worlds += 1
        findings.withdrawals += sum(each.state != "said" for each in script.planted)
        if len(findings.survivors) + len(findings.lost) + len(findings.missing) > before and sys.stderr.isatty():
            sys.stderr.write(f"\rworld {number} of seed {seed} found something\n")
    findings.seconds = time.monotonic() - begun
    return findings


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.withdrawals", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT, help="messages taken back (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="1/1", help="which part of how many, as 2/4")
    parser.add_argument("--without", action="store_true", help="nothing is carried out: words must be found")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    first, _, of = options.part.partition("/")
    part = (int(first), int(of or 1))
    found = measure(options.count, seed=options.seed, part=part, is_carried_out=not options.without)
    rows = {
        "seed": options.seed,
        "part": options.part,
        "messages taken back": found.withdrawals,
        "words that survived": len(found.survivors),
        "words of others that left memory files": len(found.lost),
        "words of others that stayed in them": found.kept,
        "words that stood on the page of a month": found.looked_back,
        "asked for and told": f"{found.told} of {found.asked}",
        "seconds for each": round(found.seconds / max(1, found.withdrawals), 2),
    }
    lists: tuple[tuple[str, list[str]], ...] = (
        ("survived", found.survivors),
        ("lost", found.lost),
        ("not told", found.missing),
    )
    if options.json:
        print(json.dumps(rows | {name: some[:20] for name, some in lists}, indent=2))
    else:
        print("\n".join(f"{name}: {value}" for name, value in rows.items()))
        print("\n".join(f"  {name}: {each}" for name, some in lists for each in some[:15]))
    return 0 if not found.survivors and not found.lost and found.share_told >= LEAST_TOLD else 1


if __name__ == "__main__":
    sys.exit(main())
