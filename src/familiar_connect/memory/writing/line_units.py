"""A memory file as the units that are kept or removed whole: a line, a bullet with its further lines, a code block.

Front matter is one unit, and so is each heading. Blank lines belong to none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from familiar_connect.memory.writing.markdown_sections import bullet_of
from familiar_connect.support.markdown import read_blocks
from familiar_connect.support.text import one_line

MAX_FRONT_MATTER_LINES = 200

UnitKind = Literal["front", "heading", "bullet", "text", "code"]


@dataclass(frozen=True, kw_only=True)
class LineUnit:
    """Lines that stand or go together."""

    kind: UnitKind
    start: int
    """Its first line, counted from 0."""
    end: int
    """The line after its last."""
    text: str
    section: str
    """The heading it stands under, as `unit_key` of its words; "" before the first."""
    level: int = 0
    """Of a heading."""
    words: str = ""
    """Of a heading, as `unit_key` of them."""

    @property
    def key(self) -> str:
        return f"{self.kind}\n{self.text}" if self.kind in ("front", "code") else unit_key(self.text)


def unit_key(text: str) -> str:
    """What two units have in common that say the same, whatever their bullets, spacing and letter case."""
    line = one_line(text)
    return (bullet_of(line) or line).casefold()


def split_units(text: str) -> list[LineUnit]:
    """Every unit of *text*, in order."""
    lines = text.splitlines()
    blocks = read_blocks(lines)
    headings = {heading.line: heading for heading in blocks.headings}
    fences = {fence.start: fence.stop for fence in blocks.fences}
    units: list[LineUnit] = []
    section = ""
    at = 0
    while at < len(lines):
        kind, end = _extent(lines, at, headings, fences)
        if kind is not None:
            heading = headings[at] if kind == "heading" else None
            unit = LineUnit(
                kind=kind,
                start=at,
                end=end,
                text="\n".join(lines[at:end]),
                section=section,
                level=heading.level if heading is not None else 0,
                words=unit_key(heading.text) if heading is not None else "",
            )
            units.append(unit)
            section = unit.words if heading is not None else section
        at = end
    return units


def _extent(
    lines: Sequence[str], at: int, headings: Mapping[int, object], fences: Mapping[int, int]
) -> tuple[UnitKind | None, int]:
    """What begins on line *at*, and the line after its last; None for a blank line."""
    line = lines[at]
    if not line.strip():
        return None, at + 1
    if at == 0 and line.rstrip() == "---":
        closing = next((n for n in range(1, min(len(lines), MAX_FRONT_MATTER_LINES)) if lines[n].rstrip() == "---"), 0)
        if closing:
            return "front", closing + 1
    if at in headings:
        return "heading", at + 1
    if at in fences:
        return "code", max(fences[at], at + 1)
    end = at + 1
    if bullet_of(line) is None:
        return "text", end
    indent = len(line) - len(line.lstrip())
    while end < len(lines) and _continues(lines[end], indent):
        end += 1
    return "bullet", end


def _continues(line: str, indent: int) -> bool:
    """Whether *line* goes on with the words of a bullet set in by *indent*."""
    return bool(line.strip()) and len(line) - len(line.lstrip()) > indent and bullet_of(line) is None
