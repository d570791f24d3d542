"""Whether a name in a message is called, or only talked about."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.addressing import PARTS, read_lines
from benchmarks.addressing.vote import vote
from familiar_connect.conversation.addressing.judge import judge_address
from familiar_connect.conversation.buffer import is_direct_address
from familiar_connect.conversation.speak_decision import SpeakDecision

NAMES = ("Ember", "Em")
LEAST_RIGHT = {"open": 0.94, "held_back": 0.89}
"""Of each part, by rules alone: what was measured, rounded down."""


@pytest.mark.parametrize(
    "text",
    [
        "Ember, what time is it?",
        "what do you think, ember?",
        "good night ember",
        "EMBER STOP",
        "no ember, the other one",
        "tell us a story em",
        "I really think, Ember, that you should rest.",
        "Long day. The bus broke down. Ember, cheer me up",
        "was hältst du davon ember",
        "ember расскажи анекдот",
        "안녕 Ember!",
        "ok ember which of these is better",
        "und du Ember was isst du",
        "kiitos ember",
        "太感谢了Ember！",
        "I wonder, @Ember",
        "@Ember one",
    ],
)
def test_who_is_called_is_told_surely(text: str) -> None:
    """By a comma, a greeting, a command or a question with "you"."""
    address = judge_address(text, NAMES)

    assert address is not None
    assert (address.is_call, address.is_sure) == (True, True)


@pytest.mark.parametrize(
    "text",
    [
        "Ember said it was late",
        "that one is about Ember and her kettle, she told me",
        "the last ember of a cigarette",
        "Ember's answer was odd",
        "Jonas, does Ember remember things?",
        "Sam, stop teasing Ember",
        '"Ember, where is my hat?" is the best line',
        "Ember Jones is my favourite",
        "people here: Dave, Ember, Kit",
        "ich habe mit Ember geredet",
        "昨日Emberが言ってた",
        "frag doch einfach ember, die weiß das",
        "@carol did you see what they wrote ember",
    ],
)
def test_who_is_only_talked_about_is_told_surely(text: str) -> None:
    """By what is told, by articles, prepositions, possession, quotation or somebody else who is called."""
    address = judge_address(text, NAMES)

    assert address is not None
    assert (address.is_call, address.is_sure) == (False, True)


@pytest.mark.parametrize(
    ("text", "is_call"),
    [
        ("Ember, Lena and I voted for the blue one", False),
        ("sag mal ember wie spät ist es", True),
        ("good point ember had not thought of that", True),
        ("can u repeat that ember i was making tea", True),
    ],
)
def test_what_may_be_read_both_ways_is_put_to_the_vote(text: str, is_call: bool) -> None:
    """With a guess for whoever has no model to ask."""
    address = judge_address(text, NAMES)

    assert address is not None
    assert (address.is_call, address.is_sure) == (is_call, False)


def test_what_is_done_to_somebody_in_a_game_of_roles_is_perhaps_said_to_them() -> None:
    """A name in an action alone; in bold letters it is no action."""
    done, bold = judge_address("*hands Ember a cup* careful", NAMES), judge_address("**Ember** look", NAMES)

    assert done is not None
    assert (done.is_call, done.is_sure) == (True, False)
    assert bold is not None
    assert bold.is_sure


@pytest.mark.parametrize("part", PARTS)
def test_most_lines_of_people_are_told_rightly(part: str) -> None:
    """`python -m benchmarks.addressing` prints the same by its parts."""
    lines = read_lines(part)
    judged = [(judge_address(line.text, line.names), line.is_call) for line in lines]
    right = [(found is not None and found.is_call) == is_call for found, is_call in judged]
    sure = [is_right for (found, _), is_right in zip(judged, right, strict=True) if found is None or found.is_sure]

    assert sum(right) / len(lines) >= LEAST_RIGHT[part]
    assert sum(sure) / len(sure) >= 0.97


def test_votes_count_for_the_lines_that_are_not_sure() -> None:
    """Votes that are all right leave what the rules are wrongly sure of; wrong ones lose every line put to the vote."""
    lines = read_lines("held_back")
    judged = [judge_address(line.text, line.names) for line in lines]
    unsure = sum(found is not None and not found.is_sure for found in judged)
    best = vote(lines, lambda line: SpeakDecision(speak=line.is_call), count=len(lines))
    worst = vote(lines, lambda line: SpeakDecision(speak=not line.is_call), count=len(lines))

    assert [row.value for row in (best[0], best[1], worst[1])] == [f"{unsure} of {unsure}", "100.0%", "0.0%"]
    assert (best[-1].ok, worst[-1].ok) == (True, False)
    assert vote(lines, lambda _: SpeakDecision(speak=True), count=10)[0].value == f"10 of {unsure}"


@given(st.text(max_size=300), st.sampled_from(["Ember", "ミラ", "Old Tom", "نور"]))
def test_a_message_that_holds_a_name_is_judged_and_no_other(around: str, name: str) -> None:
    """The same messages as `is_direct_address` finds the name in, but for what no sentence of theirs shows."""
    for text in (around, f"{around} {name}", f"{name}{around}"):
        judged = judge_address(text, (name,))

        assert judged is None or is_direct_address(text, name, (), is_mention=False)


@pytest.mark.parametrize("text", ["Ember " * 2_000, "*" * 8_000 + "Ember", '"' * 8_000 + "Ember", "Ember," * 2_000])
def test_a_long_message_is_judged_at_once(text: str) -> None:
    """However its marks lie."""
    began = time.process_time()
    judge_address(text, NAMES)

    assert time.process_time() - began < 1.0
