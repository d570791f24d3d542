"""A reply that collapses is ended while it is written; what people say, in any script, is not."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.processors.reply_guard import (
    COPIES,
    KNOWN_REPLIES,
    LOOPS,
    NO_WORDS,
    ONE_PARAGRAPH,
    SCRAPS,
    ReplyGuard,
    last_replies,
)
from familiar_connect.llm.types import Message

KETTLE = "I am a small fire sprite, and I live in a tea kettle."


def guard_text(text: str, earlier: Sequence[str] | None = None, *, by_sentence: bool = False) -> tuple[str, str | None]:
    """What is shown of *text*, written word by word, and what is wrong with it."""
    guard, shown = ReplyGuard(earlier, by_sentence=by_sentence), ""
    for piece in re.findall(r"\s*\S+|\s+", text):
        shown += guard.feed(piece)
    return shown + guard.close(), guard.fault


@pytest.mark.parametrize(
    "text",
    [
        "the red dragon " * 9,
        "The Red Dragon. " * 9,
        "I do not know. I do not know. I do not know. I do not know. I do not know.",
        "no " * 30,
        "ответ такой " * 12,
        "これはペンです。" * 8,
        "-" * 200,
        "Yes. " + "=-" * 40,
        "and then she said that it was late\n" * 6,
    ],
)
def test_words_over_and_over_end_the_reply(text: str) -> None:
    """Whatever the script; the reader sees the beginning at most."""
    shown, fault = guard_text(text)

    assert fault == LOOPS
    assert len(shown) <= len(text) / 2


@pytest.mark.parametrize("text", ["|||||||", "| | | | | | | |", "~~~~ ~~~~ ~~~~", "{}[]{}[]<>/\\{}[]", "____"])
def test_signs_without_words_are_no_reply(text: str) -> None:
    """Nothing of it is shown."""
    assert guard_text(text) == ("", NO_WORDS)


@pytest.mark.parametrize(
    "text",
    [
        "Hello there!",
        "...",
        "?!",
        ":-)",
        "¯\\_(ツ)_/¯",
        "🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉",
        "hahahahahahahahahaha",
        "ha ha ha ha ha",
        "Nooooooooooooooooo",
        "哈哈哈哈哈哈哈哈",
        "ฉันชอบดื่มชาตอนเช้ากับเพื่อนของฉัน",
        "Row, row, row your boat, gently down the stream. Merrily, merrily, merrily, merrily, life is but a dream.",
        "I like tea. I like tea. And coffee, too, if anybody asks.",
        "| name | age |\n|---|---|\n| Ada | 36 |\n| Ben | 41 |",
        "```\n+--+--+\n|  |  |\n+--+--+\n```",
        "1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
        "Chapter one\n----------------------\nIt was late.",
    ],
)
def test_what_people_write_is_shown_whole(text: str) -> None:
    """Faces, laughter, songs, tables, drawings in a frame of code, lists of numbers."""
    assert guard_text(text) == (text, None)


@pytest.mark.parametrize("line", ["|", "| |", "---", "|---|---|", "* * *"])
def test_a_table_of_nothing_ends_the_reply_before_it(line: str) -> None:
    """Nothing of it is shown; one line between two parts, or two, are."""
    assert guard_text(f"So it is spelt:\n{line}\n{line}\n{line}\n{line}") == ("So it is spelt:", LOOPS)
    parted = f"The first part.\n\n{line}\n\nThe second part.\n{line}\n{line}\nThe end."
    assert guard_text(parted) == (parted, None)


@pytest.mark.parametrize(
    "scrap", ["<meme>", "</s_end>", "A: I am a pirate.", "| F: How late is it?", "[2026-11-18 17:14]"]
)
def test_a_small_model_shows_no_scraps_of_what_it_once_read(scrap: str) -> None:
    """The reply ends before them, and is asked for again where it begins so; a larger model may mean them."""
    assert guard_text(f"The sea is blue.\n{scrap}\nMore.", []) == ("The sea is blue.", None)
    assert guard_text(f"{scrap}\nThe sea is blue.", []) == ("", SCRAPS)
    assert guard_text(f"The sea is blue.\n{scrap}", None) == (f"The sea is blue.\n{scrap}", None)


def test_a_sentence_of_an_earlier_reply_ends_a_small_models_reply() -> None:
    """What is new before it is shown; a reply that begins with it is asked for again; short ones may come again."""
    earlier = ["It is a book called The Tea and the Rain. I like it."]
    copied = "It is a book called the Tea and the Rain!"

    assert guard_text(f"Good evening, dear friend of mine. {copied} And more.", earlier, by_sentence=True) == (
        "Good evening, dear friend of mine.",
        None,
    )
    assert guard_text(f"{copied} And this here is quite new to you.", earlier, by_sentence=True) == ("", COPIES)
    assert guard_text(f"You are my friend. {copied}", [*earlier, "You are my friend."], by_sentence=True) == (
        "",
        COPIES,
    )
    fresh = "I like it. It is a boat that sails to the sea at night. I like it."
    assert guard_text(fresh, earlier, by_sentence=True) == (fresh, None)
    assert guard_text(f"{copied} And this here is quite new to you.", earlier)[1] is None


@pytest.mark.parametrize("size", [1, 4, 9, 40])
def test_a_sentence_that_began_otherwise_is_not_torn_where_its_end_is_known(size: int) -> None:
    """The part that was shown would end within a word; the sentence behind it is compared as ever."""
    earlier = ["I'll go for a walk to the park and I'll keep the tea warm until the rain ends. You have good news!"]
    text = "Okay, let us go for a long walk and I'll keep the tea warm until the rain ends."
    pieces = [f"{text} You have good news! Bye."[at : at + size] for at in range(0, len(text) + 26, size)]
    guard = ReplyGuard(earlier, by_sentence=True)

    assert ("".join(map(guard.feed, pieces)) + guard.close()).rstrip() == text
    assert (guard.fault, guard.end_reason) == (None, COPIES)


def test_an_earlier_reply_is_not_said_again() -> None:
    """Nearly the same is the same, too; what only begins so is shown as soon as it differs."""
    assert guard_text(KETTLE, [KETTLE]) == ("", COPIES)
    assert guard_text(KETTLE.replace("tea", "copper"), ["Hm.", KETTLE, "Yes."]) == ("", COPIES)
    assert guard_text(f"Well! {KETTLE}", ["Hm.", KETTLE, "Yes."]) == ("", COPIES)
    other = "I am a small fire sprite, and you are a person who asks a lot."
    assert guard_text(other, [KETTLE]) == (other, None)


def test_short_replies_are_not_said_again_either_but_the_shortest_come_back_later() -> None:
    """People say yes more than once."""
    assert guard_text("Oh, how nice of you!", ["Oh, how nice of you!", "Hm."]) == ("", COPIES)
    assert guard_text("Oh, how nice of him!", ["Oh, how nice of you!", "Hm."]) == ("Oh, how nice of him!", None)
    assert guard_text("Yes.", ["Yes."]) == ("", COPIES)
    assert guard_text("Yes.", ["Yes.", "No, never."]) == ("Yes.", None)


def test_the_first_words_are_held_back_only_where_replies_are_compared() -> None:
    """An ordinary model is shown from its first word on."""
    assert ReplyGuard().feed("Good") == "Good"
    held = ReplyGuard(["How nice to see you."])
    pieces = ("How", " nice", " of", " you", " to come", " over", " today")
    assert [held.feed(piece) for piece in pieces] == ["", "", "", "", "How nice of you to come", " over", " today"]


@pytest.mark.parametrize(
    "mark", ["<end message>", "<end_of_text>", "</end>", "<EOS>", "<end of reply>", "<end of this; all told>"]
)
def test_a_model_that_writes_that_its_turn_is_over_is_taken_at_its_word(mark: str) -> None:
    """Nothing after it is shown, however the mark is cut into pieces."""
    guard = ReplyGuard()
    pieces = (f"Sleep well, my friend.\n{mark[:3]}", mark[3:], "\n[10:00] Ada: hi")
    shown = "".join(guard.feed(piece) for piece in pieces)

    assert (shown + guard.close(), guard.is_over, guard.fault) == ("Sleep well, my friend.", True, None)
    assert guard_text("a < b, List<int>, <3 and <endless> talk") == ("a < b, List<int>, <3 and <endless> talk", None)


def test_the_last_replies_of_a_prompt_are_compared_without_their_names() -> None:
    """The newest few of them."""
    said = [Message("system", "Be kind."), *(Message("assistant", f"[10:0{at}] Ember: reply {at}") for at in range(50))]

    assert last_replies(said) == [f"reply {at}" for at in range(50 - KNOWN_REPLIES, 50)]


def test_a_sentence_of_any_earlier_reply_ends_the_reply_before_it() -> None:
    """However long ago it was said; a few words may come again."""
    earlier = ["You have good news! So it goes.", *(f"This is the tale of {word}." for word in "abcdefgh")]

    assert guard_text("Sit down. You have good news! Tell me.", earlier, by_sentence=True)[0] == "Sit down."
    assert guard_text("You have good news!", earlier, by_sentence=True) == ("", COPIES)
    assert guard_text("The tea is hot. So it goes.", earlier, by_sentence=True)[0] == "The tea is hot. So it goes."
    asked = "I'm glad to see you're here. What's your name?"
    assert guard_text("Lena is kind. What's your name?", [asked], by_sentence=True)[0] == "Lena is kind."


@pytest.mark.parametrize("pieces", [("\n", "Hello, Sam.", "\nBut", " no."), ("\nHello,", " Sam.\nBut no.")])
def test_the_smallest_model_says_one_paragraph(pieces: tuple[str, ...]) -> None:
    """What it writes below is about something else."""
    guard = ReplyGuard((), one_paragraph=True)
    shown = "".join(guard.feed(piece) for piece in pieces)

    assert (shown.strip(), guard.is_over, guard.end_reason) == ("Hello, Sam.", True, ONE_PARAGRAPH)
    assert not guard.close()


PIECES = ("tea ", "the ", "red", "。", "猫", "| ", "\n", "- ", "No! ", "🎉", "ember, ")


@given(st.lists(st.sampled_from(PIECES), max_size=80))
def test_what_is_shown_is_always_how_the_reply_begins(pieces: list[str]) -> None:
    """Nothing is changed, moved or lost but the end; and all is shown where nothing is wrong."""
    guard = ReplyGuard(["tea the red No!"])
    shown = "".join(guard.feed(piece) for piece in pieces) + guard.close()

    assert "".join(pieces).startswith(shown)
    assert guard.fault is not None or shown == "".join(pieces)
