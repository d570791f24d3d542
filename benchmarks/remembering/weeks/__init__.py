"""Thirty days of talk by five people in four places, and a hundred questions about it.

In `told.txt` `= DAY PLACE` begins a scene and `who: words {fact: evidence}` is a message; *evidence* are those of its
words without which nobody knows the fact, and they stand in no other line. `{fact<older: evidence}` corrects or
contradicts the fact *older*, and `- fact` is its message being deleted by whoever wrote it. In `asked.txt` each line is
`SIGN fact PLACE who: question`: `+` asks who may know it, `-` asks who was not there, `x` asks for what was deleted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
PEOPLE = {"ada": "Ada", "ben": "Ben", "cleo": "Cleo", "dov": "Dov", "ema": "Ema"}
COUNCIL = ("ada", "ben", "cleo")
READERS = {"lounge": tuple(PEOPLE), "council": COUNCIL, "dm-ada": ("ada",), "dm-dov": ("dov",)}
"""Who can read each place."""
_SCENE = re.compile(r"= (?P<day>\d+) (?P<place>[\w-]+)")
_LINE = re.compile(
    r"(?P<who>\w+): (?P<words>.*?)(?: \{(?P<fact>[\w-]+)(?:<(?P<older>[\w-]+))?: (?P<evidence>[^}]+)\})?"
)
_GONE = re.compile(r"- (?P<fact>[\w-]+)")
_ASKED = re.compile(r"(?P<sign>[-+x]) (?P<fact>[\w-]+) (?P<place>[\w-]+) (?P<who>\w+): (?P<words>.+)")


@dataclass(frozen=True, kw_only=True)
class Told:
    """A message, and the fact it tells where it tells one."""

    number: int
    day: int
    place: str
    who: str
    words: str
    fact: str | None = None
    older: str | None = None
    evidence: str = ""

    def stands_in(self, text: str) -> bool:
        """Whether *text* tells the fact; a number in a time of day or a date tells nothing."""
        return re.search(rf"(?<![\w:.-]){re.escape(self.evidence)}(?![\w:])", text, re.IGNORECASE) is not None


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """A message is deleted by whoever wrote it."""

    day: int
    fact: str


@dataclass(frozen=True, kw_only=True)
class Question:
    """What somebody asks, and whether they may be told."""

    fact: str
    place: str
    who: str
    words: str
    may_know: bool
    is_forgotten: bool


@dataclass(frozen=True, kw_only=True)
class Weeks:
    """Everything that is said and deleted, in order, and what is asked at the end."""

    events: tuple[Told | Deletion, ...]
    questions: tuple[Question, ...]

    @property
    def told(self) -> list[Told]:
        return [event for event in self.events if isinstance(event, Told)]

    @property
    def facts(self) -> dict[str, Told]:
        return {event.fact: event for event in self.told if event.fact is not None}

    @property
    def standing(self) -> list[Told]:
        """What was not deleted."""
        gone = {event.fact for event in self.events if isinstance(event, Deletion)}
        return [event for event in self.told if event.fact is None or event.fact not in gone]

    def take(self, questions: int | None) -> Weeks:
        """The same weeks with so many of the questions, spread over all kinds of them."""
        if questions is None or questions >= len(self.questions):
            return self
        step = len(self.questions) / questions
        return Weeks(events=self.events, questions=tuple(self.questions[int(at * step)] for at in range(questions)))

    def shortened(self, *, days: set[int], facts: set[str]) -> Weeks:
        """Only *days* of them, and what is asked about *facts*."""
        events = tuple(event for event in self.events if event.day in days)
        return Weeks(events=events, questions=tuple(each for each in self.questions if each.fact in facts))


def read_weeks() -> Weeks:
    """What the two files say."""
    events: list[Told | Deletion] = []
    day, place = 0, ""
    for number, raw in enumerate((FOLDER / "told.txt").read_text("utf-8").splitlines()):
        if head := _SCENE.fullmatch(raw):
            day, place = int(head["day"]), head["place"]
        elif gone := _GONE.fullmatch(raw):
            events.append(Deletion(day=day, fact=gone["fact"]))
        elif line := _LINE.fullmatch(raw):
            facts = {key: line[key] for key in ("fact", "older")} | {"evidence": line["evidence"] or ""}
            events.append(Told(number=number, day=day, place=place, who=line["who"], words=line["words"], **facts))
        else:
            raise ValueError(f"not a line of talk: {raw}")
    asked = [_ASKED.fullmatch(raw) for raw in (FOLDER / "asked.txt").read_text("utf-8").splitlines()]
    questions = tuple(
        Question(
            fact=each["fact"],
            place=each["place"],
            who=each["who"],
            words=each["words"],
            may_know=each["sign"] == "+",
            is_forgotten=each["sign"] == "x",
        )
        for each in asked
        if each is not None
    )
    return Weeks(events=tuple(events), questions=questions)
