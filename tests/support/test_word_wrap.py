"""Streamed text is broken at words, whatever pieces it comes in."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.support.word_wrap import (
    ENDLESS,
    WordWrap,
    clip,
    columns_of,
    display_width,
    wrap_below,
    wrap_words,
)


def wrapped(text: str, width: int, pieces: int = 1, column: int = 0) -> str:
    wrap = WordWrap(lambda: width, column)
    step = max(1, len(text) // pieces)
    out = "".join(wrap.feed(text[i : i + step]) for i in range(0, len(text), step))
    return out + wrap.close()


def test_a_word_that_does_not_fit_goes_to_the_next_line() -> None:
    """The line is broken before the word, not inside it."""
    assert wrapped("the first time we met", 10) == "the first\ntime we\nmet"


def test_the_name_before_the_words_counts() -> None:
    """What stands in the line already leaves less room."""
    assert wrapped("hello there", 12, column=7) == "hello\nthere"


def test_a_word_longer_than_the_line_stays_whole() -> None:
    """An address is not torn; the terminal breaks it."""
    assert (
        wrapped("see https://example.org/a/very/long/path now", 12).count("https://example.org/a/very/long/path") == 1
    )


def test_lines_of_the_text_stay() -> None:
    """A line end in the reply is a line end on the screen."""
    assert wrapped("one\ntwo", 80) == "one\ntwo"


def test_where_there_is_room_a_word_is_shown_as_it_comes() -> None:
    """Only near the edge is a word held back until it is whole."""
    wrap = WordWrap(lambda: 40)

    assert wrap.feed("Once") == "Once"
    assert wrap.feed(" upon a time there was") == " upon a time there"
    assert wrap.close() == " was"


def test_a_broken_line_goes_on_below_its_beginning() -> None:
    """Below the words of a list item, not below its mark; below the indent of an indented line."""
    assert wrap_words("- one two three", 9) == "- one two\n  three"
    assert wrap_words("  one two three", 9) == "  one two\n  three"
    assert wrap_words("10. one two", 8) == "10. one\n    two"
    assert wrap_words("one two three", 8) == "one two\nthree"


def test_a_word_that_only_fits_without_the_indent_goes_to_the_edge() -> None:
    """Broken anywhere it could not be read; one that no line holds begins where it stands."""
    assert wrap_words("   one three-four", 11) == "   one\nthree-four"
    assert wrap_words("   one three-and-four", 11) == "   one three-and-four"


def test_styles_and_marks_take_no_room() -> None:
    """What only colours a word does not push it to the next line."""
    assert display_width("\x1b[3mwaves\x1b[23m") == 5
    assert display_width("é❤️") == display_width("éx")
    assert wrap_words("\x1b[1mone\x1b[22m two", 7) == "\x1b[1mone\x1b[22m two"


def test_code_is_not_broken() -> None:
    """A line of code stays a line, so that it can be copied."""
    wrap = WordWrap(lambda: 10)

    shown = wrap.feed("see\n") + wrap.feed_verbatim("for each in everything:\n") + wrap.feed("done") + wrap.close()
    assert shown == "see\nfor each in everything:\ndone"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (40, "For better talk:\n`familiar model get small-1b` (1 MB).\nThen go on."),
        (24, "For better talk:\n`familiar model get small-1b`\n(1 MB).\nThen go on."),
        (99, "For better talk: `familiar model get small-1b` (1 MB).\nThen go on."),
    ],
)
def test_a_command_between_backticks_is_not_broken(width: int, shown: str) -> None:
    """It goes to the next line as a whole, and has one of its own where it is too long for any."""
    assert wrap_words("For better talk: `familiar model get small-1b` (1 MB).\nThen go on.", width) == shown


def test_a_lone_backtick_holds_nothing_together() -> None:
    """Nor do two on different lines."""
    assert wrap_words("one ` two\nthree ` four", 6) == "one `\ntwo\nthree\n` four"


texts = st.lists(st.text(st.sampled_from("ab漢é-1.\n"), max_size=9), max_size=30).map(" ".join)


@given(texts, st.integers(24, 60), st.integers(1, 20))
def test_pieces_make_no_difference(text: str, width: int, pieces: int) -> None:
    """Streamed or at once, the screen looks the same; no word is lost and no line too long."""
    streamed = wrapped(text, width, pieces)

    assert streamed == wrapped(text, width)
    assert streamed.split() == text.split()
    assert all(display_width(line) <= width for line in streamed.split("\n"))


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (99, "✓ disk      free some space, or look at `familiar doctor`"),
        (40, "✓ disk      free some space, or look at\n            `familiar doctor`"),
        (34, "✓ disk      free some space, or\n  look at `familiar doctor`"),
        (18, "✓ disk      free\nsome space, or\nlook at\n`familiar doctor`"),
    ],
)
def test_what_stands_behind_a_name_goes_on_below_itself(width: int, shown: str) -> None:
    """Where it leaves room enough, else below the name, else at the edge; no command is broken for it."""
    assert wrap_below("✓ disk      ", "free some space, or look at `familiar doctor`", width) == shown


@given(text=st.text(alphabet="ab `\n", max_size=60), head=st.text(alphabet="x ", max_size=12), width=st.integers(1, 60))
def test_no_word_is_lost_below_a_name(text: str, head: str, width: int) -> None:
    """Whatever the window."""
    assert wrap_below(head, text, width).split() == (head + text).split()


def test_the_window_of_a_stream_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where output goes into a file and what is said about it to the terminal; a file has no edge."""
    monkeypatch.delenv("COLUMNS", raising=False)
    termios = pytest.importorskip("termios")
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, (20, 33))
    with open(slave, "w", encoding="utf-8") as terminal, open(os.devnull, "w", encoding="utf-8") as file:
        assert columns_of(terminal) == 33
        assert columns_of(file) == ENDLESS
    os.close(master)


def test_what_is_clipped_takes_no_more_than_its_columns() -> None:
    """Wide letters count twice."""
    assert clip("a fire", 6) == "a fire"
    assert clip("a fire", 5) == "a fi…"
    assert clip("火火火", 4) == "火…"
