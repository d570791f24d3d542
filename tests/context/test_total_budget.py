"""The whole prompt within the request's budget."""

from __future__ import annotations

import logging
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.directives import place_tail
from familiar_connect.chat.types import Directives
from familiar_connect.config.types import PromptOrder
from familiar_connect.context.budget import COMPLETION_SHARE, Budgeter, fit_to_request
from familiar_connect.context.messages import to_messages
from familiar_connect.context.render import RenderOptions, native_prompt
from familiar_connect.context.types import Contribution, ItemTag, Layer, PendingTurn, PipelineOutput
from familiar_connect.llm.types import Capabilities
from familiar_connect.support.tokens import estimate_tokens
from tests.fakes.context import ADA, BO, PLENTY, a_dialogue, a_piece, a_request, said


def packed(*pieces: Contribution, directives: Directives | None = None, **request: Any) -> PipelineOutput:
    words = directives or Directives()
    return PipelineOutput(a_request(**request), Budgeter().fill(pieces, PLENTY), directives=words)


def sent_tokens(
    output: PipelineOutput, order: PromptOrder = PromptOrder.stable_first, capabilities: Capabilities | None = None
) -> int:
    items = place_tail(native_prompt(output, RenderOptions(prompt_order=order))).items
    return sum(estimate_tokens(message.content) for message in to_messages(items, capabilities))


def test_layers_that_fit_alone_are_cut_when_the_sum_does_not() -> None:
    """The cheapest gives way, and note and joined text agree with what is left."""
    output = fit_to_request(
        packed(
            a_piece("dear " * 80, Layer.character, priority=100, source="dear"),
            a_piece("cheap " * 80, Layer.content, priority=10, source="cheap"),
            budget_tokens=260,
        )
    )

    assert [(n.source, n.full) for n in output.budget.dropped] == [("cheap", "total")]
    assert output.budget.by_layer[Layer.character] == "dear " * 80
    assert estimate_tokens(output.budget.by_layer[Layer.content]) < 120
    assert sent_tokens(output) + 260 * COMPLETION_SHARE <= 260


def test_a_layer_that_lost_everything_is_gone_from_the_joined_text() -> None:
    """As if it had never had any."""
    output = fit_to_request(packed(a_piece("x" * 400), budget_tokens=50))

    assert (output.budget.by_layer, output.budget.kept) == ({}, [])


def test_joined_text_keeps_the_order_of_packing() -> None:
    """Dearer first, also after the cap."""
    output = fit_to_request(
        packed(
            a_piece("low", priority=10, tag=ItemTag.PEOPLE),
            a_piece("high", priority=20, tag=ItemTag.FOUND),
            a_piece("x" * 4000, Layer.core, priority=1),
            budget_tokens=100,
        )
    )

    assert output.budget.by_layer[Layer.content] == "high\n\nlow"


def test_a_roomy_budget_changes_nothing() -> None:
    """The very same output."""
    output = packed(a_piece("x"), budget_tokens=10_000)

    assert fit_to_request(output) is output


def test_nought_means_no_limit() -> None:
    """Neither does less than nought."""
    for budget in (0, -5):
        output = packed(a_piece("x" * 100_000), budget_tokens=budget)
        assert fit_to_request(output) is output


def test_the_speakers_own_notes_never_give_way() -> None:
    """Another person's do; the speaker's stand by their slug."""
    mine = a_piece("a" * 400, tag=ItemTag.PEOPLE, key=ADA.slug, priority=1)
    yours = a_piece("b" * 400, tag=ItemTag.PEOPLE, key=BO.slug, priority=99)
    output = fit_to_request(packed(mine, yours, budget_tokens=200))

    assert mine in output.budget.kept
    assert [n.reason for n in output.budget.dropped] == ["truncated"]


