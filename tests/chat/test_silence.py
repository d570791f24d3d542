"""Silence as an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.silence import SILENCE, SilenceFilter
from familiar_connect.context.processors.output_filter import SilenceAwareOutputFilter


def shown(*pieces: str) -> tuple[str, bool]:
    filtered = SilenceFilter()
    text = "".join(filtered.feed(piece) for piece in pieces) + filtered.close()
    return text, filtered.silent


@pytest.mark.parametrize(
    "pieces",
    [("<silence>",), ("<", "sil", "ence", ">"), (" \n", "<Silence>", "\n"), ("**", "<SILENCE>**"), ('"<silence>"',)],
)
def test_the_mark_is_silence_however_it_comes(pieces: tuple[str, ...]) -> None:
    """In pieces, in any case, with quotes or stars around it."""
    assert shown(*pieces) == ("", True)


def test_words_after_the_mark_are_not_shown() -> None:
    """A model that explains its silence is silent all the same."""
    assert shown("<silence>", " I would rather listen.") == ("", True)


@pytest.mark.parametrize("text", ["Hello.", "<silent>", "<", "*smiles*", "", "a < b", "silence"])
def test_words_are_words(text: str) -> None:
    """What only looks a little like the mark is said."""
    assert shown(*text) == (text, False)


def test_a_mark_in_the_middle_of_words_is_taken_out() -> None:
    """Nobody ever sees it, however it was cut."""
    assert shown("Well. ", "<sil", "ence>", " Bye <") == ("Well.  Bye <", False)


@given(st.text(alphabet="<>silence xß", max_size=60), st.integers(1, 7))
def test_no_reply_ever_shows_the_mark(text: str, size: int) -> None:
    """Whatever is written, in pieces of any size; and the pieces make no difference."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    seen, silent = shown(*pieces)

    assert SILENCE not in seen.lower()
    assert silent is shown(text)[1]


def test_a_filter_that_tidies_ends_at_the_mark() -> None:
    """The model need not write on."""
    filtered = SilenceAwareOutputFilter(["Ember"], ["Ana"])

    assert filtered.feed("Ember: <sil") == ""
    assert not filtered.ended
    assert filtered.feed("ence>") == ""
    assert filtered.ended
    assert filtered.close() == ""
    assert not filtered.fresh().ended


def test_words_held_back_are_said_when_another_begins_to_speak() -> None:
    """They were the familiar's own."""
    filtered = SilenceAwareOutputFilter(["Ember"], ["Ana"])

    assert filtered.feed("Warm <\nAna: hi") == "Warm <"
    assert filtered.ended
