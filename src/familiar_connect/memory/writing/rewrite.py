"""A rewritten file laid over the one that stands there: new lines are added, and nothing goes without a reason.

The standing text is the base. A line that the rewrite repeats, moves or leaves out stays where it is, word for word;
a line it does not have yet is put where the rewrite has it. Only a line that the program wrote itself can go: when
the model names it as out of date with the turn that says so, or when a new line begins with it and says more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from familiar_connect.memory.writing.line_units import LineUnit, split_units, unit_key
from familiar_connect.memory.writing.markdown_sections import bullet_of
from familiar_connect.memory.writing.plan import LineRemoval
from familiar_connect.memory.writing.reply_parser import OutdatedLine

MIN_WORDS_EXTENDED = 2

_WORD = re.compile(r"\w+")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|\Z)")
_QUOTES = "\"'“”„«»`* "

OurLines = Callable[[], Mapping[int, int]]
"""Numbers of the lines that are ours, with the version of each; asked only when it matters."""


@dataclass(frozen=True, kw_only=True)
class RewriteResult:
    """What a file shall say, what goes with which reason, and what only the owner may decide."""

    text: str
    removed: tuple[LineRemoval, ...] = ()
    contested: tuple[LineRemoval, ...] = ()
    """Lines of the owner's that the model named as out of date; they stay."""


def merge_rewrite(
    before: str, proposed: str, *, outdated: Sequence[OutdatedLine], turns: Collection[int], ours: OurLines
) -> RewriteResult:
    """*proposed* laid over *before*; only *turns* can say that a line is out of date."""
    standing, new = split_units(before), split_units(proposed)
    repeated = {unit.key for unit in new}
    named = [
        (unit, turn) for unit, turn in _find_outdated(standing, outdated) if turn in turns and unit.key not in repeated
    ]
    known = {unit.key for unit in standing}
    longer = _find_extended(standing, [unit for unit in new if unit.key not in known], repeated)
    owned = ours() if named or longer else {}
    removed = {
        unit.start: LineRemoval(text=unit.text, reason="outdated", turn=turn)
        for unit, turn in named
        if is_ours(unit, owned)
    }
    for unit in longer:
        if is_ours(unit, owned):
            removed.setdefault(unit.start, LineRemoval(text=unit.text, reason="extended"))
    contested = [
        LineRemoval(text=unit.text, reason="outdated", turn=turn) for unit, turn in named if not is_ours(unit, owned)
    ]
    text = _Merge(before, standing, new).run(removed)
    return RewriteResult(text=text, removed=tuple(removed.values()), contested=tuple(contested))


def is_ours(unit: LineUnit, owned: Mapping[int, int]) -> bool:
    """Whether every line of *unit* is one the program wrote; headings and front matter are never taken away."""
    return unit.kind in ("bullet", "text", "code") and all(number in owned for number in range(unit.start, unit.end))


def without_units(text: str, starts: Collection[int]) -> str:
    """*text* without the units that begin on these lines."""
    return _Merge(text, split_units(text), []).run(starts)


def without_removals(text: str, removals: Iterable[LineRemoval]) -> str:
    """*text* without the lines named in *removals*, as far as it has them; each goes once."""
    wanted = Counter(removal.text for removal in removals)
    starts = set()
    for unit in split_units(text):
        if wanted[unit.text] > 0:
            wanted[unit.text] -= 1
            starts.add(unit.start)
    return without_units(text, starts) if starts else text


def find_unexplained_losses(before: str, after: str, removed: Iterable[LineRemoval]) -> list[str]:
    """Lines of *before* that *after* lacks and that no removal names."""
    lost = Counter(before.splitlines()) - Counter(after.splitlines())
    lost -= Counter(line for removal in removed for line in removal.text.splitlines())
    return [line for line in lost if line.strip()]


def _find_outdated(standing: Sequence[LineUnit], outdated: Sequence[OutdatedLine]) -> list[tuple[LineUnit, int]]:
    found: dict[int, tuple[LineUnit, int]] = {}
    for named in outdated:
        wanted = _loose_key(named.text)
        for unit in standing if wanted else ():
            if unit.kind in ("bullet", "text") and wanted in (_loose_key(unit.text), _loose_key(_first_line(unit))):
                found.setdefault(unit.start, (unit, named.turn))
    return list(found.values())


def _first_line(unit: LineUnit) -> str:
    return unit.text.partition("\n")[0]


def _loose_key(text: str) -> str:
    return unit_key(text).strip(_QUOTES).rstrip(".!")


def _find_extended(standing: Sequence[LineUnit], new: Sequence[LineUnit], repeated: Collection[str]) -> list[LineUnit]:
    """Units left out of a rewrite that has a new line which begins with all their words."""
    longer = [words for unit in new if unit.kind in ("bullet", "text") and (words := _words(unit.text))]
    found = []
    for unit in standing if longer else ():
        words = _words(unit.text) if unit.kind in ("bullet", "text") and unit.key not in repeated else []
        if len(words) >= MIN_WORDS_EXTENDED and any(
            len(other) > len(words) and other[: len(words)] == words for other in longer
        ):
            found.append(unit)
    return found


def _words(text: str) -> list[str]:
    return _WORD.findall(unit_key(text))


@dataclass
class _Section:
    """A heading, what stands between it and the next, and where that ends."""

    heading: LineUnit | None
    start: int
    units: list[LineUnit] = field(default_factory=list)
    above: tuple[str, ...] = ()
    """The headings it stands under, the nearest first, without the title."""

    @property
    def level(self) -> int:
        return self.heading.level if self.heading is not None else 0

    @property
    def end(self) -> int:
        return self.units[-1].end if self.units else self.start


