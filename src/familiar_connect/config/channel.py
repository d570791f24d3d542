"""ChannelConfig: what one channel gets, and TypingSimulationConfig, the pace at which a reply is sent in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from familiar_connect.config.budgets import TurnBudgets
from familiar_connect.config.rules import (
    FILLED_TEXT,
    FLAG,
    TEXT_OR_NONE,
    InvalidValue,
    Rule,
    choice_rule,
    enum_rule,
    integer_rule,
    number_rule,
)
from familiar_connect.config.settings import fill_fields, keys_of, section, setting
from familiar_connect.config.types import (
    DEFAULT_CHANNEL_MODE,
    ChannelMode,
    EnabledSteps,
    PlaceSettings,
    StepSettings,
    TurnDeadlines,
)
from familiar_connect.context.layers import Layer
from familiar_connect.errors import ConfigError

PRESET_FIDELITIES = ("with_memory", "sillytavern")
PRESET_FIDELITY = choice_rule(*PRESET_FIDELITIES)
NO_PRESET = "none"
"""In a channel's settings: use no preset here, whatever the familiar's is."""


def _preset_name(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValue
    name = value.strip()
    return "" if name.casefold() == NO_PRESET else name


@dataclass(frozen=True)
class TypingSimulationConfig:
    """A reply sent in several messages, at the pace of someone typing."""

    enabled: bool = setting(
        False,
        FLAG,
        "Send a reply in several messages with pauses, as someone typing would. Each mode has its own default.",
    )
    chars_per_second: float = setting(40.0, number_rule(above=0), "Typing speed.")
    min_delay_s: float = setting(0.8, number_rule(least=0), "Shortest wait before a message.")
    max_delay_s: float = setting(6.0, number_rule(least=0), "Longest wait before a message.")
    inter_line_pause_s: float = setting(0.7, number_rule(least=0), "Pause between two messages.")
    sentence_split_threshold: int = setting(
        400, integer_rule(least=1), "Lines longer than this many characters are split at sentence ends."
    )


@dataclass(frozen=True, kw_only=True)
class ChannelConfig:
    """What one channel gets. A budget or deadline of 0 is no limit."""

    channel_name: str | None = setting(
        None, TEXT_OR_NONE, "What the channel is called; kept up to date by the program."
    )
    mode: ChannelMode = setting(
        DEFAULT_CHANNEL_MODE, enum_rule(ChannelMode), "How the familiar behaves here. Required."
    )
    backdrop_override: str | None = setting(
        None,
        TEXT_OR_NONE,
        "Where the conversation takes place; stands in for the mode's own note.",
        key="backdrop",
    )
    place: PlaceSettings = section(PlaceSettings)
    preset_fidelity: str | None = setting(None, PRESET_FIDELITY, "Overrides the familiar's setting of the same name.")
    """None: the familiar's."""
    preset: str | None = setting(
        None,
        Rule('the name of a preset, or "none"', _preset_name),
        'The SillyTavern preset of this channel, in place of the familiar\'s; "none" uses no preset here.',
    )
    """The channel's own preset; empty: none here; None: the familiar's."""
    model: str | None = setting(
        None,
        FILLED_TEXT,
        "The model that answers here, by its name at the server of [llm.main_prose], in place of the one set there.",
        example='"qwen3:8b"',
    )
    chat_book: str | None = setting(
        None,
        TEXT_OR_NONE,
        "The lorebook of this chat, by name: under `sillytavern` it is asked before all others.",
    )
    budgets: TurnBudgets = section(TurnBudgets)
    deadlines: TurnDeadlines = section(TurnDeadlines)
    typing_simulation: TypingSimulationConfig = section(TypingSimulationConfig, "typing_simulation")

    steps: StepSettings = section(StepSettings)
    """What the channel's own file changes; the sets below are after all changes."""

    # Given by the mode (config.modes).
    budget_tokens: int = 0
    """The mode's, for a model whose window is unknown or small; `budget_for_window` has what it comes to."""
    budget_cap: int = 0
    """Most tokens that a prompt takes of a large window."""
    history_grows: bool = True
    """The familiar's: whether `history_turns` follows from the model's window."""
    history_turns: int = 0
    """Turns of dialogue that the model's window has room for; 0: as many as the familiar is set to."""
    deadline_s: float = 0.0
    """The mode's; `deadline_for` has what the files say."""
    budget_by_layer: Mapping[Layer, int] = field(default_factory=dict)
    providers_enabled: frozenset[str] = frozenset()
    preprocessors_enabled: frozenset[str] = frozenset()
    postprocessors_enabled: frozenset[str] = frozenset()
    on_voice: EnabledSteps = EnabledSteps()
    """The same three sets where the conversation is spoken."""

    @property
    def in_text(self) -> EnabledSteps:
        return EnabledSteps(
            providers=self.providers_enabled,
            pre_processors=self.preprocessors_enabled,
            post_processors=self.postprocessors_enabled,
        )

    def with_step_changes(self, changes: StepSettings) -> ChannelConfig:
        """The same channel with its steps after *changes*."""
        text = changes.change_text(self.in_text)
        return replace(
            self,
            providers_enabled=text.providers,
            preprocessors_enabled=text.pre_processors,
            postprocessors_enabled=text.post_processors,
            on_voice=changes.change_voice(self.on_voice),
        )

    def deadline_for(self, *, is_voice: bool) -> float:
        """The deadline of a turn here, written or spoken."""
        given = self.deadlines.for_turn(is_voice=is_voice)
        return self.deadline_s if given is None else given


TYPING_KEYS = keys_of(TypingSimulationConfig, "typing_simulation")

CHANNEL_KEYS = tuple(
    sorted(keys_of(ChannelConfig, file="channel"), key=lambda key: "." in key.field and key.only is None)
)
"""What only a channel has, then what it shares with the familiar."""


def merge_typing_settings(
    base: TypingSimulationConfig, overrides: Mapping[str, object], *, file: Path
) -> TypingSimulationConfig:
    """*base* with *overrides* in place of its own values."""
    result = fill_fields(base, overrides)
    check_typing_delays(result, file)
    return result


def check_typing_delays(typing: TypingSimulationConfig, file: Path) -> None:
    """Refuse delays that cannot both hold, which only shows once all files are merged."""
    if typing.min_delay_s > typing.max_delay_s:
        raise ConfigError(
            f"{file}: [typing_simulation] min_delay_s ({typing.min_delay_s:g}) must not be above "
            f"max_delay_s ({typing.max_delay_s:g}); set both"
        )
