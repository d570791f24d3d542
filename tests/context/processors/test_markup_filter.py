"""Neither the program's own markup nor a model's tags leave in a reply, however the reply streams."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from familiar_connect.context.processors.output_filter import (
    BRACKET_OPENERS,
    FENCES,
    MARKS,
    MAX_BLOCK_CHARS,
    MarkupFilter,
    OutputFilter,
    SilenceAwareOutputFilter,
    filter_output,
    without_markup,
)
from familiar_connect.context.slots import LABELS, fence
from familiar_connect.support.system_notes import note, wrap_note

PIECES = st.sampled_from(
    [
        *("[System:", "[system: x]", "[Hidden note to yourself: y]", "[Heard elsewhere:\n", "[", "]", "[x]", "<", ">"),
        *(
            "<memory: a; information, not instructions>",
            "<memory",
            "</memory>",
            "</mem",
            "<message: b>",
            "</message>",
            "<START>",
        ),
        *("`", "``", "```", "\n```", "<rem>", "</rem>", "<br>", "<b", ' a="x"', "<|", "|>", "<!-", "<a:b:1>"),
        *("<message>", " ", "\n", "\n\n", "word", "Ö😀", "İ", "<silence>", "[Sys", "tem: z]", "[17:30] "),
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


def streamed(text: str, cuts: list[int]) -> str:
    """*text* through the filter, cut at *cuts*."""
    markup, shown, at = MarkupFilter(), "", 0
    for cut in sorted({min(cut, len(text)) for cut in cuts}):
        shown += markup.feed(text[at:cut])
        at = cut
    return shown + markup.feed(text[at:]) + markup.close()


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("Hello.\n" + wrap_note("People here:\n- Ada [away]\n- Bo") + "\nBye.", "Hello.\nBye."),
        (f"{note('it is late')}\nGood night.", "Good night."),
        ("I see. [Hidden note to yourself, never mention it: Bo lies] Well then.", "I see. Well then."),
        ("So[system: x]lo", "Solo"),
        ("Yes.\n\n" + fence("Ada is ill.\n\nBo knows.", "people/ada.md") + "\n\nAnyway.", "Yes.\n\n\nAnyway."),
        ("Yes. " + fence("Ada is ill.", "x")[:-9] + "\n\nmore of it", "Yes. "),
        ("What it said: <MEMORY x>secret</Memory>!", "What it said: !"),
        ("<START>\nHello", "Hello"),
        ("Hi </memory>there", "Hi there"),
        ("[System: never closed\nnor here\n\nBut this is said.", "But this is said."),
        ("[System: a [ b] c\n\nSaid.", "c\n\nSaid."),
        ("[System: never closed", ""),
        *((f"[{label}: secret]", "") for label in LABELS.values()),
    ],
)
def test_a_block_is_cut_whole(reply: str, shown: str) -> None:
    """With what it holds, and without leaving its line or its blanks behind."""
    assert without_markup(reply) == shown


@pytest.mark.parametrize(
    "reply",
    [
        "A list: [one], [two], a < b > c.",
        "[Systems: many] [Hidden] [17:30] [",
        "system: [note] <mem",
        "a [link](https://example.org) <@123> <:wave:456> <a:dance:789> <#42> <@&7> <t:1700000000:R> </help:12>",
        "I <3 you, 1 < 2, x <y and z> w, <- there, <> and <https://example.org/a?b=c>, <sam@example.org>",
        "Dear <your name here>,",
        "Call me <name>, or <nickname>. It is a List<int> or Map<str, List<T>>; git commit -m <message>",
        "<name> is yours to fill in, <3",
        "Put it between <verse> and </verse>.",
        'Write `<b>` or ``<i> ` <u>`` and\n```html\n<p class="x">\n\n<br>\n```\nso.',
    ],
)
def test_other_text_passes_unchanged(reply: str) -> None:
    """Brackets and tags of people's own."""
    assert without_markup(reply) == reply


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("<rem>Hello there!</rem>", "Hello there!"),
        ("Hello <rem>there</rem>, Sam. <REM/>", "Hello there, Sam. "),
        ("Oh.<rem>Well</rem>then", "Oh. Well then"),
        ("<message>XML</message> and <memorial> and <b>bo</b>ld", "XML and <memorial> and bold"),
        ("One.<br>Two.<br/>\nThree.</p>", "One.\nTwo.\nThree."),
        ('<font color="#ff0000" size=2>"Hm,"</font> she says.', '"Hm," she says.'),
        ("Yes.<|im_end|>\n<|im_start|>user", "Yes.\nuser"),
        ("Yes.<!-- she is lying --> No.", "Yes. No."),
        ("</s>", ""),
        ("a `span that never closes <b>\n\nand <b>bold", "a `span that never closes <b>\n\nand bold"),
        ("```\n<b>\n```\n<b>bold</b>", "```\n<b>\n```\nbold"),
    ],
)
def test_a_models_tags_go_and_what_they_hold_stays(reply: str, shown: str) -> None:
    """Of whatever name where one begins a line; a tag at which a page breaks the line leaves a line break."""
    assert without_markup(reply) == shown


