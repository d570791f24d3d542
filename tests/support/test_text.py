"""Cutting text where it hurts least."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.support.text import (
    MOST,
    escape_controls,
    grapheme_boundary,
    last_sentence_end,
    one_line,
    printable,
    sentences,
    shorten_middle,
    truncate_chars,
)
from familiar_connect.support.tokens import estimate_tokens, truncate

prose = st.text(alphabet=st.sampled_from(list("ab .!?…。！？\n\"'éA\u0301👍🏽")), max_size=80)


def test_what_fits_stays_as_it_is() -> None:
    """White space and all."""
    assert truncate("  whole.  ", 10) == "  whole.  "


@pytest.mark.parametrize("mark", [".", "!", "?", "…", "。", "！", "？"])
def test_the_latest_sentence_end_of_any_kind_wins(mark: str) -> None:
    """A later end of another kind is not passed over for an earlier full stop."""
    text = f"One. Two goes{mark} on and on and on"

    assert truncate_chars(text, 16) == f"One. Two goes{mark}"


def test_without_a_sentence_end_the_last_whole_word_stays() -> None:
    """A word is not torn while there is a space to cut at."""
    assert truncate("alpha beta gamma", 3) == "alpha beta"


def test_a_word_that_ends_exactly_at_the_limit_stays() -> None:
    """The space after it belongs to nobody."""
    assert truncate_chars("alpha beta", 5) == "alpha"


def test_one_endless_word_is_sliced() -> None:
    """There is nothing better to cut at."""
    assert truncate("x" * 100, 5) == "x" * 20


def test_a_number_is_no_sentence_end() -> None:
    """A point inside a number is followed by no space."""
    assert truncate_chars("It is all done. 3.14159", 18) == "It is all done."


def test_a_mark_that_fits_counts_even_when_the_next_does_not() -> None:
    """A row of marks may be cut anywhere."""
    assert (truncate_chars("終。。。続く", 2), truncate_chars("Oh... well", 3)) == ("終。", "Oh.")


def test_a_closing_quote_belongs_to_its_sentence() -> None:
    """What was said is closed where it ends."""
    assert truncate_chars('She said "stop." Then she left the room', 20) == 'She said "stop."'


def test_a_hard_slice_keeps_a_grapheme_whole() -> None:
    """A skin tone, an accent or the second half of a flag is not torn off."""
    for cluster in ("👍🏽", "e\u0301", "🇳🇱", "👩\u200d💻"):
        assert truncate_chars("x" * 9 + cluster + "y" * 9, 10) == "x" * 9


def test_a_cluster_nobody_writes_is_cut_anyway() -> None:
    """A thousand accents on one letter do not make the text unbounded, or empty."""
    assert grapheme_boundary("a" + "\u0301" * 1000, 500) == 500


@given(prose, st.integers(0, 25))
def test_a_truncated_text_is_a_beginning_that_fits(text: str, limit: int) -> None:
    """It never grows, never invents, and stays within its tokens."""
    cut = truncate(text, limit)

    assert (text.startswith(cut), estimate_tokens(cut) <= limit) == (True, True)


def test_a_title_at_the_beginning_is_not_all_that_stays() -> None:
    """ "Dr." looks like a sentence end, and nothing after it has a full stop."""
    text = "Dr. Mira Voss\n" + "\n".join(
        f"- trait {number} of hers, told in a few plain words" for number in range(260)
    )
    cut = truncate(text, 500)

    assert (len(cut) >= 1600, cut.endswith("words")) == (True, True)


def _pages() -> st.SearchStrategy[str]:
    word = st.text(alphabet="abcdefgh", min_size=1, max_size=9)
    words = st.lists(word, min_size=1, max_size=8).map(" ".join)
    bullets = st.lists(words, min_size=1, max_size=60).map(lambda lines: "\n".join(f"- {line}" for line in lines))
    lists = st.lists(word, min_size=1, max_size=60).map(
        lambda items: "[Personality(" + " + ".join(f'"{w}"' for w in items) + ")]"
    )
    code = st.lists(words, min_size=1, max_size=40).map(
        lambda lines: "\n".join(f"    x['{w}'] = f({w!r})" for w in lines)
    )
    han = st.text(alphabet="猫は縁側で眠る、茶を飲む。「」", min_size=1, max_size=600)
    titled = st.tuples(st.sampled_from(["Dr. ", "St. ", "e.g. ", ""]), bullets).map("".join)
    return st.one_of(titled, bullets, lists, code, han, st.lists(st.one_of(bullets, han, code)).map("\n\n".join))


@given(_pages(), st.integers(1, 400))
def test_a_cut_keeps_at_least_most_of_its_limit(text: str, limit: int) -> None:
    """Bullets, W++ lists, code and scripts without spaces: none of them is lost for want of a full stop."""
    cut = truncate_chars(text, limit)

    assert len(cut) >= min(len(text), limit * MOST) - 1 - _blanks_before(text, limit)
    assert text.startswith(cut)


def _blanks_before(text: str, limit: int) -> int:
    """White space that a cut at *limit* leaves off."""
    return limit - len(text[:limit].rstrip())


@given(prose, st.integers(1, 60))
def test_no_later_sentence_end_would_have_fitted(text: str, limit: int) -> None:
    """The cut is at the latest end there is."""
    cut = truncate_chars(text, limit)
    ends = [m.end() for m in re.finditer(r"[。！？]|[.!?…](?=\s)", text) if m.end() <= limit]

    assert len(cut) >= max(ends, default=0) or len(text) <= limit


@pytest.mark.parametrize("text", ["." * 200_000 + "a", " " * 200_000 + "a", "a" + " " * 200_000 + "b", ".*" * 100_000])
def test_a_page_of_dots_costs_no_more_than_a_page_of_words(text: str) -> None:
    """Nothing that people post holds the event loop."""
    began = time.process_time()
    truncate_chars(text, 150_000)
    last_sentence_end(text)
    sentences(text)

    assert time.process_time() - began < 1.0


def test_a_reply_cut_short_ends_with_its_last_finished_sentence() -> None:
    """The unfinished one is left out."""
    assert last_sentence_end("Yes. I think so! And then") == "Yes. I think so!"


def test_a_reply_without_a_finished_sentence_stays() -> None:
    """Half a sentence is better than none."""
    assert last_sentence_end("and then") == "and then"


def test_a_long_text_loses_its_middle_and_says_how_much() -> None:
    """Beginning and end are what one needs to know what it was."""
    shown = shorten_middle("a" * 60 + "b" * 900 + "c" * 40, 100)

    assert (shown.startswith("a" * 60), shown.endswith("c" * 34), "900 characters left out" in shown) == (
        True,
        True,
        True,
    )


def test_a_short_text_keeps_its_middle() -> None:
    """Nothing is said about what is not missing."""
    assert shorten_middle("short", 100) == "short"


def test_sentences_and_the_unfinished_rest() -> None:
    """Each stripped, none blank."""
    assert sentences(" One. Two!  three ") == ["One.", "Two!", "three"]


def test_white_space_becomes_one_space() -> None:
    """A line is a line."""
    assert one_line(" a\n\n b\tc ") == "a b c"


def test_what_commands_a_terminal_is_taken_out_or_written_out() -> None:
    """Escapes, bells, eight-bit controls and marks that turn the line around; tabs and line ends stay."""
    text = "a\x1b[31mb\x07\x9bc\u202ed\te\r\nf"

    assert printable(text) == "a[31mbcd\te\nf"
    assert escape_controls(text) == "a\\u001b[31mb\\u0007\\u009bc\\u202ed\te\\u000d\nf"
