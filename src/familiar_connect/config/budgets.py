"""How many tokens a prompt may take and how its layers share them: the settings, and what they come to.

A mode's table is what a model gets whose window is unknown or small. Where the window is known to be large, the
prompt may take most of it, up to a cap, and the layers are shares of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

from familiar_connect.config.rules import InvalidValue, Rule, integer_rule
from familiar_connect.config.settings import section, setting
from familiar_connect.context.layers import Layer

LARGE_WINDOW_SHARES: Mapping[Layer, float] = MappingProxyType(
    {
        Layer.core: 0.03,
        Layer.character: 0.20,
        Layer.examples: 0.08,
        Layer.history_summary: 0.05,
        Layer.recent_history: 0.65,
        Layer.author_note: 0.02,
        Layer.scene: 0.03,
        Layer.pinned: 0.05,
        Layer.extensions: 0.03,
    }
)
"""How a large prompt is divided. What is not named keeps the table's number: recalled memory does not grow with the
window, for more of it is not more to the point. The shares sum to more than all there is, because no conversation fills
every layer; where one does, the least important gives way."""
LARGE = 2
"""A window is large where it has room for so many times the table's budget."""
MAX_REPLY_RESERVE = 4096
LEAST_BUDGET = 256
TOKENS_AROUND_TURN = 8
"""What a turn costs besides its words: who speaks, and the chat format."""
MAX_TURNS = 400
"""Turns of dialogue that any window shows."""


def _amount(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValue
    if isinstance(value, int):
        return integer_rule(least=0).read(value)
    if not 0.0 <= value <= 1.0:
        raise InvalidValue
    return value


AMOUNT = Rule("a number of tokens such as 1200, or a share of the prompt such as 0.2", _amount)
_LAYER = "Tokens, or the share of the prompt, for {what}."


def _layer(what: str) -> int | float | None:
    return setting(None, AMOUNT, _LAYER.format(what=what), example="0.2")


@dataclass(frozen=True, kw_only=True)
class LayerAmounts:
    """What each layer gets: whole numbers are tokens, fractions shares of the prompt; None: the usual."""

    core: int | float | None = _layer("the rules of the mode")
    character: int | float | None = _layer("who the familiar is")
    content: int | float | None = _layer("memories and people")
    history_summary: int | float | None = _layer("the summary of older talk")
    recent_history: int | float | None = _layer("the dialogue itself")
    author_note: int | float | None = _layer("notes near the end")
    depth_inject: int | float | None = _layer("thoughts before the reply")
    scene: int | float | None = _layer("the place and who is there")
    examples: int | float | None = _layer("sample dialogues")
    pinned: int | float | None = _layer("pinned files")
    extensions: int | float | None = _layer("what extensions add")

    def over(self, wider: LayerAmounts) -> LayerAmounts:
        """These, and where they say nothing, *wider*."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(wider, **{name: value for name, value in own.items() if value is not None})

    def resolve(self, total: int) -> dict[Layer, int]:
        """What is said of a layer, in tokens of a prompt of *total*."""
        given = {layer: getattr(self, layer.value) for layer in Layer}
        return {
            layer: value if isinstance(value, int) else int(total * value)
            for layer, value in given.items()
            if value is not None
        }


@dataclass(frozen=True, kw_only=True)
class BudgetSettings:
    """How large a prompt may be; None: what the mode and the model's window give."""

    budget_tokens: int | None = setting(
        None,
        integer_rule(least=LEAST_BUDGET),
        "Tokens of a prompt and its reply together, whatever the model could take. None: the mode's, or what fits a"
        " window known to be large.",
        example="6000",
    )
    budget_cap: int | None = setting(
        None,
        integer_rule(least=LEAST_BUDGET),
        "Most tokens that a prompt takes of a large window. None: 32000, and 4000 in the mode `imitate_voice`.",
        example="16000",
    )
    layers: LayerAmounts = section(LayerAmounts, "budget")

    def over(self, wider: BudgetSettings) -> BudgetSettings:
        """These, and where they say nothing, *wider*."""
        return BudgetSettings(
            budget_tokens=wider.budget_tokens if self.budget_tokens is None else self.budget_tokens,
            budget_cap=wider.budget_cap if self.budget_cap is None else self.budget_cap,
            layers=self.layers.over(wider.layers),
        )


@dataclass(frozen=True, kw_only=True)
class TurnBudgets:
    """The budgets of all turns, and of those that are written or spoken."""

    all: BudgetSettings = section(BudgetSettings)
    text: BudgetSettings = section(BudgetSettings, "text")
    voice: BudgetSettings = section(BudgetSettings, "voice")

    def for_turn(self, *, is_voice: bool) -> BudgetSettings:
        return (self.voice if is_voice else self.text).over(self.all)

    def over(self, wider: TurnBudgets) -> TurnBudgets:
        """These, and where they say nothing, *wider*; what they say of all turns goes before its words on some."""
        return TurnBudgets(
            all=self.all.over(wider.all),
            text=self.text.over(self.all).over(wider.text),
            voice=self.voice.over(self.all).over(wider.voice),
        )


@dataclass(frozen=True, kw_only=True)
class PromptBudget:
    """What one prompt may take."""

    total: int
    by_layer: Mapping[Layer, int]
    is_large: bool = False
    """Whether it follows from a window known to be large, or from a setting that large."""


def budget_for_window(
    table: PromptBudget, settings: BudgetSettings, *, cap: int, window: int | None, max_output: int | None
) -> PromptBudget:
    """What a prompt may take of *window*; *table* where that is unknown or small, or what *settings* say."""
    room = None if window is None else window - reply_reserve(window, max_output)
    total = table.total
    if settings.budget_tokens is not None:
        total = settings.budget_tokens if room is None else min(settings.budget_tokens, room)
    elif room is not None:
        cap = cap if settings.budget_cap is None else settings.budget_cap
        large = min(room, cap)
        total = large if large >= LARGE * table.total or large < table.total else table.total
    is_large = total >= LARGE * table.total
    layers = {layer: _layer_tokens(layer, tokens, table.total, total) for layer, tokens in table.by_layer.items()}
    return PromptBudget(total=total, by_layer=layers | settings.layers.resolve(total), is_large=is_large)


def _layer_tokens(layer: Layer, tokens: int, usual: int, total: int) -> int:
    if total >= LARGE * usual:
        return max(tokens, int(total * LARGE_WINDOW_SHARES.get(layer, 0.0)))
    return tokens


def reply_reserve(window: int, max_output: int | None) -> int:
    """Tokens of *window* that are kept for the reply."""
    return min(window, max(max_output or 0, min(MAX_REPLY_RESERVE, window // 4)))


def turns_within(tokens: int, tokens_per_turn: float) -> int:
    """How many turns of dialogue *tokens* hold."""
    return min(MAX_TURNS, int(tokens / (tokens_per_turn + TOKENS_AROUND_TURN)))
