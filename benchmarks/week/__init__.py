"""A week among five people: how often a model is asked whether to speak, and whether it then speaks where it should.

`week.txt` has 290 messages in three channels of two servers and in a direct chat, each marked by its writer: `!` is
said to the familiar, `?` is a question to anybody that nobody takes up, `~` is said about the familiar, the rest is
chatter of others. They are played through `familiar rehearse`, as a process. The judge that is asked says yes to what
is said to the familiar and to open questions, as a good model would, and no to everything else; a second run asks a
judge that says yes to all. Tokens are counted as a quarter of the characters. Run `python -m benchmarks.week`; `--json`
for a script.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.table import Row

PEOPLE = {"a": "Ada", "b": "Bo", "c": "Cleo", "d": "Dan", "e": "Eve"}
PLACES: dict[str, dict[str, Any]] = {
    "lounge": {"kind": "text", "server": "Tea House", "name": "lounge"},
    "plans": {"kind": "text", "server": "Tea House", "name": "plans"},
    "workshop": {"kind": "text", "server": "Boat Club", "name": "workshop"},
    "dm-ada": {"kind": "dm", "members": ["ada"]},
}
KINDS = {"!": "addressed", "?": "open question", "~": "about it", "": "chatter"}
FIRST_DAY = datetime(2026, 3, 2, tzinfo=UTC)
GAPS_S = (6, 20, 35)
"""Between two lines of a talk, in turn: after most of them all fall quiet for longer than a lull."""
UNANSWERED_S = 300
"""So long nobody says anything after an open question."""
MENTION = "<mention> "
MOST_CALLS, MOST_TOKENS = 0.3, 600.0
LEAST_TAKEN_UP, MOST_UNASKED, MOST_ABOUT = 10, 0.03, 1
CHARS_PER_TOKEN = 4
_LINE = re.compile(r"([!?~]?)([a-e])> (.+)")


@dataclass(frozen=True)
class Line:
    """One message of the week."""

    kind: str
    place: str
    person: str
    text: str
    at: datetime
    is_mention: bool


def read_week() -> list[Line]:
    """Every message, in the order of time."""
    found: list[Line] = []
    place, at, number = "", FIRST_DAY, 0
    for text in (Path(__file__).parent / "week.txt").read_text(encoding="utf-8").splitlines():
        if text.startswith("# "):
            place, day, clock = text[2:].split()
            hours, minutes = clock.split(":")
            at = FIRST_DAY + timedelta(days=int(day) - 1, hours=int(hours), minutes=int(minutes))
            continue
        said = _LINE.fullmatch(text)
        assert said is not None, text
        kind, words = KINDS[said[1]], said[3]
        is_mention = words.startswith(MENTION)
        found.append(Line(kind, place, PEOPLE[said[2]], words.removeprefix(MENTION), at, is_mention))
        at += timedelta(seconds=UNANSWERED_S if kind == "open question" else GAPS_S[number % len(GAPS_S)])
        number += 1
    return sorted(found, key=lambda line: line.at)


def make_script(lines: Sequence[Line], *, is_eager: bool = False) -> dict[str, Any]:
    """The week as a rehearsal."""
    wanted = [line for line in lines if line.kind in ("addressed", "open question")]
    verdicts = [{"when": f"\n{line.person}: {line.text}\n", "say": "That is for me.\nYES"} for line in wanted]
    return {
        "familiar": {"name": "Ember"},
        "people": {name.lower(): {"name": name} for name in PEOPLE.values()},
        "places": PLACES,
        "models": {
            "main_prose": {"otherwise": "The kettle hums."},
            "interjection_decision": {
                "say": [] if is_eager else verdicts,
                "otherwise": "I like to talk.\nYES" if is_eager else "This is theirs.\nNO",
            },
        },
        "steps": list(_steps(lines)),
    }


def _steps(lines: Sequence[Line]) -> Iterator[dict[str, Any]]:
    for line in lines:
        step = {"at": line.at.isoformat(), "in": line.place, "by": line.person.lower(), "say": line.text}
        yield {**step, "mention": True} if line.is_mention else step


def measure() -> dict[str, Any]:
    """The numbers of one week, with a good judge and with one that says yes to all."""
    lines = read_week()
    return {"lines": dict(Counter(line.kind for line in lines)), **play(lines), "eager": play(lines, is_eager=True)}


def play(lines: Sequence[Line], *, is_eager: bool = False) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="familiar-week-") as folder:
        script = Path(folder) / "week.json"
        script.write_text(json.dumps(make_script(lines, is_eager=is_eager)), encoding="utf-8")
        words = [sys.executable, "-m", "familiar_connect", "rehearse", str(script), "--scripted", "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2_000:])
    steps = [json.loads(text) for text in done.stdout.splitlines()]
    return count(lines, [step for step in steps if "step" in step])


def count(lines: Sequence[Line], steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What was asked of the judge, and which lines were answered."""
    answered: Counter[str] = Counter()
    asked_at: Counter[str] = Counter()
    chars = 0
    unasked, missed = [], []
    for line, step in zip(lines, steps, strict=True):
        is_answered = line.place in step["replies_in"]
        answered[line.kind] += is_answered
        if is_answered and line.kind in ("chatter", "about it"):
            unasked.append(line.text)
        if not is_answered and line.kind in ("addressed", "open question"):
            missed.append(line.text)
        calls = [call for call in step["calls"] if call["slot"] == "interjection_decision"]
        asked_at[line.kind] += len(calls)
        chars += sum(len(message["content"]) for call in calls for message in call["messages"])
    return {
        "messages": len(lines),
        "calls": sum(asked_at.values()),
        "calls_at": dict(asked_at),
        "tokens": chars / CHARS_PER_TOKEN,
        "answered": dict(answered),
        "unasked": unasked,
        "missed": missed,
    }