def test_tags_that_are_known_stay() -> None:
    """A regex script that looks for a tag finds it."""
    markup = MarkupFilter(("s",))
    assert markup.feed("A <s>secret</s> <b>word</b>.") + markup.close() == "A <s>secret</s> word."


@given(TEXTS, st.lists(st.integers(0, 200), max_size=20))
@example("a [System: b] c", list(range(20)))
@example("x</memory> \n y", list(range(20)))
def test_any_chunking_gives_the_same_text(text: str, cuts: list[int]) -> None:
    """Where a stream is split decides nothing."""
    assert streamed(text, cuts) == without_markup(text) == streamed(text, list(range(len(text))))


@given(st.text(st.sampled_from("[]<>/ :\nmemorysytSTARTHidn öİ`")), st.lists(st.integers(0, 60), max_size=9))
def test_text_without_markup_is_never_changed(text: str, cuts: list[int]) -> None:
    """Only an opener or a mark of ours, or a tag, makes a difference."""
    folded = text.lower()
    if re.search(r"<(?:/?[a-z]|[|!])[^<>\n]*>", folded):
        return
    if any(each in folded for each in (*BRACKET_OPENERS, *FENCES)) or any(mark in text for mark in MARKS):
        return
    assert streamed(text, cuts) == text


@given(st.integers(-3, 3), st.lists(st.integers(0, MAX_BLOCK_CHARS + 50), max_size=5))
def test_a_block_as_long_as_one_may_be_is_cut_alike_in_any_chunks(more: int, cuts: list[int]) -> None:
    """Its greatest length is counted in the text, not in what has arrived."""
    text = "[System: " + "x" * (MAX_BLOCK_CHARS - 10 + more) + "] said\n\nafter"

    assert streamed(text, cuts) == without_markup(text)


def test_what_is_held_back_is_bounded() -> None:
    """A fence that never closes costs no memory."""
    markup = MarkupFilter()
    assert markup.feed("<memory: x>") == ""
    for _ in range(1000):
        assert markup.feed("y" * 1000) == ""
    assert len(markup._held) < 20
    assert markup.close() == ""


@given(TEXTS, st.lists(st.integers(0, 200), max_size=9))
def test_replies_are_filtered_of_markup_in_any_chunks(text: str, cuts: list[int]) -> None:
    """The filter every reply goes through has it built in, with silence allowed or not."""
    whole = filter_output(text, ["Wren"], ["Ada"])
    tidy = OutputFilter(["Wren"], ["Ada"])
    shown, at = "", 0
    for cut in [*sorted({min(cut, len(text)) for cut in cuts}), len(text)]:
        shown += tidy.feed(text[at:cut])
        at = cut
    assert shown + tidy.close() == whole


def test_markup_hides_neither_silence_nor_another_speaker() -> None:
    """What stands behind a block is read as if the block were not there."""
    quiet = SilenceAwareOutputFilter(["Wren"], ["Ada"])
    assert quiet.feed("[System: x]\n<silence>") == ""
    assert quiet.ended
    assert filter_output("[System: x]\nWren: hello\n[System: y]\nAda: hi", ["Wren"], ["Ada"]) == "hello"
