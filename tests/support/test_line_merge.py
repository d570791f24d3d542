"""Two changes of one text are both kept where they touch different lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.maintenance.owner_edits import merge_lines

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "- tea", ""]), max_size=8).map(lambda lines: "\n".join(lines))


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        ("a\nB\nc\nd\n", "a\nb\nc\nD\n", "a\nB\nc\nD\n"),
        ("new\na\nb\nc\nd\n", "a\nb\nc\nd\nlast\n", "new\na\nb\nc\nd\nlast\n"),
        ("a\nc\nd\n", "a\nb\nc\nd\ne\n", "a\nc\nd\ne\n"),
        ("a\nB\nc\nd\n", "a\nB\nc\nd\n", "a\nB\nc\nd\n"),
        ("a\nB\nc\nd\n", "a\nb\nC\nd\n", "a\nB\nC\nd\n"),
    ],
)
def test_changes_of_different_lines_are_both_kept(one: str, other: str, merged: str) -> None:
    """Whoever came first."""
    assert merge_lines("a\nb\nc\nd\n", one, other) == merged
    assert merge_lines("a\nb\nc\nd\n", other, one) == merged


@pytest.mark.parametrize(
    ("one", "other"),
    [("a\nX\nc\n", "a\nY\nc\n"), ("a\nb\nc\nx\n", "a\nb\nc\ny\n"), ("a\nc\n", "a\nB\nc\n"), ("", "a\nB\nc\n")],
)
def test_two_changes_of_one_place_are_not_guessed_at(one: str, other: str) -> None:
    """Nothing is made up: whoever asked decides."""
    assert merge_lines("a\nb\nc\n", one, other) is None
    assert merge_lines("a\nb\nc\n", other, one) is None


@given(TEXTS, TEXTS)
def test_one_change_alone_is_itself(base: str, changed: str) -> None:
    """Where only one side changed anything, or both the same, that is the result."""
    assert merge_lines(base, changed, base) == changed
    assert merge_lines(base, base, changed) == changed
    assert merge_lines(base, changed, changed) == changed


@given(TEXTS, TEXTS, TEXTS)
def test_the_order_of_two_changes_does_not_matter(base: str, one: str, other: str) -> None:
    """Both ways round the same, or neither."""
    assert merge_lines(base, one, other) == merge_lines(base, other, one)


def test_a_text_too_long_to_compare_is_left_to_its_owner() -> None:
    """Rather than taking minutes."""
    base = "line\n" * 30_000

    assert merge_lines(base, "x\n" + base, base + "y\n") is None
