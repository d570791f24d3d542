"""A reply as sendable pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.reply.chunks import pack_reply, split_reply_into_chunks

ANY_TEXT = st.text(alphabet=st.sampled_from("ab .!?…\n\té👨\u200d👩🇫🇷"), max_size=300)


def test_blank_text_has_no_pieces() -> None:
    """Nothing is sent for nothing."""
    assert split_reply_into_chunks(" \n\n \t", sentence_split_threshold=10) == []
    assert pack_reply("  \n ", limit=10) == []


def test_paragraphs_stand_alone_and_stripped() -> None:
    """Blank lines part a reply."""
    pieces = split_reply_into_chunks("  One.\n\n \nTwo.  ", sentence_split_threshold=400)

    assert pieces == ["One.", "Two."]


def test_a_long_paragraph_is_parted_after_its_sentences() -> None:
    """Full stops, marks and the ellipsis end a sentence; a short paragraph stays whole."""
    text = "First one. Second? Third! Fourth… fifth"

    assert split_reply_into_chunks(text, sentence_split_threshold=10) == [
        "First one.",
        "Second?",
        "Third!",
        "Fourth…",
        "fifth",
    ]
    assert split_reply_into_chunks(text, sentence_split_threshold=len(text)) == [text]


def test_a_piece_over_the_cap_breaks_at_its_last_space_else_hard() -> None:
    """Words stay whole where they can."""
    assert split_reply_into_chunks("aaa bbb ccc", sentence_split_threshold=400, hard_cap=8) == ["aaa bbb", "ccc"]
    assert split_reply_into_chunks("aaaaabbbbbcc", sentence_split_threshold=400, hard_cap=5) == ["aaaaa", "bbbbb", "cc"]


def test_the_cap_is_1900_unless_told_otherwise() -> None:
    """Below the limit of the platform most people use."""
    pieces = split_reply_into_chunks("x" * 2000, sentence_split_threshold=5000)

    assert [len(piece) for piece in pieces] == [1900, 100]


def test_a_family_of_emoji_is_not_torn_apart() -> None:
    """A hard break falls between what people see as letters."""
    family = "👨\u200d👩\u200d👧"

    pieces = split_reply_into_chunks(f"aaaa{family}", sentence_split_threshold=400, hard_cap=6)

    assert pieces[0] == "aaaa"


@given(ANY_TEXT, st.integers(1, 40), st.integers(1, 40))
def test_every_piece_fits_and_no_letter_is_lost(text: str, threshold: int, cap: int) -> None:
    """Only white space may go."""
    pieces = split_reply_into_chunks(text, sentence_split_threshold=threshold, hard_cap=cap)

    assert all(0 < len(piece) <= cap for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


@given(ANY_TEXT, st.integers(1, 60))
def test_packed_pieces_fit_and_lose_no_letter(text: str, limit: int) -> None:
    """With typing simulation off the limit still holds."""
    pieces = pack_reply(text, limit=limit)

    assert all(0 < len(piece) <= limit for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_a_reply_that_fits_is_sent_as_it_is() -> None:
    """A code block with blank lines and indentation stays whole."""
    text = "Look:\n\n```\ndef f():\n\n    return 1\n```"

    assert pack_reply(text, limit=2000) == [text]


def test_paragraphs_are_packed_together_while_they_fit() -> None:
    """As few messages as the limit allows."""
    assert pack_reply("aaaa\n\nbbbb\n\ncccc", limit=10) == ["aaaa\n\nbbbb", "cccc"]
