"""Kept contributions as a prompt, in both native orders."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.types import Directives, MessageIdMap, SimplifiedMessage, Turn
from familiar_connect.config.types import PromptOrder
from familiar_connect.context.budget import Budgeter
from familiar_connect.context.render import PENDING_CHARS, RenderOptions, assemble_chat_messages, native_prompt
from familiar_connect.context.types import (
    BudgetResult,
    ContextItem,
    Contribution,
    ItemTag,
    Layer,
    PendingTurn,
    PipelineOutput,
)
from tests.fakes.context import ADA, BO, PLENTY, a_dialogue, a_piece, a_request, an_output, contents, said

CLASSIC = RenderOptions(prompt_order=PromptOrder.classic)
DIALOGUE = a_dialogue(said("user", "Ada: one"), said("assistant", "two"), said("user", "Bo: three"))


def packed(*pieces: Contribution, **request: Any) -> PipelineOutput:
    """What assembly leaves of *pieces* when there is room for all."""
    return PipelineOutput(a_request(**request), Budgeter().fill(pieces, PLENTY))


def lines(output: PipelineOutput, **options: Any) -> list[str]:
    return contents(assemble_chat_messages(output, **options))[1:]


# The system message


def test_the_preamble_is_always_there_and_first() -> None:
    """It explains the speaker's name before each message."""
    messages = assemble_chat_messages(an_output())

    assert [m.role for m in messages] == ["system", "user"]
    assert "prefixed" in messages[0].content
    assert "speaker's name" in messages[0].content


def test_system_blocks_follow_in_the_order_of_their_slots() -> None:
    """One message, a blank line between them; an untagged block stands after its layer's last."""
    output = packed(
        a_piece("FOUND", tag=ItemTag.FOUND),
        a_piece("NOTE", Layer.author_note, tag=ItemTag.AUTHOR_NOTE),
        a_piece("EXTRA", Layer.character),
        a_piece("PERSONA", Layer.character, tag=ItemTag.PERSONA),
        a_piece("RULES", Layer.character, tag=ItemTag.RULES),
    )
    content = assemble_chat_messages(output)[0].content

    assert content.split("\n\n")[1:] == ["RULES", "PERSONA", "EXTRA", "NOTE", "FOUND"]


def test_a_summary_stands_in_a_label_on_top() -> None:
    """What a side model wrote is told, not ordered."""
    output = packed(a_piece("They met at sea.", Layer.history_summary, tag=ItemTag.SUMMARY))

    assert "[Earlier, in short: They met at sea.]" in assemble_chat_messages(output)[0].content


def test_stable_blocks_of_another_role_follow_the_system_message() -> None:
    """In classic order they stand at their index instead."""
    people = a_piece("who is here", Layer.scene, tag=ItemTag.PARTICIPANTS, role="user")
    sample = a_dialogue(
        ContextItem.of("user", "User: hi", tag=ItemTag.SAMPLE),
        ContextItem.of("assistant", "hm", tag=ItemTag.SAMPLE),
        layer=Layer.character,
        tag=ItemTag.SAMPLE,
    )
    summary = a_piece("sum", Layer.history_summary, tag=ItemTag.SUMMARY)
    output = packed(people, sample, summary)

    assert lines(output) == ["who is here", "User: hi", "hm", "Ada: hello"]
    assert lines(output, prompt_order=PromptOrder.classic) == [
        "who is here",
        "[Earlier, in short: sum]",
        "User: hi",
        "hm",
        "Ada: hello",
    ]


# The dialogue


def test_dialogue_comes_oldest_first_then_the_new_message() -> None:
    """A name stands before a user's words and beside them."""
    messages = assemble_chat_messages(packed(DIALOGUE))

    assert contents(messages)[1:] == ["Ada: one", "two", "Bo: three", "Ada: hello"]
    assert (messages[-1].role, messages[-1].name) == ("user", "Ada")


