"""Kept memories: numbered lines of a Markdown file, one section for each persona.

`- [id:7] text` under `## Remembered by <persona>`, in the file of a server or a person. Numbers are unique within
a file. Everything else in the file is left as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from familiar_connect.support.markdown import find_section
from familiar_connect.support.text import one_line

_LINE = re.compile(r"^\s*[-*+]\s+\[id:\s*(\d{1,12})\]\s*(.*?)\s*$", re.IGNORECASE)
_NOT_NAME = re.compile(r"[#\[\]\x00-\x1f]+")


@dataclass(frozen=True)
class NumberedNote:
    """One numbered line."""

    id: int
    text: str
    line: int
    """Where it stands in the file."""


def persona_heading(persona: str) -> str:
    """The heading under which *persona*'s memories stand."""
    return f"Remembered by {one_line(_NOT_NAME.sub(' ', persona))}".strip()


def notes_of(text: str, persona: str) -> list[NumberedNote]:
    """What *persona* keeps in a file, in its order."""
    lines = text.splitlines()
    place = find_section(lines, persona_heading(persona), levels=(2,))
    return _number(lines, *place) if place is not None else []


def with_numbered_note(text: str, persona: str, content: str, *, title: str, after: int = 0) -> tuple[str, int]:
    """*text* with one memory more, and its number, larger than *after*; a file that is missing begins with *title*."""
    lines = text.rstrip().splitlines() if text.strip() else [f"# {one_line(title)}"]
    number = max(after, *(memory.id for memory in _number(lines, 0, len(lines))), 0) + 1
    line = f"- [id:{number}] {one_line(content)}"
    place = find_section(lines, persona_heading(persona), levels=(2,))
    if place is None:
        return "\n".join([*lines, "", f"## {persona_heading(persona)}", "", line]) + "\n", number
    end = place[1]
    while end > place[0] + 1 and not lines[end - 1].strip():
        end -= 1
    return "\n".join([*lines[:end], line, *lines[end:]]) + "\n", number


def with_edited_note(text: str, memory: NumberedNote, content: str | None) -> str:
    """*text* with one memory saying *content*, or without it for None."""
    lines = text.splitlines()
    lines[memory.line : memory.line + 1] = [f"- [id:{memory.id}] {one_line(content)}"] if content is not None else []
    return "\n".join(lines) + "\n"


def _number(lines: Sequence[str], start: int, end: int) -> list[NumberedNote]:
    found = ((at, _LINE.match(lines[at])) for at in range(start, end))
    return [NumberedNote(int(match[1]), match[2], at) for at, match in found if match]
