"""A reply becomes sentences that can be spoken."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.voice.sentences import CODE_WORDS, MAX_SENTENCE_CHARS, SentenceCutter, make_speakable


def cut(text: str, size: int = 3) -> list[str]:
    return cut_pieces([text[at : at + size] for at in range(0, len(text), size)])


def cut_pieces(pieces: list[str]) -> list[str]:
    cutter = SentenceCutter()
    done = [each for piece in pieces for each in cutter.feed(piece)]
    return [*done, *cutter.finish()]


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("*She smiles.* **Hello** there!", "Hello there!"),
        ("That is *really* good, *she nods slowly*.", "That is really good."),
        ("See [the map](https://a.b/c_(d)) or https://x.y/z, now", "See the map or a link, now"),
        ("Look: <https://x.y/z>. Or www.x.org!", "Look: a link. Or a link!"),
        ("![a cat](https://a.b/c.png) and ![](https://a.b/c.png)", "a cat and a link"),
        ("Tea :teacup: <:tea:123> <a:tea:5> for <@42>, Ada 🍵", "Tea for, Ada"),
        ("See <#12> at <t:1700000000:R> :+1: :thumbs_up:", "See at"),
        ("👩‍🚀 Go 1️⃣ 🇩🇪 now", "Go 1 now"),
        ("# Title\n- one\n- two\n> > quoted\n- [x] done", "Title one two quoted done"),
        ("Title\n=====\nText\n---\nmore", "Title Text more"),
        ("| tea | price |\n|:---|---:|\n| green | 3.50 |", "tea, price green, 3.50"),
        ("tea | price\n--- | ---\ngreen | 3", "tea, price green, 3"),
        ("Try `ls -l` now", "Try ls -l now"),
        ("```py\nprint(1)\n```", CODE_WORDS),
        ("~~~\nprint(1)\n~~~", CODE_WORDS),
        ("a snake_case word and 5 * 3", "a snake_case word and 5 times 3"),
        ("It is 25°C, 2^3, #1", "It is 25 degrees Celsius, 2 to the power of 3, number 1"),
        ("<b>no</b> Yes<br/>", "no Yes"),
        ("So it is.[^1] :) xD", "So it is."),
        ("£5 and 3 + 4 = 7, it's 1:30", "£5 and 3 + 4 = 7, it's 1:30"),
        ("🍵", ""),
        ("***", ""),
    ],
)
def test_markup_is_not_spoken(text: str, spoken: str) -> None:
    """Actions, links, emoji, mentions, headings, tables, emphasis and code."""
    assert make_speakable(text) == spoken


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Hello there. How are you? Fine", ["Hello there.", "How are you?", "Fine"]),
        ("Dr. Voss is in. She waits.", ["Dr. Voss is in.", "She waits."]),
        ("It costs 3.50 today. Good.", ["It costs 3.50 today.", "Good."]),
        ("It was 1990. She left.", ["It was 1990.", "She left."]),
        ("No. I will not. See No. 5 for more.", ["No.", "I will not.", "See No. 5 for more."]),
        ("At 5 p.m. we eat, e.g. Bread. Tea etc. At once.", ["At 5 p.m. we eat, e.g. Bread.", "Tea etc.", "At once."]),
        ("One\nTwo", ["One", "Two"]),
        ("1. First\n2. Second. Third", ["First", "Second.", "Third"]),
        ("She had 2. - 3) was mine.", ["She had 2. - 3) was mine."]),
        ("「行こう。」と言った。はい！そう", ["「行こう。」", "と言った。", "はい！", "そう"]),
        ("見て https://x.y/z。はい", ["見て a link。", "はい"]),
        ("Look: ```x. y. z``` That is all.", ["Look:", CODE_WORDS, "That is all."]),
        ("````\n```\nx. y\n```\n```` Done. ", [CODE_WORDS, "Done."]),
        ("Never closed: ```x. y. z``", ["Never closed:", CODE_WORDS]),
        ('"Go." She left.', ['"Go."', "She left."]),
        ("*She smiles. She waits.* Hello. *nods*", ["Hello."]),
        ("See [a. b](https://x.y/z). Next.", ["See a. b.", "Next."]),
        ("Read https://x.y/z.html. Next.", ["Read a link.", "Next."]),
        ("Hi :wave: there. <:hm:1> Yes", ["Hi there.", "Yes"]),
        ("| a. b | c |\n|---|---|\n| d. e | f |\n", ["a. b, c", "d. e, f"]),
        ("*waves slowly*", ["waves slowly"]),
        ("**Bold. Text** more.", ["Bold.", "Text more."]),
    ],
)
def test_sentences_come_as_they_are_complete(text: str, sentences: list[str]) -> None:
    """Abbreviations, numbers, links and actions end none, and a code block is one."""
    assert cut(text) == sentences
    assert cut_pieces([text]) == sentences


def test_a_sentence_comes_as_soon_as_it_has_ended() -> None:
    """The blank after it is enough, and code is named when it begins."""
    cutter = SentenceCutter()
    assert cutter.feed("Hello there.") == []
    assert cutter.feed(" ") == ["Hello there."]
    assert cutter.feed("Look: ```py\n") == ["Look:", CODE_WORDS]
    assert cutter.feed("x = 1. \ny = 2. \n" * 1_000) == []
    assert cutter.feed("``` Fine. ") == ["Fine."]


def test_a_sentence_without_an_end_is_spoken_in_pieces() -> None:
    """At a pause where there is one."""
    pieces = cut("well, " * 200)
    assert len(pieces) > 3
    assert all(len(each) <= MAX_SENTENCE_CHARS for each in pieces)
    assert "".join(pieces).replace(" ", "") == ("well, " * 200).replace(" ", "")
    assert "".join(cut("字" * 1_000)) == "字" * 1_000


@given(st.text(alphabet=st.sampled_from("ab .,!?\n*_`<>:[]()1。🍵|#~-wh/"), max_size=160), st.data())
def test_the_pieces_a_text_comes_in_change_nothing(text: str, data: st.DataObject) -> None:
    """Whatever it is cut into, the same sentences are spoken."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert cut_pieces(pieces) == cut(text, 1) == cut_pieces([text])


