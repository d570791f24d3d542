"""The vocabulary of the context room."""

from __future__ import annotations

import dataclasses

import pytest

from familiar_connect.chat.types import Directives
from familiar_connect.context.protocols import ContextProvider, PostProcessor, PreProcessor, PreProcessorError
from familiar_connect.context.types import (
    BudgetResult,
    ContextItem,
    ContextRequest,
    Contribution,
    DroppedNote,
    Layer,
    Modality,
    PendingTurn,
    PipelineOutput,
    Priority,
    ProviderOutcome,
)
from familiar_connect.llm.types import ImagePart, TextPart
from tests.fakes.context import ADA, BO, AddingPreProcessor, AppendingPostProcessor, FixedProvider, a_request


def test_the_first_seven_layers_keep_their_names_and_order() -> None:
    """Others rely on them; further ones are appended."""
    seven = ["core", "character", "content", "history_summary", "recent_history", "author_note", "depth_inject"]

    assert [layer.name for layer in Layer][:7] == seven
    assert all(layer.value == layer.name for layer in Layer)


def test_a_turn_is_spoken_or_written() -> None:
    """The value is the name."""
    assert [(m.name, m.value) for m in Modality] == [("voice", "voice"), ("text", "text")]


def test_a_contribution_needs_five_things_in_order() -> None:
    """Everything else has a default that asks for nothing special."""
    piece = Contribution(Layer.core, 50, "text", 1, "here")
    rest = {f.name: getattr(piece, f.name) for f in dataclasses.fields(piece)[5:]}

    assert (piece.layer, piece.priority, piece.text, piece.estimated_tokens, piece.source) == (
        Layer.core,
        50,
        "text",
        1,
        "here",
    )
    assert rest == {
        "tag": None,
        "role": "system",
        "depth": None,
        "order": 100,
        "key": "",
        "volatile": False,
        "items": (),
        "audiences": None,
        "directives": Directives(),
        "label": "",
        "authored": False,
        "quotable": "",
    }


def test_a_request_needs_eight_things_in_order() -> None:
    """The rest is optional and empty."""
    request = ContextRequest("wren", 7, None, ADA, "hi", Modality.text, 1000, 10.0)

    assert request == a_request(utterance="hi", budget_tokens=1000, deadline_s=10.0)
    assert (
        request.pending_turns,
        request.preprocessor_contributions,
        request.interruption_context,
        request.mode,
        request.before_id,
        request.turn,
        request.scene,
    ) == ((), (), None, None, None, None, None)


def test_values_do_not_change() -> None:
    """A change is a new value."""
    for value in (a_request(), Contribution(Layer.core, 1, "", 0, ""), PendingTurn(None, "x")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            value.text = "other"  # type: ignore[union-attr, misc]


def test_the_messages_to_answer_are_the_pending_ones_else_the_utterance() -> None:
    """Each once."""
    pending = (PendingTurn(ADA, "one"), PendingTurn(BO, "two"))

    assert a_request(pending_turns=pending).turns_to_answer == pending
    assert a_request(utterance="hi").turns_to_answer == (PendingTurn(ADA, "hi"),)


def test_an_items_text_is_its_text_parts() -> None:
    """Pictures are not text."""
    item = ContextItem(role="user", parts=(ImagePart("u", "image/png"), TextPart("a"), TextPart("b")))

    assert item.text == "ab"


@pytest.mark.parametrize("reason", ["dropped", "truncated"])
def test_a_note_knows_two_reasons(reason: str) -> None:
    """Gone, or shortened."""
    assert DroppedNote(Layer.core, "here", reason, 3).reason == reason  # type: ignore[arg-type]


def test_any_other_reason_is_refused() -> None:
    """The error names the field."""
    with pytest.raises(ValueError, match="reason"):
        DroppedNote(Layer.core, "here", "lost", 3)  # type: ignore[arg-type]


def test_results_start_empty_and_share_nothing() -> None:
    """Two results never hold the same list."""
    first, second = BudgetResult(), BudgetResult()

    assert (first.by_layer, first.dropped, first.kept) == ({}, [], [])
    assert first.dropped is not second.dropped
    assert PipelineOutput(a_request(), first).outcomes == []
    assert ProviderOutcome("id", 0.1, [], "ok").error_message is None


def test_seams_are_recognised_by_shape() -> None:
    """Nothing needs to inherit from anything."""
    assert isinstance(FixedProvider(), ContextProvider)
    assert isinstance(AddingPreProcessor(), PreProcessor)
    assert isinstance(AppendingPostProcessor("x"), PostProcessor)
    assert not isinstance(object(), ContextProvider)
    assert issubclass(PreProcessorError, RuntimeError)


def test_the_ranking_is_fixed_where_others_rely_on_it() -> None:
    """Higher survives."""
    assert [
        Priority.CHARACTER,
        Priority.PEOPLE,
        Priority.MODE_INSTRUCTIONS,
        Priority.HISTORY_RECENT,
        Priority.STEPPED_THINKING,
        Priority.FOUND,
        Priority.HISTORY_SUMMARY,
        Priority.ELSEWHERE,
    ] == [100, 85, 80, 80, 75, 70, 60, 55]
