"""The judge of scripted talks finds replies that collapsed, and no others."""

from __future__ import annotations

from benchmarks.collapse import judge

TALE = "I am a small fire sprite, and I live in a tea kettle by the sea."


def test_each_fault_is_counted() -> None:
    """Nearly the same reply, scraps of a template, a table of nothing, and no reply at all."""
    replies = [TALE, "Hm.", TALE.replace("sea", "lake"), "Sure. <system_end>", "Ada: I say this.", "|||| ----", ""]

    assert judge(replies) == {"said again": 1, "markup": 2, "mostly not words": 1, "no reply": 1}


def test_a_sentence_that_comes_again_is_counted_wherever_it_stood() -> None:
    """A stock sentence, however long ago; a few words are nobody's stock."""
    others = [f"Here I tell of thing {word}." for word in ("one", "two", "three", "four", "five", "six")]

    assert judge(["I am glad you came. So it is.", *others, "Well! I am glad you came.", "So it is."]) == {
        "a sentence twice": 1
    }


def test_ordinary_talk_is_fine() -> None:
    """Short words may come again, and old ones later; who is asked to count says numbers."""
    others = [f"That is thing number {word} of all." for word in ("one", "two", "three", "four", "five", "six")]

    assert not judge(
        ["Yes.", "Yes.", TALE, *others, TALE.replace("sea", "bay"), "I said: no!", "a < b", "1, 2, 3, 4, 5"]
    )
