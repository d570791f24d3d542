"""A reply's Markdown is shown as a terminal can, whatever pieces it comes in."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.platforms.terminal.markdown_stream import MarkdownFlow, MarkdownStream

MARKS = {
    "\x1b[3m": "<i>",
    "\x1b[23m": "</i>",
    "\x1b[1m": "<b>",
    "\x1b[22m": "</b>",
    "\x1b[36m": "<c>",
    "\x1b[39m": "</c>",
}


def render(text: str, *, styled: bool = True, step: int = 10_000) -> str:
    """The text as it is shown, its styles written as tags."""
    stream = MarkdownStream(styled)
    pieces = [piece for at in range(0, len(text), step) for piece in stream.feed(text[at : at + step])]
    shown = "".join(piece.text for piece in [*pieces, *stream.close()])
    return re.sub(r"\x1b\[\d+m", lambda found: MARKS[found[0]], shown)


@pytest.mark.parametrize(
    ("said", "styled", "plain"),
    [
        ("*waves* Hello!", "<i>waves</i> Hello!", "*waves* Hello!"),
        ('*"Hm," she says.* Yes.', '<i>"Hm," she says.</i> Yes.', '*"Hm," she says.* Yes.'),
        ("That is **very** good.", "That is <b>very</b> good.", "That is very good."),
        ("***Stop!***", "<b><i>Stop!</i></b>", "*Stop!*"),
        ("run `ls *.py` now", "run <c>ls *.py</c> now", "run `ls *.py` now"),
        ("- tea\n* milk\n+ sugar", "• tea\n• milk\n• sugar", "- tea\n- milk\n- sugar"),
        ("1. one\n2. two", "1. one\n2. two", "1. one\n2. two"),
        ("  - deep", "  • deep", "  - deep"),
        ("## A plan\nGo.", "<b>A plan</b>\nGo.", "A plan\nGo."),
        ("```py\nfor a in b:\n    a *= 2\n\n```\nDone.", "    for a in b:\n        a *= 2\n\nDone.", None),
        ("~~~\nx\n```\ny\n~~~", "    x\n    ```\n    y\n", None),
        ("5 * 3 = 15, a*b, 2**8, *.py and ****", "5 * 3 = 15, a*b, 2**8, *.py and ****", None),
        ("*smiles\nHello", "<i>smiles</i>\nHello", "*smiles\nHello"),
        (r"\*not an action\* C:\temp", r"*not an action* C:\temp", None),
        ("a * b\n*", "a * b\n*", None),
        ("#hashtag - no list", "#hashtag - no list", None),
    ],
)
def test_marks_become_styles_or_plain_text(said: str, styled: str, plain: str | None) -> None:
    """With styles the marks go; without, those that carry meaning stay."""
    assert render(said) == styled
    assert render(said, styled=False) == (styled if plain is None else plain)


texts = st.text(st.sampled_from("ab *`-#\n1.\\>~ "), max_size=60)


@given(texts, st.integers(1, 9), st.booleans())
def test_pieces_make_no_difference(text: str, step: int, styled: bool) -> None:
    """Streamed or at once, the same is shown."""
    assert render(text, styled=styled, step=step) == render(text, styled=styled)


@given(texts)
def test_every_style_ends_and_no_word_is_lost(text: str) -> None:
    """Only marks may go; what was switched on is switched off again."""
    shown = render(text)
    for on, off in (("<i>", "</i>"), ("<b>", "</b>"), ("<c>", "</c>")):
        assert shown.count(on) == shown.count(off)
    letters = re.sub(r"</?[ibc]>", "", shown)
    if "```" not in text and "~~~" not in text:
        assert re.sub(r"[^a1]", "", letters) == re.sub(r"[^a1]", "", text)


def test_words_come_as_they_are_said() -> None:
    """An action is shown while it is still being written; only a mark waits for the letter after it."""
    flow = MarkdownFlow(lambda: 80, styled=True)

    assert flow.feed("*wa") == "\x1b[3mwa"
    assert flow.feed("ves and") == "ves and"
    assert flow.feed("*") == ""
    assert flow.feed(" Hi") == "\x1b[23m Hi"


def test_list_items_hang_and_code_is_not_broken() -> None:
    """At forty columns."""
    text = "Two things:\n- the first one is rather long and goes on below\n```\na_function(with_many, arguments)\n```"
    flow = MarkdownFlow(lambda: 30, styled=False)

    assert flow.feed(text) + flow.close() == (
        "Two things:\n- the first one is rather long\n  and goes on below\n    a_function(with_many, arguments)\n"
    )