def test_a_text_only_history_is_one_message_at_the_head_of_the_dialogue() -> None:
    """Of its own role, and never part of the system message, even without a dialogue."""
    text = a_piece("what was said", Layer.recent_history)

    assert lines(packed(DIALOGUE, text)) == ["what was said", "Ada: one", "two", "Bo: three", "Ada: hello"]
    assert lines(packed(text)) == ["what was said", "Ada: hello"]
    assert assemble_chat_messages(packed(a_piece("u", Layer.recent_history, role="user")))[1].role == "user"


def test_every_pending_message_is_sent() -> None:
    """In order, each with its speaker; the utterance is not sent as well."""
    pending = (PendingTurn(BO, "wait"), PendingTurn(None, "psst"), PendingTurn(ADA, "hello"))

    assert lines(packed(pending_turns=pending)) == ["Bo: wait", "psst", "Ada: hello"]


def test_without_an_author_the_words_stand_bare() -> None:
    """There is no name to put before them."""
    message = assemble_chat_messages(packed(author=None))[-1]

    assert (message.content, message.name) == ("hello", None)


def test_nobody_saying_nothing_is_no_message() -> None:
    """Endpoints refuse empty messages; someone's silence still has a name."""
    assert lines(packed(DIALOGUE, author=None, utterance="")) == ["Ada: one", "two", "Bo: three"]
    assert lines(packed(utterance="")) == ["Ada: "]


def test_an_interruption_stands_before_the_new_messages() -> None:
    """As a system message of its own, even with nothing before it."""
    cut_off = "You were cut off."

    assert lines(packed(DIALOGUE, interruption_context=cut_off))[-2:] == [cut_off, "Ada: hello"]
    assert assemble_chat_messages(packed(interruption_context=cut_off))[1].role == "system"
    assert lines(packed(interruption_context="  ")) == ["Ada: hello"]


def test_a_turn_that_brings_its_messages_is_not_sent_twice() -> None:
    """What changes every turn stands before the first message of the exchange among them."""
    shown = SimplifiedMessage(id="1", author_id="1", author_name="Ada", author_type="user", content="hello")
    turn = Turn(familiar_id="wren", channel_id=7, said=(), messages=(shown,))
    items = [
        ContextItem(**{**vars(item), "history_id": at})
        for at, item in enumerate((said("user", "Ada: one"), said("assistant", "two"), said("user", "Ada: hello")))
    ]
    output = packed(a_dialogue(*items), a_piece("found", volatile=True), turn=turn, before_id=2)

    assert lines(output) == ["Ada: one", "two", "found", "Ada: hello"]


def test_an_enormous_new_message_is_shown_without_its_middle() -> None:
    """The history keeps all of it."""
    assert len(lines(packed(utterance="x" * 1_000_000))[0]) < PENDING_CHARS + 100


# What changes every turn


def test_volatile_blocks_stand_before_the_newest_exchange() -> None:
    """So that everything above stays the same; in classic order they keep their seat on top."""
    output = packed(DIALOGUE, a_piece("found", tag=ItemTag.FOUND, volatile=True), interruption_context="cut")

    assert lines(output) == ["Ada: one", "two", "Bo: three", "cut", "found\n\nAda: hello"]
    assert "found" in assemble_chat_messages(output, prompt_order=PromptOrder.classic)[0].content


def test_a_volatile_block_never_joins_the_stable_top() -> None:
    """Not even in the first prompt of a channel."""
    assert lines(packed(a_piece("found", volatile=True))) == ["found", "Ada: hello"]


def test_a_clock_without_a_depth_is_not_lost() -> None:
    """A block of the stream that names no depth stands before the newest exchange in either order."""
    now = a_piece("noon", Layer.scene, tag=ItemTag.NOW)

    for order in PromptOrder:
        assert lines(packed(DIALOGUE, now), prompt_order=order)[-2:] == ["noon", "Ada: hello"]


# Depth inject