def _sections(units: Iterable[LineUnit]) -> list[_Section]:
    found = [_Section(None, 0)]
    open_headings: list[LineUnit] = []
    for unit in units:
        if unit.kind == "heading":
            open_headings = [each for each in open_headings if each.level < unit.level]
            above = tuple(each.words for each in reversed(open_headings) if each.level > 1)
            found.append(_Section(unit, unit.end, above=above))
            open_headings.append(unit)
        elif unit.kind == "front":
            found[-1] = _Section(None, unit.end)
        else:
            found[-1].units.append(unit)
    return found


class _Merge:
    """The standing lines with new units between them."""

    def __init__(self, before: str, standing: Sequence[LineUnit], new: Sequence[LineUnit]) -> None:
        self._before = before
        self._standing = standing
        self._sections = _sections(standing)
        self._new = _sections(new)
        self._known = {unit.key for unit in standing} | {unit_key(line) for line in before.splitlines()}
        self._repeated = {unit.key for unit in new}
        self._inserts: dict[int, list[LineUnit]] = {}

    def run(self, dropped: Collection[int]) -> str:
        """The merged text, without the standing units that begin on the lines *dropped*."""
        self._place_all()
        if not self._inserts and not dropped:
            return self._before
        gone = {line for unit in self._standing if unit.start in dropped for line in range(unit.start, unit.end)}
        return _assemble(self._before.splitlines(), gone, self._inserts)

    def _place_all(self) -> None:
        here = 0
        empty: list[LineUnit] = []  # new headings whose section has nothing new so far
        newest: tuple[int, int] | None = None  # level and line of the section put in last
        for section in self._new:
            match = self._match(section)
            if match is not None:
                here, empty, newest = match, [], None
                self._fill(self._sections[match], section)
                continue
            assert section.heading is not None
            empty = [heading for heading in empty if heading.level < section.level]
            fresh = self._fresh(section.units)
            empty.append(section.heading)
            if fresh:
                level = empty[0].level
                line = newest[1] if newest is not None and level > newest[0] else self._after(here, level)
                self._insert(line, [*empty, *fresh])
                empty, newest = [], (level, line) if newest is None or level <= newest[0] else newest

    def _match(self, section: _Section) -> int | None:
        """Which standing section a section of the rewrite means."""
        if section.heading is None:
            return 0
        titles = [at for at, known in enumerate(self._sections) if known.level == 1]
        if section.level == 1 and section is next((each for each in self._new if each.level == 1), None):
            return titles[0] if titles else 0
        namesakes = [
            at
            for at, known in enumerate(self._sections)
            if known.heading is not None and known.heading.words == section.heading.words
        ]
        # Of two that are called the same ("Food" under "Likes" and under "Dislikes") the one in the same place.
        same = [at for at in namesakes if self._sections[at].above == section.above]
        return next(iter(same or namesakes), None)

    def _fill(self, target: _Section, section: _Section) -> None:
        """New units of *section* put behind the ones they follow there."""
        places = {unit.key: at for at, unit in enumerate(target.units)}
        anchor = -1
        for unit in section.units:
            if unit.key in places:
                anchor = places[unit.key]
            elif fresh := self._fresh([unit]):
                at = anchor
                while at + 1 < len(target.units) and target.units[at + 1].key not in self._repeated:
                    at += 1
                self._insert(target.units[at].end if at >= 0 else target.start, fresh)

    def _fresh(self, units: Iterable[LineUnit]) -> list[LineUnit]:
        """Those that are not in the file yet, each once."""
        found: list[LineUnit] = []
        for unit in units:
            lines = {unit_key(line) for line in unit.text.splitlines()}
            if unit.key and unit.key not in self._known and not lines <= self._known:
                found.append(unit)
                self._known |= {unit.key, *lines}
        return found

    def _after(self, here: int, level: int) -> int:
        """The line where a new section of *level* may begin, after the section *here* and what belongs to it."""
        while here + 1 < len(self._sections) and self._sections[here + 1].level > level:
            here += 1
        return self._sections[here].end

    def _insert(self, line: int, units: list[LineUnit]) -> None:
        self._inserts.setdefault(line, []).extend(units)


def _assemble(lines: Sequence[str], gone: Collection[int], inserts: Mapping[int, list[LineUnit]]) -> str:
    out: list[str] = []
    last_new: LineUnit | None = None  # the unit just put in, while nothing else follows it
    after_gap = False
    for number in range(len(lines) + 1):
        for unit in inserts.get(number, ()):
            if out and out[-1].strip() and _needs_gap(out[-1], unit, last_new):
                out.append("")
            out += unit.text.split("\n")
            last_new = unit
        if number == len(lines):
            break
        line = lines[number]
        if number in gone:
            after_gap = True
            continue
        if not line.strip() and after_gap and (not out or not out[-1].strip()):
            continue  # the blank line of what went
        after_gap = after_gap and not line.strip()
        if last_new is not None and line.strip() and not (last_new.kind == "bullet" and bullet_of(line) is not None):
            out.append("")
        out.append(line)
        last_new = None
    return "\n".join(out).rstrip("\n") + "\n"


def _needs_gap(line: str, unit: LineUnit, before: LineUnit | None) -> bool:
    """Whether a blank line must stand between *line* and the new *unit*, so that neither runs into the other."""
    if unit.kind == "heading":
        return True
    if before is not None and before.end == unit.start:
        return False  # as the rewrite has them
    if _HEADING.match(line):
        return False
    return not (unit.kind == "bullet" and (bullet_of(line) is not None or line[:1].isspace()))
