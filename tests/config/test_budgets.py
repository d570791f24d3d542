"""What a prompt may take of a model's window."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.window import grow_window, window_start
from familiar_connect.config.budgets import (
    BudgetSettings,
    LayerAmounts,
    PromptBudget,
    TurnBudgets,
    budget_for_window,
    turns_within,
)
from familiar_connect.config.channel import channel_config_for_mode
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.types import Layer

MODES = st.sampled_from(list(ChannelMode))


def budget_of(
    mode: ChannelMode, window: int | None, settings: BudgetSettings | None = None, max_output: int | None = None
) -> PromptBudget:
    row = channel_config_for_mode(mode)
    table = PromptBudget(total=row.budget_tokens, by_layer=row.budget_by_layer)
    return budget_for_window(
        table, settings or BudgetSettings(), cap=row.budget_cap, window=window, max_output=max_output
    )


def test_an_unknown_or_small_window_gets_the_table() -> None:
    """So does one that holds it and little more."""
    row = channel_config_for_mode(ChannelMode.text_conversation_rp)
    for window in (None, 8192, 12_000):
        found = budget_of(row.mode, window)
        assert (found.total, found.by_layer, found.is_large) == (row.budget_tokens, row.budget_by_layer, False)


def test_a_card_its_examples_and_an_evening_are_whole_on_a_32k_model() -> None:
    """Four thousand tokens of card, two thousand of examples, two hundred turns of sixty."""
    found = budget_of(ChannelMode.text_conversation_rp, 32_768)

    assert found.by_layer[Layer.character] >= 4000
    assert found.by_layer[Layer.examples] >= 2000
    assert found.by_layer[Layer.recent_history] >= 200 * 60
    assert turns_within(found.by_layer[Layer.recent_history], 60) >= 200


def test_recalled_memory_does_not_grow_with_the_window() -> None:
    """More of it is not more to the point."""
    row = channel_config_for_mode(ChannelMode.text_conversation_rp)

    assert budget_of(row.mode, 1_000_000).by_layer[Layer.content] == row.budget_by_layer[Layer.content]


@given(MODES, st.one_of(st.none(), st.integers(256, 2_000_000)), st.one_of(st.none(), st.integers(1, 200_000)))
def test_a_prompt_and_its_reply_fit_the_window(mode: ChannelMode, window: int | None, reply: int | None) -> None:
    """Whatever the model; and no layer has less than the table gives it."""
    row, found = channel_config_for_mode(mode), budget_of(mode, window, max_output=reply)

    assert window is None or found.total <= window
    assert found.total <= max(row.budget_cap, row.budget_tokens)
    assert all(found.by_layer[layer] >= tokens for layer, tokens in row.budget_by_layer.items())


@given(st.one_of(st.none(), st.integers(9000, 2_000_000)))
def test_imitating_a_voice_stays_the_smallest(window: int | None) -> None:
    """However large the window."""
    totals = [budget_of(mode, window).total for mode in ChannelMode]

    assert min(totals) == totals[-1] < totals[0]


def test_settings_go_before_the_window_and_the_table() -> None:
    """Tokens as they are, shares of the whole."""
    said = BudgetSettings(budget_tokens=10_000, layers=LayerAmounts(content=0.2, scene=77))
    found = budget_of(ChannelMode.full_rp, 200_000, said)

    assert (found.total, found.by_layer[Layer.content], found.by_layer[Layer.scene]) == (10_000, 2000, 77)


def test_a_channel_goes_before_its_familiar_and_a_modality_before_all() -> None:
    """What a channel says of all turns also goes before what the familiar says of spoken ones."""
    familiar = TurnBudgets(all=BudgetSettings(budget_tokens=1000), voice=BudgetSettings(budget_tokens=500))
    channel = TurnBudgets(all=BudgetSettings(layers=LayerAmounts(scene=9)), text=BudgetSettings(budget_tokens=2000))
    merged = channel.over(familiar)

    assert merged.for_turn(is_voice=False).budget_tokens == 2000
    assert merged.for_turn(is_voice=True).budget_tokens == 500
    assert merged.for_turn(is_voice=True).layers.scene == 9
    own = TurnBudgets(all=BudgetSettings(budget_tokens=3000)).over(familiar)
    assert own.for_turn(is_voice=True).budget_tokens == 3000


@given(st.integers(0, 400), st.integers(0, 5000))
def test_a_grow_window_holds_no_more_turns_than_have_room(turns: int, stored: int) -> None:
    """And never fewer than the familiar is set to; after a step it holds two thirds."""
    size, step = grow_window(turns, 20, 20)
    shown = stored - window_start(stored, size, step)

    assert shown <= max(40, turns)
    assert shown >= min(stored, 20)
    assert size + step == max(40, turns)
