"""Markdown by its sections: reading and adding bullets under one heading, and leaving everything else alone.

Headings inside code fences are text. A heading is found whatever its letter case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from familiar_connect.support.markdown import find_section, read_headings
from familiar_connect.support.text import one_line

_BULLET = re.compile(r"^\s*[-*+]\s+(.*\S)\s*$")


def bullet_of(line: str) -> str | None:
    """The words of a bullet line."""
    found = _BULLET.match(line)
    return found[1] if found else None


def bullets_under(text: str, heading: str) -> list[str]:
    """The bullets of the section called *heading*, in order."""
    lines = text.splitlines()
    place = find_section(lines, heading)
    if place is None:
        return []
    return [words for line in lines[place[0] + 1 : place[1]] if (words := bullet_of(line)) is not None]


def has_section(text: str, heading: str) -> bool:
    return find_section(text.splitlines(), heading) is not None


def with_bullets(text: str, heading: str, bullets: Iterable[str]) -> str:
    """*text* with those of *bullets* its section lacks, behind its last; the section is made when missing.

    They go to the section itself, never below a deeper heading in it; a new section stands under the title.
    """
    known = {one_line(words).casefold() for words in bullets_under(text, heading)}
    added: dict[str, str] = {}
    for words in map(one_line, bullets):
        if words and words.casefold() not in known:
            added.setdefault(words.casefold(), f"- {words}")
    if not added:
        return text
    lines = text.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    place = find_section(lines, heading)
    headings = read_headings(lines)
    if place is None:
        titles = [each.line for each in headings if each.level == 1]
        at = titles[1] if len(titles) > 1 else len(lines)
        before = lines[:at]
        while before and not before[-1].strip():
            before.pop()
        gap, after = [""] if before else [], ["", *lines[at:]] if at < len(lines) else []
        return "\n".join([*before, *gap, f"## {heading}", *added.values(), *after]) + "\n"
    own_end = next((each.line for each in headings if place[0] < each.line < place[1]), place[1])
    at = _end_of_list(lines, place[0], own_end)
    has_list = any(bullet_of(line) is not None for line in lines[place[0] + 1 : own_end])
    gap = [""] if lines[at - 1].strip() and at - 1 > place[0] and not has_list else []
    after = [""] if at == own_end and at < len(lines) else []  # a heading follows at once
    return "\n".join([*lines[:at], *gap, *added.values(), *after, *lines[at:]]) + "\n"


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
        while (place := find_section(lines, name)) is not None:
            del lines[place[0] : place[1]]
    return "\n".join(lines)


def link_text(label: str) -> str:
    """*label* as it may stand in the brackets of a link."""
    return "".join(character for character in label if character not in "[]()<>`") or "somebody"


def link_target(link: str) -> str:
    """What a link bullet points at, as it stands in Markdown; the bullet itself when it is no link."""
    return link[link.index("](") :] if "](" in link else link
