"""What gives way when room is short, and what never does."""

from __future__ import annotations

import time

import pytest

from familiar_connect.context.types import Layer
from familiar_connect.presets.sillytavern.assemble import assemble
from familiar_connect.presets.sillytavern.types import PromptTooLarge
from familiar_connect.presets.types import CardFields, ChatLine
from tests.fakes.sillytavern import assemble_prompt, bare, chat_lines, in_chat, inputs, node, texts

FRAME = 3
NODES = (node("main", "MAIN"), node("dialogueExamples"), node("chatHistory"))
CARD = CardFields(name="Rook", mes_example="Ada: e1\n<START>\nAda: e2\n<START>\nAda: e3")
CHAT = chat_lines("a", "b", "c", "d")


def fitted(words: int, **more: object) -> list[str]:
    return texts(assemble_prompt(*NODES, card=CARD, chat=CHAT, budget=words + FRAME, **more))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (8, ["MAIN", "e1", "e2", "e3", "a", "b", "c", "d"]),
        (7, ["MAIN", "e1", "e2", "a", "b", "c", "d"]),
        (5, ["MAIN", "a", "b", "c", "d"]),
        (3, ["MAIN", "c", "d"]),
        (1, ["MAIN"]),
    ],
    ids=str,
)
def test_examples_go_first_then_the_oldest_of_the_chat(words: int, expected: list[str]) -> None:
    """C70: the order in which things give way; the preset's prompts never do."""
    assert fitted(words) == expected


def test_pinned_examples_outlast_the_chat() -> None:
    """C70: then the chat takes what they leave."""
    assert fitted(5, pin_examples=True) == ["MAIN", "e1", "e2", "e3", "d"]


def test_a_block_of_examples_goes_whole() -> None:
    """A separator and its lines fit together or not at all, and the first that does not ends it."""
    card = CardFields(mes_example="Ada: one\nRook: two three four\n<START>\nAda: x")
    settings = bare(new_example_chat_prompt="[E]")

    assert texts(assemble_prompt(*NODES, card=card, settings=settings, budget=1 + 4 + FRAME)) == ["MAIN"]


def test_the_chat_stops_at_the_first_message_that_does_not_fit() -> None:
    """Nothing older is let in behind it, however short."""
    chat = chat_lines("a", "b b b b b", "c", "d")

    assert texts(assemble_prompt(*NODES, card=CardFields(), chat=chat, budget=4 + FRAME)) == ["MAIN", "c", "d"]


def test_texts_among_the_chat_give_way_as_the_chat_does() -> None:
    """An injection whose turn does not fit is dropped with everything older."""
    deep = in_chat("deep", "deep deep deep", depth=2)
    made = assemble_prompt(*NODES, deep, card=CardFields(), chat=CHAT, budget=4 + FRAME)

    assert texts(made) == ["MAIN", "c", "d"]
    assert {(note.layer, note.source) for note in made.dropped} == {
        (Layer.recent_history, "chat"),
        (Layer.depth_inject, "preset:P:deep"),
    }


def test_what_was_left_out_is_told() -> None:
    """Each cut is noted with its tokens."""
    made = assemble_prompt(*NODES, card=CARD, chat=CHAT, budget=3 + FRAME)

    assert [(note.layer, note.source, note.tokens_dropped, note.full) for note in made.dropped] == [
        (Layer.recent_history, "chat", 2, "window"),
        (Layer.examples, "card:mes_example", 3, "window"),
    ]


def test_separators_and_last_words_have_their_room_kept() -> None:
    """New chat, impersonation and continue nudge are paid before the chat is."""
    settings = bare(new_chat_prompt="[new]", impersonation_prompt="[be her]")
    made = assemble_prompt(
        *NODES, card=CardFields(), chat=CHAT, settings=settings, kind="impersonate", budget=5 + FRAME
    )

    assert texts(made) == ["MAIN", "[new]", "d", "[be her]"]


def test_what_must_be_sent_and_does_not_fit_refuses_the_turn() -> None:
    """C70: one sentence naming the preset, the prompt and the remedy; what stood by then is at hand."""
    nodes = (node("main", "MAIN"), node("extra", "far too many words for this"))

    with pytest.raises(PromptTooLarge) as caught:
        assemble(inputs(*nodes, card=CardFields(), budget=4 + FRAME))

    assert "preset 'P'" in str(caught.value)
    assert "'extra' does not fit" in str(caught.value)
    assert caught.value.built is not None
    assert texts(caught.value.built) == ["MAIN"]


def test_without_a_budget_nothing_is_counted() -> None:
    """No window, no cut, and the counter is never asked."""

    def never(_: object) -> int:
        raise AssertionError

    assert texts(assemble_prompt(*NODES, card=CardFields(), chat=CHAT, count=never)) == ["MAIN", "a", "b", "c", "d"]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [None, 500, 1_000_000])
def test_ten_thousand_lines_are_no_burden(budget: int | None) -> None:
    """Work grows with the chat, not with its square."""
    chat = tuple(ChatLine(name="N", text=f"{number} {{{{user}}}}", is_narrator=True) for number in range(10_000))
    nodes = (*NODES, *(in_chat(f"p{depth}", "p", depth=depth) for depth in range(0, 10_000, 100)))
    started = time.process_time()
    made = assemble_prompt(
        *nodes, card=CardFields(), chat=chat, budget=budget, settings=bare(squash_system_messages=True)
    )

    assert made.items[-1].text.endswith("9999 Ada\np")
    assert time.process_time() - started < 5
