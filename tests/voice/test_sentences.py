"""A reply becomes sentences that can be spoken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.voice.sentences import CODE_WORDS, MAX_SENTENCE_CHARS, SentenceCutter, make_speakable


def cut(text: str, size: int = 3) -> list[str]:
    cutter = SentenceCutter()
    done = [each for at in range(0, len(text), size) for each in cutter.feed(text[at : at + size])]
    return [*done, *cutter.finish()]


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("*She smiles.* **Hello** there!", "She smiles. Hello there!"),
        ("See [the map](https://a.b/c_(d)) or https://x.y/z now", "See the map or now"),
        ("Tea :teacup: <:tea:123> for <@42>, Ada 🍵", "Tea for , Ada"),
        ("# Title\n- one\n- two\n> quoted", "Title one two quoted"),
        ("Try `ls -l` now", "Try ls -l now"),
        ("```py\nprint(1)\n```", CODE_WORDS),
        ("a snake_case word and 5 * 3", "a snake_case word and 5 3"),
        ("<think>no</think> Yes", "no Yes"),
        ("£5 and 3 + 4 = 7, it's 1:30", "£5 and 3 + 4 = 7, it's 1:30"),
        ("🍵", ""),
        ("***", ""),
    ],
)
def test_markup_is_not_spoken(text: str, spoken: str) -> None:
    """Links, emoji, mentions, headings, emphasis and code."""
    assert make_speakable(text) == spoken


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Hello there. How are you? Fine", ["Hello there.", "How are you?", "Fine"]),
        ("Dr. Voss is in. She waits.", ["Dr. Voss is in.", "She waits."]),
        ("It costs 3.50 today. Good.", ["It costs 3.50 today.", "Good."]),
        ("One\nTwo", ["One", "Two"]),
        ("「行こう。」と言った。はい", ["「行こう。」", "と言った。", "はい"]),
        ("Look: ```x. y. z``` That is all.", ["Look:", CODE_WORDS, "That is all."]),
        ('"Go." She left.', ['"Go."', "She left."]),
    ],
)
def test_sentences_come_as_they_are_complete(text: str, sentences: list[str]) -> None:
    """Abbreviations and numbers end none, and a code block is one."""
    assert cut(text) == sentences


def test_a_sentence_without_an_end_is_spoken_in_pieces() -> None:
    """At a pause where there is one."""
    pieces = cut("well, " * 200)
    assert len(pieces) > 3
    assert all(len(each) <= MAX_SENTENCE_CHARS for each in pieces)
    assert "".join(pieces).replace(" ", "") == ("well, " * 200).replace(" ", "")


@given(st.text(alphabet=st.sampled_from("ab .,!?\n*_`<>:[]()1。🍵"), max_size=120), st.integers(1, 20))
def test_the_size_of_the_pieces_changes_nothing_but_where_a_pause_is(text: str, size: int) -> None:
    """The same letters are spoken, whole or piece by piece."""
    letters = [char for each in cut(text, size) for char in each if char in "ab1"]
    assert letters == [char for each in cut(text, 1) for char in each if char in "ab1"]
