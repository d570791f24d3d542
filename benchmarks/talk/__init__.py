"""Weeks of talk: eight people over seven weeks, each line labelled with the lasting fact it tells, or with none.

The lines were written before the rules that `benchmarks/keeping.py` measures. In the files `= DATE PLACE` begins a
scene, and `who: words {fact: evidence}` is a line: *evidence* are those of its words without which the fact is not
kept. `{fact<older: evidence}` takes back the fact *older*. `{?}` is a line over which friends would differ: it counts
neither way. A line without braces is chatter. Which half a line belongs to follows from a checksum of its fact, or of
its words: the rules are tuned on the open half, and nobody looks at what they get wrong in the other.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from datetime import date
from pathlib import Path

FOLDER = Path(__file__).parent
_SCENE = re.compile(r"= (?P<day>\d{4}-\d\d-\d\d) (?P<place>[\w-]+)")
_LINE = re.compile(r"(?P<who>\w+): (?P<words>.*?)(?P<labels>(?: ?\{[^{}]*\})*)")
_LABEL = re.compile(r"\{(?P<fact>[\w-]+)(?:<(?P<older>[\w-]+))?: (?P<evidence>[^}]+)\}")


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something that a friend would still want to know in a month."""

    name: str
    evidence: str
    older: str | None
    """The fact that it takes the place of."""

    @property
    def is_open(self) -> bool:
        return _is_open(self.name)


@dataclass(frozen=True, kw_only=True)
class TalkLine:
    """What somebody typed, and which facts it tells."""

    who: str
    words: str
    facts: tuple[Fact, ...]
    is_disputed: bool

    @property
    def is_open(self) -> bool:
        return _is_open(self.facts[0].name if self.facts else self.words)

    def tells(self, quote: str) -> list[Fact]:
        """The facts that *quote*, which is taken from this line, still tells."""
        return [fact for fact in self.facts if fact.evidence.casefold() in quote.casefold()]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What was said in one place on one day."""

    day: date
    place: str
    lines: tuple[TalkLine, ...]


def _is_open(text: str) -> bool:
    return zlib.crc32(text.encode()) % 2 == 0


def read_scenes() -> list[Scene]:
    """All the weeks, in order."""
    scenes: list[tuple[date, str, list[TalkLine]]] = []
    for path in sorted(FOLDER.glob("week*.txt")):
        for raw in path.read_text(encoding="utf-8").splitlines():
            if head := _SCENE.fullmatch(raw):
                scenes.append((date.fromisoformat(head["day"]), head["place"], []))
            else:
                scenes[-1][2].append(_read_line(raw))
    return [Scene(day=day, place=place, lines=tuple(lines)) for day, place, lines in scenes]


def _read_line(raw: str) -> TalkLine:
    found = _LINE.fullmatch(raw)
    if found is None:
        raise ValueError(f"not a line of talk: {raw}")
    facts = tuple(
        Fact(name=label["fact"], evidence=label["evidence"], older=label["older"])
        for label in _LABEL.finditer(found["labels"])
    )
    return TalkLine(who=found["who"], words=found["words"].strip(), facts=facts, is_disputed="{?}" in found["labels"])