def with_note(**options: Any) -> list[tuple[str, str]]:
    output = packed(DIALOGUE, a_piece(" think \n", Layer.depth_inject))
    return [(m.role, m.content) for m in assemble_chat_messages(output, **options)[1:]]


@pytest.mark.parametrize(("position", "index"), [(0, 4), (1, 4), (2, 3), (3, 2), (4, 1), (5, 1), (99, 1)])
def test_the_note_stands_so_many_messages_from_the_end(position: int, index: int) -> None:
    """Nought and one are both just before the last message; too far lands right after the system message."""
    output = packed(DIALOGUE, a_piece(" think \n", Layer.depth_inject))
    messages = assemble_chat_messages(output, depth_inject_position=position)

    assert [i for i, m in enumerate(messages) if m.content == "think"] == [index]


def test_the_note_has_the_configured_role() -> None:
    """System unless said otherwise."""
    assert ("system", "think") in with_note()
    assert ("user", "think") in with_note(depth_inject_role="user")


def test_the_note_never_joins_the_system_message() -> None:
    """With one message there is only one place: right before it."""
    assert lines(packed(a_piece("think", Layer.depth_inject))) == ["think", "Ada: hello"]


def test_several_notes_are_one_message() -> None:
    """The dearest first, a blank line between."""
    cheap = a_piece("cheap", Layer.depth_inject, priority=1)
    dear = a_piece("dear", Layer.depth_inject, priority=9, volatile=True)

    assert lines(packed(cheap, dear)) == ["dear\n\ncheap", "Ada: hello"]


# Depth


def at_depth(text: str, depth: int, **more: Any) -> Contribution:
    return a_piece(text, Layer.author_note, depth=depth, source=text, **more)


def test_depth_counts_the_turns_that_follow() -> None:
    """Low order first at equal depth; past the first turn it stands before the first; nought is the end."""
    output = packed(
        a_dialogue(said("user", "Ada: a"), said("assistant", "Fam: b")),
        at_depth("end note", 0),
        at_depth("x2", 1, order=200),
        at_depth("x1u", 1, order=50, role="user"),
        at_depth("x1s", 1, order=50),
        at_depth("far", 9),
        utterance="c",
    )

    assert lines(output) == ["far", "Ada: a", "Fam: b", "x1u", "x1s", "x2", "Ada: c", "end note"]


@pytest.mark.parametrize("order", list(PromptOrder))
@pytest.mark.parametrize("depth", [0, None])
def test_words_for_after_the_history_stand_last(order: PromptOrder, depth: int | None) -> None:
    """In both orders, behind the newest message and behind the hidden note."""
    post = a_piece("stay kind", Layer.character, tag=ItemTag.POST_HISTORY, depth=depth)
    output = packed(DIALOGUE, post, a_piece("think", Layer.depth_inject))

    assert lines(output, prompt_order=order)[-3:] == ["think", "Ada: hello", "stay kind"]


@given(
    st.integers(0, 6),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 2), st.sampled_from(["system", "user"])), max_size=5),
    st.sampled_from(list(PromptOrder)),
)
def test_exactly_so_many_turns_follow(turns: int, notes: list[tuple[int, int, str]], prompt_order: PromptOrder) -> None:
    """Or all of them, when there are fewer."""
    dialogue = a_dialogue(*(said("user", f"t{at}") for at in range(turns))) if turns else a_piece("")
    pieces = [at_depth(f"n{at}", depth, order=order, role=role) for at, (depth, order, role) in enumerate(notes)]
    items = native_prompt(packed(dialogue, *pieces), RenderOptions(prompt_order=prompt_order)).items

    for at, (depth, _, _) in enumerate(notes):
        index = next(i for i, item in enumerate(items) if item.text == f"n{at}")
        assert sum(item.tag is ItemTag.DIALOGUE for item in items[index:]) == min(depth, turns + 1)


# Every kept word, once