def test_the_newest_turn_and_the_new_messages_never_give_way(caplog: pytest.LogCaptureFixture) -> None:
    """If those alone are too much, the turn goes on with a warning."""
    dialogue = a_dialogue(said("user", "old " * 100), said("user", "Bo: newest"), said("assistant", "answer"))
    with caplog.at_level(logging.WARNING):
        output = fit_to_request(
            packed(
                dialogue,
                a_piece("gone"),
                pending_turns=(PendingTurn(BO, "wait " * 50), PendingTurn(ADA, "hello " * 50)),
                budget_tokens=20,
            )
        )
    sent = [m.content for m in to_messages(native_prompt(output).items)][1:]

    assert sent == ["Bo: newest", "answer", "Bo: " + "wait " * 50, "Ada: " + "hello " * 50]
    assert [r.message for r in caplog.records] == ["what may not be cut is larger than the budget"]


def test_a_speakers_notes_too_large_for_the_budget_are_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    """They stay, and the log says by how much it is over."""
    mine = a_piece("a" * 4000, tag=ItemTag.PEOPLE, key=ADA.slug)
    with caplog.at_level(logging.WARNING):
        output = fit_to_request(packed(mine, budget_tokens=500))

    assert (output.budget.kept, caplog.records[-1].__dict__["tokens_over"] > 500) == ([mine], True)


def test_a_message_shown_without_its_middle_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    """With a budget or without."""
    for budget in (0, 100_000):
        with caplog.at_level(logging.INFO):
            output = fit_to_request(packed(utterance="x" * 100_000, budget_tokens=budget))
        assert [(n.source, n.reason, n.full) for n in output.budget.dropped] == [("pending", "truncated", "message")]
        assert caplog.records[-1].__dict__["source"] == "pending"


texts = st.text("ab. \n", min_size=1, max_size=200)


@st.composite
def worlds(draw: st.DrawFn) -> PipelineOutput:
    """A request with a budget, and contributions of every kind."""
    pieces: list[Contribution] = []
    for number in range(draw(st.integers(0, 6))):
        pieces.append(
            a_piece(
                draw(texts),
                draw(st.sampled_from(list(Layer))),
                priority=draw(st.integers(0, 100)),
                tag=draw(st.sampled_from([None, *(t for t in ItemTag if t is not ItemTag.PREAMBLE)])),
                role=draw(st.sampled_from(["system", "user"])),
                depth=draw(st.none() | st.integers(0, 3)),
                volatile=draw(st.booleans()),
                source=f"s{number}",
            )
        )
    turns = draw(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), texts), max_size=6))
    if turns:
        pieces.append(a_dialogue(*(said(role, f"{text}.") for role, text in turns)))
    words = Directives(
        lower=tuple(draw(st.lists(texts, max_size=2))),
        tail=tuple(draw(st.lists(texts, max_size=2))),
        uncensor=draw(st.none() | texts),
        prefill=draw(st.none() | texts),
    )
    return packed(
        *pieces,
        directives=words,
        utterance=draw(texts),
        budget_tokens=draw(st.integers(1, 900)),
        interruption_context=draw(st.none() | texts),
    )


@given(worlds(), st.sampled_from(list(PromptOrder)), st.booleans())
def test_prompt_and_reply_fit_unless_only_what_may_not_go_is_left(
    world: PipelineOutput, order: PromptOrder, strict: bool
) -> None:
    """In both orders, for strict models too; and every cut is noted."""
    output = fit_to_request(world)
    reserve = math.ceil(output.request.budget_tokens * COMPLETION_SHARE)
    fits = sent_tokens(output, order, Capabilities(strict_roles=strict)) + reserve <= output.request.budget_tokens
    only_the_newest_left = all(len(c.items) in (1, 2) for c in output.budget.kept)
    lost = sum(n.tokens_dropped for n in output.budget.dropped) - sum(n.tokens_dropped for n in world.budget.dropped)
    before = sum(sum(estimate_tokens(i.text) for i in c.items) or estimate_tokens(c.text) for c in world.budget.kept)
    after = sum(sum(estimate_tokens(i.text) for i in c.items) or estimate_tokens(c.text) for c in output.budget.kept)

    assert fits or only_the_newest_left
    assert before == after + lost
