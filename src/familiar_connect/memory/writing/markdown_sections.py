"""Markdown by its sections: reading and adding bullets under one heading, and leaving everything else alone.

Headings inside code fences are text. A heading is found whatever its letter case.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from familiar_connect.support.text import one_line

_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"^\s*[-*+]\s+(.*\S)\s*$")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")


def heading_of(line: str) -> tuple[int, str] | None:
    """Level and words of a heading line."""
    found = _HEADING.match(line)
    return (len(found[1]), found[2]) if found else None


def bullet_of(line: str) -> str | None:
    """The words of a bullet line."""
    found = _BULLET.match(line)
    return found[1] if found else None


def headings(lines: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    """Line number, level and words of every heading outside code fences."""
    fence: str | None = None
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and fence in (None, mark[1]):
            fence = None if fence else mark[1]
        elif fence is None and (found := heading_of(line)) is not None:
            yield number, *found


def document_title(text: str) -> str | None:
    """The words of the first H1."""
    return next((words for _, level, words in headings(text.splitlines()) if level == 1 and words), None)


def bullets_under(text: str, heading: str) -> list[str]:
    """The bullets of the section called *heading*, in order."""
    lines = text.splitlines()
    place = _section(lines, heading)
    if place is None:
        return []
    return [words for line in lines[place[0] + 1 : place[1]] if (words := bullet_of(line)) is not None]


def has_section(text: str, heading: str) -> bool:
    return _section(text.splitlines(), heading) is not None


def with_bullets(text: str, heading: str, bullets: Iterable[str]) -> str:
    """*text* with those of *bullets* its section lacks, behind its last; the section is made when missing."""
    known = {one_line(words).casefold() for words in bullets_under(text, heading)}
    added: dict[str, str] = {}
    for words in map(one_line, bullets):
        if words and words.casefold() not in known:
            added.setdefault(words.casefold(), f"- {words}")
    if not added:
        return text
    lines = text.rstrip().splitlines()
    place = _section(lines, heading)
    if place is None:
        gap = [""] if lines else []
        return "\n".join([*lines, *gap, f"## {heading}", *added.values()]) + "\n"
    at = _end_of_list(lines, *place)
    gap = [""] if lines[at - 1].strip() and bullet_of(lines[at - 1]) is None and at - 1 > place[0] and not known else []
    return "\n".join([*lines[:at], *gap, *added.values(), *lines[at:]]) + "\n"


def keep_bullets(text: str, heading: str, wanted: Collection[str]) -> str:
    """*text* with only those bullets of its section that are *wanted*; a bullet's further lines go with it."""
    lines = text.rstrip().splitlines()
    place = _section(lines, heading)
    if place is None:
        return text
    kept: list[str] = []
    dropping = False
    for line in lines[place[0] + 1 : place[1]]:
        words = bullet_of(line)
        if words is not None:
            dropping = words not in wanted
        elif not line.strip() or not line[0].isspace():
            dropping = False
        if not dropping:
            kept.append(line)
    return "\n".join([*lines[: place[0] + 1], *kept, *lines[place[1] :]]) + "\n"


def _end_of_list(lines: Sequence[str], start: int, end: int) -> int:
    """Where a further bullet of the section goes: behind its last bullet, else behind its last line."""
    last = next((at for at in range(end - 1, start, -1) if bullet_of(lines[at]) is not None), None)
    if last is None:
        return next((at + 1 for at in range(end - 1, start, -1) if lines[at].strip()), start + 1)
    while last + 1 < end and lines[last + 1].strip() and lines[last + 1][0].isspace():
        last += 1
    return last + 1


def without_sections(text: str, names: Iterable[str]) -> str:
    """*text* without the sections called so."""
    lines = text.splitlines()
    for name in names:
        while (place := _section(lines, name)) is not None:
            del lines[place[0] : place[1]]
    return "\n".join(lines)


def _section(lines: Sequence[str], heading: str) -> tuple[int, int] | None:
    """From the line of *heading* (H2 or deeper) to the next heading of its level or above."""
    wanted = heading.casefold()
    found = list(headings(lines))
    for index, (number, level, words) in enumerate(found):
        if level >= 2 and words.casefold() == wanted:
            end = next((other for other, depth, _ in found[index + 1 :] if depth <= level), len(lines))
            return number, end
    return None