def rows(found: dict[str, Any]) -> list[Row]:
    lines, answered, messages = found["lines"], found["answered"], found["messages"]
    calls, tokens = found["calls"] / messages, found["tokens"] / messages
    unasked = answered.get("chatter", 0) / lines["chatter"]
    eager = found["eager"]
    return [
        Row(
            name="calls of the judge a message",
            value=f"{calls:.2f} ({found['calls']} for {messages})",
            bar=f"≤ {MOST_CALLS}",
            ok=calls <= MOST_CALLS,
        ),
        Row(name="tokens for it a message", value=f"{tokens:.0f}", bar=f"≤ {MOST_TOKENS:g}", ok=tokens <= MOST_TOKENS),
        Row(
            name="said to it and answered",
            value=f"{answered['addressed']} of {lines['addressed']}",
            bar="all",
            ok=answered["addressed"] == lines["addressed"],
        ),
        Row(
            name="open questions taken up",
            value=f"{answered['open question']} of {lines['open question']}",
            bar=f"≥ {LEAST_TAKEN_UP}",
            ok=answered["open question"] >= LEAST_TAKEN_UP,
        ),
        Row(
            name="replies to the chatter of others",
            value=f"{unasked:.1%} ({answered.get('chatter', 0)} of {lines['chatter']})",
            bar=f"≤ {MOST_UNASKED:.0%}",
            ok=unasked <= MOST_UNASKED,
        ),
        Row(
            name="sentences about it that it answered",
            value=f"{answered.get('about it', 0)} of {lines['about it']}",
            bar=f"≤ {MOST_ABOUT}",
            ok=answered.get("about it", 0) <= MOST_ABOUT,
        ),
        Row(
            name="with a judge that says yes to all: calls, replies to chatter, sentences about it answered",
            value=f"{eager['calls']}, {eager['answered'].get('chatter', 0)}, {eager['answered'].get('about it', 0)}",
        ),
    ]
