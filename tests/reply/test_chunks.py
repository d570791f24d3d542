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


def fences(piece: str) -> int:
    return piece.count("```")


def test_a_code_block_is_one_paragraph_whatever_stands_in_it() -> None:
    """Blank lines and full stops of code part nothing."""
    code = "```py\nprint('a. b. c.')\n\n\nprint('d! e?')\n```"
    pieces = split_reply_into_chunks(f"Look.\n\n{code}\n\nNice?", sentence_split_threshold=5)

    assert pieces == ["Look.", code, "Nice?"]


def test_a_code_block_too_long_for_one_message_is_closed_and_opened_again() -> None:
    """After a line where it can, in the same language, its indentation kept."""
    lines = [f"    line{number:02}()" for number in range(12)]
    code = "\n".join(["```py", *lines, "```"])
    pieces = pack_reply(code, limit=80)

    assert len(pieces) > 1
    assert all(piece.startswith("```py\n") and piece.endswith("\n```") and len(piece) <= 80 for piece in pieces)
    assert [line for piece in pieces for line in piece.split("\n")[1:-1]] == lines


def test_words_before_a_code_block_go_ahead_so_that_it_stays_whole() -> None:
    """Where it fits a message of its own."""
    code = "```\n" + "x = 1\n" * 8 + "```"
    pieces = pack_reply(f"{'Some words here. ' * 3}\n{code}\nDone.", limit=70)

    assert code in [piece.removesuffix("\nDone.") for piece in pieces]


def test_a_block_nobody_closed_is_closed_where_it_is_cut() -> None:
    """And left open at its end, as it was."""
    pieces = pack_reply("```\n" + "\n".join(f"row {number}" for number in range(20)), limit=50)

    assert [fences(piece) for piece in pieces] == [2] * (len(pieces) - 1) + [1]


def test_sentences_of_one_paragraph_are_packed_as_one() -> None:
    """A long paragraph does not fall apart into many."""
    assert pack_reply("Aa aa. Bb bb. Cc cc.", limit=14) == ["Aa aa. Bb bb.", "Cc cc."]


PROSE = st.text(alphabet=st.sampled_from("ab .!?\n"), max_size=80)
CODE = st.text(alphabet=st.sampled_from("xy ;.\n"), max_size=200).map(lambda body: f"```py\n{body}\n```")


@given(st.lists(st.one_of(PROSE, CODE), max_size=8).map("\n".join), st.integers(30, 120), st.booleans())
def test_no_piece_ends_inside_a_code_block(text: str, limit: int, typed: bool) -> None:
    """Each closes what it opens; every letter is there once."""
    pieces = (
        split_reply_into_chunks(text, sentence_split_threshold=20, hard_cap=limit)
        if typed
        else pack_reply(text, limit=limit)
    )

    assert all(piece.strip() and len(piece) <= limit and fences(piece) % 2 == 0 for piece in pieces)
    bare = "".join("".join(pieces).replace("```py", "").replace("```", "").split())
    assert bare == "".join(text.replace("```py", "").replace("```", "").split())


LETTERS = (
    "e\u0301",
    "👨\u200d👩\u200d👧",
    "🇫🇷",
    "👍🏽",
    "नि",
    "क्ष",
    "กำ",
    "\u1112\u1161\u11ab",
    "x",
    "한",
    "1\ufe0f\u20e3",
)


@given(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=60), st.integers(8, 30))
def test_no_letter_is_torn_in_two(letters: list[str], limit: int) -> None:
    """Whatever people see as one letter stays in one piece."""
    pieces = pack_reply("".join(letters), limit=limit)

    ends = {0}
    for letter in letters:
        ends.add(max(ends) + len(letter))
    cuts = [sum(len(piece) for piece in pieces[: number + 1]) for number in range(len(pieces))]
    assert set(cuts) <= ends


LINK = "[the long way round](https://example.org/a/b?c=d)"


def test_no_cut_falls_inside_a_link_a_mention_an_emoji_or_inline_code() -> None:
    """Each stands whole in one message, however the words around it are cut."""
    for atom in (LINK, "<@123456789012345678>", "<:tea:123456789012345678>", "`a b. c d`", "https://example.org/x.y"):
        for before in range(1, 30):
            text = f"{'w ' * before}{atom} and more. And more words to cut."
            for pieces in (
                pack_reply(text, limit=55),
                split_reply_into_chunks(text, sentence_split_threshold=20, hard_cap=55),
            ):
                assert sum(atom in piece for piece in pieces) == 1, (atom, before, pieces)


def test_a_link_longer_than_a_message_is_torn_rather_than_lost() -> None:
    """Nothing is left out."""
    text = f"see https://example.org/{'x' * 120}"

    assert "".join("".join(pack_reply(text, limit=50)).split()) == "".join(text.split())


def test_italics_over_several_sentences_are_italics_in_each_piece() -> None:
    """As in a scene that is typed out sentence by sentence."""
    text = "*She walks over to the window. She sits down. **Rain.** It falls.* Then she speaks at last."
    pieces = split_reply_into_chunks(text, sentence_split_threshold=20, hard_cap=100)

    assert all(piece.count("*") % 2 == 0 for piece in pieces)
    assert pieces[:2] == ["*She walks over to the window.*", "*She sits down.*"]


def test_a_spoiler_parted_by_the_limit_stays_hidden() -> None:
    """On both sides of the cut."""
    text = f"||{'secret words ' * 10}end||"
    pieces = pack_reply(text, limit=80)

    assert len(pieces) > 1
    assert all(piece.startswith("||") and piece.endswith("||") and len(piece) <= 80 for piece in pieces)


def test_stars_that_are_no_emphasis_are_left_alone() -> None:
    """A list, a product, a lone star."""
    for text in ("* one thing. " * 12, "2 * 3 is six. " * 12, "*note the star. " + "More of it. " * 12):
        assert "*".join(text.split("*")).count("*") == "".join(pack_reply(text, limit=80)).count("*")


MARKED = st.lists(st.sampled_from(["aa", "b.", "*", "**", "~~", "||", LINK, "`x. y`", "\n\n", " "]), max_size=60).map(
    " ".join
)


@given(MARKED, st.integers(80, 140), st.booleans())
def test_marked_text_fits_and_keeps_its_words(text: str, limit: int, typed: bool) -> None:
    """Whatever is bold or hidden: no piece is too long, no word is lost, no link is torn."""
    pieces = (
        split_reply_into_chunks(text, sentence_split_threshold=20, hard_cap=limit)
        if typed
        else pack_reply(text, limit=limit)
    )

    assert all(0 < len(piece) <= limit for piece in pieces)
    assert sum(piece.count(LINK) for piece in pieces) == text.count(LINK)
    plain = "".join(letter for letter in "".join(pieces) if letter not in "*~| \n")
    assert plain == "".join(letter for letter in text if letter not in "*~| \n")
