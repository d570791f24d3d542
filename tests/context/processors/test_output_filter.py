"""What a model should not have written is taken away."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.processors.output_filter import OutputFilter, filter_output

OWN, OTHERS = ["Wren"], ["Ada", "_Bo_", "User"]


def cleaned(text: str) -> str:
    return filter_output(text, OWN, OTHERS)


@pytest.mark.parametrize(
    "text",
    [
        "Wren: hello",
        "wren: hello",
        "  Wren：hello",
        "**Wren:** hello",
        "*Wren*: hello",
        "[12:03] Wren: hello",
        "[9:03] hello",
        "[2026-11-18 15:34] hello",
        "[Wednesday, 2026-11-18, 15:34] Wren: hello",
        "(about 5 minutes later) hello",
        "(about 1 day later) Wren: hello",
        "Wren: Wren: hello",
        "\n\nhello\n",
    ],
)
def test_an_echoed_name_or_stamp_is_stripped(text: str) -> None:
    """Whatever marks stand around it."""
    assert cleaned(text) == "hello"


@pytest.mark.parametrize(
    "text",
    [
        "Hi.\nAda: what?",
        "Hi.\n\n**Ada:** what?",
        "Hi.\nbo: what?",
        "Hi.\n_Bo_: what?",
        "Hi. \n [12:04] Ada: what?",
        "Hi.\n(about 2 hours later) Ada: what?",
        "Hi.\nWren: Ada: what?",
        "Hi.\nUser：what?",
    ],
)
def test_everything_from_another_speaker_on_is_gone(text: str) -> None:
    """A model does not speak for the people it talks with."""
    assert cleaned(text) == "Hi."


@pytest.mark.parametrize(
    "text",
    [
        "Ada, listen: it rains.",
        "I told Ada: never again.",
        "Adam: a short story.",
        "Wrench: a tool.",
        "*smiles* hello",
        "(aside) hello",
        "[sings] la la",
        "At [10:30] we eat.\n[10:45] we rest.",
        "one\n\n  two\nthree",
        "Ada",
    ],
)
def test_honest_words_stay_as_they_are(text: str) -> None:
    """A name inside a sentence is no label, brackets are no stamp, layout is kept."""
    assert cleaned(text) == text


def test_words_after_an_own_label_keep_their_marks() -> None:
    """Only marks that close the label go with it."""
    assert cleaned("Wren: *smiles* hello") == "*smiles* hello"


def test_an_own_label_on_a_later_line_is_stripped() -> None:
    """The line itself stays."""
    assert cleaned("one\nWren: two") == "one\ntwo"


def test_a_reply_that_starts_as_someone_else_is_empty() -> None:
    """There is nothing of the familiar's in it."""
    assert cleaned("Ada: hello") == ""


def test_a_name_both_have_is_the_familiars() -> None:
    """Then it is an echo, not an impersonation."""
    assert filter_output("Wren: hello", ["Wren"], ["wren"]) == "hello"


def test_words_are_let_through_as_soon_as_they_are_sure() -> None:
    """Only what may still become a label or an end is held back."""
    stream = OutputFilter(OWN, OTHERS)

    assert [stream.feed(piece) for piece in ("W", "ell", ", then", "\n", "Ad", "am", " came \n", "Ada:", " hm")] == [
        "",
        "Well",
        ", then",
        "",
        "",
        "\nAdam",
        " came",
        "",
        "",
    ]
    assert (stream.ended, stream.close()) == (True, "")


def test_a_fresh_filter_knows_the_names_and_nothing_else() -> None:
    """For another attempt at the same reply."""
    used = OutputFilter(OWN, OTHERS)
    used.feed("Wr")

    assert used.fresh().feed("Wren: hello there") == "hello there"


NAMES = ["Wren", "Ada", "Bo", "_Bo_", "User", "A", "d", "W"]
MARKS = [":", "：", "*", "**", "_", " ", "\n", "\n\n", "\t", ".", "[", "("]
WORDS = ["hi", "ß", "é", "12", "[12:04]", "(about", "(about 5 minutes later)"]
fragments = st.sampled_from([*NAMES, *MARKS, *WORDS])
replies = st.lists(fragments, max_size=14).map("".join)


@given(replies, st.lists(st.integers(0, 60), max_size=8))
def test_streamed_in_any_pieces_it_is_the_same(text: str, cuts: list[int]) -> None:
    """Where the model happened to pause makes no difference."""
    marks = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    stream = OutputFilter(OWN, OTHERS)
    streamed = "".join(stream.feed(text[a:b]) for a, b in pairwise(marks)) + stream.close()

    assert streamed == cleaned(text)


@given(replies)
def test_nothing_is_ever_invented(text: str) -> None:
    """What comes out is part of what went in, in the same order, without white space around it."""
    out = cleaned(text)
    rest = iter(text)

    assert all(char in rest for char in out)
    assert out == out.strip()


@given(replies)
def test_no_line_of_another_speaker_ever_comes_out(text: str) -> None:
    """With a stamp before it or without, bold or plain."""
    theirs = re.compile(r"^\s*(\[\d\d:\d\d\]\s*)?[*_]*(ada|bo|user)[*_]*[:：]", re.IGNORECASE | re.MULTILINE)

    assert theirs.search(cleaned(text)) is None
