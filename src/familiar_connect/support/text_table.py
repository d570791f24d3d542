"""text_table: rows in columns that fit a window; where they cannot, each row stands below the cell that names it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from familiar_connect.support.word_wrap import ENDLESS, display_width, longest_word, wrap_words

GAP = 2
LEAST_ROOM = 20
"""Columns in which a long last cell can still be read."""
ROWS_FOR_ONE_PUSHED = 3
"""A table in which more than one row in so many takes two lines is hard to read."""
BELOW_NAME = 4

Row = Sequence[str]


@dataclass(frozen=True, kw_only=True)
class TableStyle:
    """How the columns of a table are read."""

    left: Collection[int] = (0,)
    """Columns of words; those of numbers stand to the right."""
    name: int = 0
    """The column that names a row."""
    indent: int = 2


NUMBERS = TableStyle()


def text_table(header: Row, rows: Sequence[Row], width: int = ENDLESS, style: TableStyle = NUMBERS) -> str:
    """*rows* below *header* in a window of *width* columns.

    A long last column goes on below its own beginning, and a few cells that are wider than their column push the rest
    of their row to the next line. Where there is no window, letters are counted and nothing is broken.
    """
    lines = [header, *rows] if any(header) else list(rows)
    measure: Callable[[str], int] = len if width == ENDLESS else display_width
    widths = [max(map(measure, column)) for column in zip(*lines, strict=True)]
    fitted = _fit(lines, widths, width - style.indent)
    if fitted is None:
        return "\n".join(_stack(header, row, width, style) for row in rows)
    is_cut = fitted[-1] < widths[-1]
    return "\n".join(_line(line, fitted, style, measure, is_cut=is_cut) for line in lines)


def _fit(lines: Sequence[Row], widths: Sequence[int], room: int) -> list[int] | None:
    """Widths that fit into *room*: less for the last column, then for the widest of the others; None where that is
    not enough.
    """
    *others, last = widths
    least = min(last, max(LEAST_ROOM, *(longest_word(line[-1]) for line in lines)))
    over = sum(others) + GAP * len(others) + least - room
    if over > 0:
        widest = others.index(max(others))
        fitting = [size for line in lines if (size := display_width(line[widest])) <= others[widest] - over]
        is_too_wide = sum(others[: widest + 1]) + GAP * widest > room
        if is_too_wide or (len(lines) - len(fitting)) * ROWS_FOR_ONE_PUSHED > len(lines):
            return None
        others[widest] = max(fitting)
    return [*others, min(last, room - sum(others) - GAP * len(others))]


def _line(cells: Row, widths: Sequence[int], style: TableStyle, measure: Callable[[str], int], *, is_cut: bool) -> str:
    lines, begins = [""], style.indent
    for at, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        pieces = [cell if at in style.left else " " * (width - measure(cell)) + cell]
        if is_cut and at == len(widths) - 1:
            pieces = wrap_words(cell, width).split("\n")
        if at and measure(lines[-1]) > begins - GAP:
            lines.append("")
        lines[-1] += " " * (begins - measure(lines[-1])) + pieces[0]
        lines += [" " * begins + piece for piece in pieces[1:]]
        begins += width + GAP
    return "\n".join(line.rstrip() for line in lines)


def _stack(header: Row, row: Row, width: int, style: TableStyle) -> str:
    """The name of a row, and below it each other cell behind the name of its column."""
    cells = [(name, cell.strip()) for at, (name, cell) in enumerate(zip(header, row, strict=True)) if at != style.name]
    facts = [f"{name} {cell}".strip() for name, cell in cells if cell]
    below = " " * (style.indent + BELOW_NAME)
    lines = [" " * style.indent + _breakable(row[style.name], width - style.indent)]
    for at, fact in enumerate(facts, start=1):
        piece = fact if at == len(facts) else f"{fact},"
        if at > 1 and display_width(f"{lines[-1]} {piece}") <= width:
            lines[-1] += f" {piece}"
        else:
            lines.append(below + piece)
    return "\n".join(wrap_words(line, width) for line in lines)


def _breakable(name: str, room: int) -> str:
    """*name*, to be broken behind its colons where it is one word that no line holds."""
    return name if longest_word(name) <= room else name.replace(":", ": ")
