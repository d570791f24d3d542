"""Stray lines: what a model wrote under a heading that code keeps goes where the file has its own lines.

A model that repeats a file and adds what is new at its end adds it below the last list, which is one of links or of
names. There nobody looks for it, nothing asks whether it was said, and its turns are not kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.memory.people import ALIASES_HEADING
from familiar_connect.memory.writing.archiving import LINKS_HEADING, MANAGED, SESSIONS_HEADING
from familiar_connect.memory.writing.extractive import ABOUT_HEADING, SAID_HEADING
from familiar_connect.memory.writing.line_units import LineUnit, split_units, unit_key
from familiar_connect.memory.writing.markdown_sections import bullet_of

MAX_NAME_WORDS = 5

_LINKS = frozenset(map(unit_key, (SESSIONS_HEADING, LINKS_HEADING)))
_QUOTES = frozenset(map(unit_key, (ABOUT_HEADING, SAID_HEADING)))
_NAMES = unit_key(ALIASES_HEADING)
_KEPT_BY_CODE = _QUOTES | frozenset(map(unit_key, MANAGED))


def settle_strays(text: str, standing: str) -> str:
    """*text* with new lines out of the sections that code keeps, behind the last line of the file's own sections.

    Lines that are *standing* in the file stay where they are. A new link in a list of links goes: code makes those.
    """
    units = split_units(text)
    known = {unit_key(line) for line in standing.splitlines()}
    strays = [unit for unit in units if _is_stray(unit, known)]
    invented = [unit for unit in units if _is_new_link(unit, known)]
    if not strays and not invented:
        return text
    gone = {line for unit in (*strays, *invented) for line in range(unit.start, unit.end)}
    home = _home(units, gone)
    lines = text.splitlines()
    kept = [line for number, line in enumerate(lines[:home]) if number not in gone]
    rest = [line for number, line in enumerate(lines[home:], start=home) if number not in gone]
    moved = [line for unit in strays for line in unit.text.split("\n")]
    if moved and kept and kept[-1].strip() and bullet_of(kept[-1]) is None:
        kept.append("")
    return "\n".join([*kept, *moved, *([""] if moved and rest and rest[0].strip() else []), *rest]).rstrip() + "\n"


def _is_stray(unit: LineUnit, known: set[str]) -> bool:
    if unit.kind in ("heading", "front") or unit.section not in _KEPT_BY_CODE or unit.key in known:
        return False
    words = bullet_of(unit.text.partition("\n")[0])
    if unit.section in _QUOTES:
        return words is None or " said: " not in words
    if unit.section == _NAMES:
        return words is None or len(words.split()) > MAX_NAME_WORDS or ":" in words or words.endswith((".", "!", "?"))
    return not _is_new_link(unit, known)


def _is_new_link(unit: LineUnit, known: set[str]) -> bool:
    return unit.section in _LINKS and unit.kind == "bullet" and unit.key not in known and "](" in unit.text


def _home(units: Sequence[LineUnit], gone: set[int]) -> int:
    """The line behind the last unit of the file's own: under its title, or under a heading that is not code's."""
    own = [unit for unit in units if unit.start not in gone and _is_own(unit)]
    return own[-1].end if own else 0


def _is_own(unit: LineUnit) -> bool:
    """Whether what is the file's own may follow *unit*: its title, its front matter, a line of its own."""
    if unit.kind == "heading":
        return unit.level == 1
    return unit.kind == "front" or unit.section not in _KEPT_BY_CODE
