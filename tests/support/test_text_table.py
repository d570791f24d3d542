"""Tables fit the window they are shown in, and lose nothing in it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.support.text_table import TableStyle, text_table
from familiar_connect.support.word_wrap import display_width

HEADER = ["name", "count", "why"]
WORDS = TableStyle(left=(0, 2))
cells = st.lists(st.text("ab火:", min_size=1, max_size=12), min_size=1, max_size=8).map(" ".join)


def test_without_a_window_columns_are_as_wide_as_they_need_to_be() -> None:
    """The first to the left, numbers to the right, counted in letters."""
    assert text_table(["", "used"], [["money", "1"], ["火", "10,000"]]) == (
        "           used\n  money       1\n  火      10,000"
    )


def test_an_empty_last_cell_leaves_no_spaces() -> None:
    """What is copied from a table ends with its words."""
    style = TableStyle(left=(0, 1))
    shown = text_table(["name", "why"], [("one", ""), ("two", "late")], style=style)
    assert shown == "  name  why\n  one\n  two   late"


def test_in_a_window_wide_letters_count_twice() -> None:
    """So that columns line up where they are seen."""
    assert text_table(["", "used"], [["money", "1"], ["火火火", "2"]], 40) == (
        "          used\n  money      1\n  火火火     2"
    )


def test_a_long_last_column_goes_on_below_its_own_beginning() -> None:
    """To the left, as words are read."""
    rows = [["ana", "1", "too many at once, and then some more of them"], ["ben", "12", "ignored"]]
    assert text_table(HEADER, rows, 40) == (
        "  name  count  why\n"
        "  ana       1  too many at once, and\n"
        "               then some more of them\n"
        "  ben      12  ignored"
    )


def test_a_cell_wider_than_its_column_pushes_the_rest_of_its_row() -> None:
    """Where such rows are few; else each row stands below its name."""
    rows = [["ana", "1", "yes"], ["ben", "2", "no"], ["a-name-without-end", "3", "no"]]
    assert text_table(HEADER, rows, 24, WORDS) == (
        "  name  count  why\n  ana       1  yes\n  ben       2  no\n  a-name-without-end\n            3  no"
    )
    assert text_table(HEADER, rows[1:] + rows[2:], 24, WORDS) == "\n".join(
        ["  ben\n      count 2, why no", *["  a-name-without-end\n      count 3, why no"] * 2]
    )


def test_a_name_that_no_line_holds_is_broken_behind_its_colon() -> None:
    """An empty cell says nothing, and its column is not named."""
    assert text_table(HEADER, [["instructions:conversation", "3", ""]], 20) == (
        "  instructions:\n  conversation\n      count 3"
    )


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=6), st.integers(40, 120))
def test_nothing_is_lost_and_nothing_is_wider_than_the_window(rows: list[tuple[str, str, str]], width: int) -> None:
    """Whatever the cells hold: each of their words stands there whole."""
    table = text_table(HEADER, rows, width)
    assert max(map(display_width, table.split("\n"))) <= width
    shown = re.sub(r"\s|,", " ", table).split()
    for row in rows:
        for word in " ".join(row).split():
            assert word in shown