WORDS = st.lists(
    st.sampled_from(["soup", "tea", "Ada", "Dr. Voss", "3.5", "U.S.", "über", "it's", "猫"]), min_size=1, max_size=8
)
MARKUP: list[tuple[str, str]] = [
    ("{}", "{}"),
    ("**{}**", "{}"),
    ("_{}_", "{}"),
    ("[{}](https://a.b/c_(d).html)", "{}"),
    ("`{}`", "{}"),
    ("<b>{}</b>", "{}"),
    ("{} :teacup:", "{}"),
    ("{} <:tea:123>", "{}"),
    ("{} 🍵👩‍🚀", "{}"),
    ("{} https://a.b/c?d=e#f", "{} a link"),
    ("\n# {}\n", "{}"),
    ("\n- {}\n", "{}"),
    ("\n> {}\n", "{}"),
    ("\n| {} |\n|---|\n", "{}"),
    ("{}\n```py\nx = 1\n```\n", "{} Some code."),
]


@given(
    st.lists(st.tuples(WORDS, st.sampled_from(MARKUP), st.sampled_from([" ", ". ", "! ", ", ", "\n"])), max_size=30),
    st.data(),
)
def test_every_word_is_spoken_once_and_in_order(
    parts: list[tuple[list[str], tuple[str, str], str]], data: st.DataObject
) -> None:
    """Whatever stands around it and wherever the stream is cut."""
    text = "".join(markup[0].format(" ".join(words)) + end for words, markup, end in parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    expected = " ".join(markup[1].format(" ".join(words)) for words, markup, _ in parts)
    assert letters(" ".join(cut_pieces(pieces))) == letters(expected)


def letters(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@given(st.text(max_size=200) | st.lists(st.sampled_from([m[0] for m in MARKUP])).map("".join))
def test_nothing_unspeakable_is_left(text: str) -> None:
    """Neither markup, pictures nor addresses, whatever comes in."""
    for sentence in cut(text, 5):
        assert not re.search(r"[*`~|\\]|https?://|<:\w+:\d+>|^\s|\s$|\s\s", sentence)
        assert not [char for char in sentence if unicodedata.category(char) in ("So", "Cf", "Cs", "Cn", "Co")]
        assert any(char.isalnum() for char in sentence)