@st.composite
def worlds(draw: st.DrawFn) -> list[Contribution]:
    """Contributions of every kind, each with words of its own."""
    found = []
    for number in range(draw(st.integers(0, 9))):
        text = f"<{number}>"
        if draw(st.integers(0, 3)) == 0:
            items = tuple(said(draw(st.sampled_from(["user", "assistant"])), f"{text[:-1]}.{i}>") for i in range(3))
            found.append(a_dialogue(*items, layer=draw(st.sampled_from(list(Layer)))))
            continue
        found.append(
            a_piece(
                text,
                draw(st.sampled_from(list(Layer))),
                priority=draw(st.integers(0, 2)),
                tag=draw(st.none() | st.sampled_from(list(ItemTag))),
                role=draw(st.sampled_from(["system", "user", "assistant"])),
                depth=draw(st.none() | st.integers(0, 4)),
                volatile=draw(st.booleans()),
                source=text,
            )
        )
    return found


@given(worlds(), st.sampled_from(list(PromptOrder)), st.integers(0, 9))
def test_every_kept_word_is_sent_exactly_once(
    world: list[Contribution], prompt_order: PromptOrder, position: int
) -> None:
    """Whatever its layer, tag, role, depth or order: what was budgeted is what is sent."""
    output = packed(*world)
    sent = "\n".join(
        contents(assemble_chat_messages(output, prompt_order=prompt_order, depth_inject_position=position))
    )

    for piece in output.budget.kept:
        for text in [item.text for item in piece.items] or [piece.text]:
            assert sent.count(text) == 1


@given(worlds(), st.sampled_from(list(PromptOrder)))
def test_dialogue_and_notes_are_never_in_the_system_message(
    world: list[Contribution], prompt_order: PromptOrder
) -> None:
    """Nothing people said stands among the familiar's own rules."""
    output = packed(*world)
    top = assemble_chat_messages(output, prompt_order=prompt_order)[0].content
    inside = [c for c in output.budget.kept if c.layer in (Layer.recent_history, Layer.depth_inject)]

    assert not any(text in top for c in inside for text in ([i.text for i in c.items] or [c.text]))


@given(worlds(), st.randoms(use_true_random=False))
def test_among_equals_arrival_decides_and_nothing_else(world: list[Contribution], rng: random.Random) -> None:
    """The same parts give the same bytes; parts that differ in priority may come in any order."""
    ranked = [Contribution(**{**vars(c), "priority": rank}) for rank, c in enumerate(world)]
    shuffled = rng.sample(ranked, len(ranked))
    by_rank = [c for c in ranked if c.layer is not Layer.recent_history and c.depth is None]
    same = [c for c in shuffled if c.layer is not Layer.recent_history and c.depth is None]

    assert native_prompt(packed(*world)) == native_prompt(packed(*world))
    assert native_prompt(packed(*by_rank)).items == native_prompt(packed(*same)).items


# Beside the items


def test_a_prompt_carries_what_stands_beside_its_items() -> None:
    """Directives untouched, the turn's own id map, and the notes of what was cut."""
    ids = MessageIdMap()
    turn = Turn(familiar_id="wren", channel_id=7, said=(), message_ids=ids)
    words = Directives(tail=("end",))
    result = Budgeter().fill([a_piece("x")], {})
    prompt = native_prompt(PipelineOutput(a_request(turn=turn), result, directives=words))

    assert prompt.message_ids is ids
    assert (prompt.directives, prompt.dropped) == (words, tuple(result.dropped))
    assert native_prompt(an_output()).message_ids is not ids


def test_a_result_of_joined_text_alone_is_rendered_too() -> None:
    """One block for each layer, dialogue and notes at their places."""
    result = BudgetResult(
        by_layer={
            Layer.core: "core",
            Layer.depth_inject: "think",
            Layer.recent_history: "before",
            Layer.character: "me",
        }
    )
    messages = assemble_chat_messages(PipelineOutput(a_request(), result))

    assert messages[0].content.split("\n\n")[1:] == ["core", "me"]
    assert contents(messages)[1:] == ["before", "think", "Ada: hello"]
