"""Terminal escapes are taken out of what a model wrote, whole or in pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.support.text import EscapeFilter, without_escapes

SEQUENCES = [
    "\x1b[31m",
    "\x1b[2J",
    "\x9b1;31m",
    "\x1b]0;owned\x07",
    "\x1b]52;c;cm0gLXJm\x1b\\",
    "\x9d8;;http://evil\x9c",
    "\x1bP+q544e\x1b\\",
    "\x1bc",
    "\x1b(B",
    "\x07",
    "\x08",
    "\x7f",
    "\x85",
]


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_sequence_leaves_nothing_behind(sequence: str) -> None:
    """Neither the character that begins it nor the letters that follow."""
    assert without_escapes(f"one{sequence}two\tthree\n") == "onetwo\tthree\n"


@given(
    st.lists(st.sampled_from([*SEQUENCES, "a", "é", " ", "\n", "[0m", "\x1b", "]", "\\", "\r\n"]), max_size=12),
    st.data(),
)
def test_pieces_give_what_the_whole_gives(parts: list[str], data: st.DataObject) -> None:
    """Wherever a stream is cut, and nothing that commands a terminal comes out."""
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    ends = [0, *cuts, len(text)]
    filter_ = EscapeFilter()
    out = "".join(filter_.feed(text[at:end]) for at, end in pairwise(ends)) + filter_.close()
    assert out == without_escapes(text)
    assert not set(out) & {"\x1b", "\x07", "\x9b", "\x9d", "\r"}


def test_a_sequence_without_an_end_does_not_swallow_the_reply() -> None:
    """After some thousand characters it is text that began oddly."""
    filter_ = EscapeFilter()
    out = filter_.feed("\x1b]0;") + "".join(filter_.feed("word " * 200) for _ in range(10)) + filter_.close()
    assert len(out) > 5_000
