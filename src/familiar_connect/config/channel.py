"""ChannelConfig: what one channel gets, and TypingSimulationConfig, the pace at which a reply is sent in it.

channel_config_for_mode: the one table of what each mode gives a channel.

A mode enables the providers and processors whose ids are listed here; a familiar's and a channel's settings add to
them and take away. No side model stands before or after a reply unless one of those asks for it: measured on real
models, thinking first and rewriting afterwards made replies worse. What is spoken is freed of markup by rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from familiar_connect.config.budgets import TurnBudgets
from familiar_connect.config.limits import ManagersLimits, PlaceLimits
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

    channel_name: str | None = setting(None, TEXT_OR_NONE, "The channel's name; the program keeps it up to date.")
    mode: ChannelMode = setting(
        DEFAULT_CHANNEL_MODE, enum_rule(ChannelMode), "How the familiar behaves here. Required."
    )
    backdrop_override: str | None = setting(
        None,
        TEXT_OR_NONE,
        "Where the conversation takes place; replaces the mode's own note.",
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
    limits: PlaceLimits = section(PlaceLimits)
    limits_by_managers: ManagersLimits = section(ManagersLimits, "limits_by_managers")
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

    # Given by the mode (`channel_config_for_mode`).
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

    @property
    def limits_in_force(self) -> PlaceLimits:
        """The owner's limits, and those of managers where they are smaller."""
        theirs = self.limits_by_managers
        return self.limits.narrow(
            PlaceLimits(replies_per_hour=theirs.replies_per_hour, tokens_per_day=theirs.tokens_per_day)
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


_PROVIDERS = frozenset({"character", "history", "content_search", "mode_instructions"})
_PLACE = frozenset({"channel_notes", "server_info", "server_memories", "participants"})
_NOTES = frozenset({"short_term_memory", "documents", "conditioning", "pinned"})
_EVERYTHING = _PROVIDERS | _PLACE | _NOTES | {"assets", "sample_dialogues"}

_TABLE: Mapping[ChannelMode, ChannelConfig] = MappingProxyType(
    {
        ChannelMode.full_rp: ChannelConfig(
            mode=ChannelMode.full_rp,
            budget_tokens=8000,
            budget_cap=32_000,
            deadline_s=30.0,
            budget_by_layer={
                Layer.core: 400,
                Layer.character: 2000,
                Layer.content: 2000,
                Layer.history_summary: 1000,
                Layer.recent_history: 2000,
                Layer.author_note: 400,
                Layer.depth_inject: 400,
                Layer.scene: 600,
                Layer.examples: 600,
                Layer.pinned: 800,
                Layer.extensions: 600,
            },
            providers_enabled=_EVERYTHING,
        ),
        ChannelMode.text_conversation_rp: ChannelConfig(
            mode=ChannelMode.text_conversation_rp,
            budget_tokens=6000,
            budget_cap=32_000,
            deadline_s=24.0,
            budget_by_layer={
                Layer.core: 400,
                Layer.character: 1200,
                Layer.content: 2000,
                Layer.history_summary: 600,
                Layer.recent_history: 2200,
                Layer.author_note: 300,
                Layer.depth_inject: 400,
                Layer.scene: 500,
                Layer.examples: 400,
                Layer.pinned: 600,
                Layer.extensions: 500,
            },
            providers_enabled=_EVERYTHING,
            typing_simulation=TypingSimulationConfig(enabled=True),
        ),
        # Small and fast: no examples at all, and in writing content search gives its first tier only.
        ChannelMode.imitate_voice: ChannelConfig(
            mode=ChannelMode.imitate_voice,
            budget_tokens=2000,
            budget_cap=4000,
            deadline_s=9.0,
            budget_by_layer={
                Layer.core: 300,
                Layer.character: 700,
                Layer.content: 300,
                Layer.history_summary: 200,
                Layer.recent_history: 900,
                Layer.author_note: 150,
                Layer.depth_inject: 100,
                Layer.scene: 150,
                Layer.pinned: 150,
                Layer.extensions: 150,
            },
            providers_enabled=_PROVIDERS | _PLACE | _NOTES,
            postprocessors_enabled=frozenset({"spoken_text"}),
        ),
    }
)

SMALL_MODEL_SHARES: Mapping[Layer, float] = MappingProxyType(
    {
        Layer.character: 0.21,
        Layer.examples: 0.13,
        Layer.recent_history: 0.24,
        Layer.content: 0.14,
        Layer.history_summary: 0.05,
        Layer.author_note: 0.02,
        Layer.core: 0.02,
        Layer.pinned: 0.03,
        Layer.extensions: 0.05,
    }
)
"""How the small prompt of a small model is divided among the layers. The shares stay below what is left after the
reply's part and the new message, so that no layer is cut a second time and the prompt's start stays the same."""


def channel_config_for_mode(mode: ChannelMode) -> ChannelConfig:
    """The defaults of a channel in *mode*."""
    row = _TABLE[mode]
    spoken = EnabledSteps(providers=row.providers_enabled, post_processors=frozenset({"spoken_text"}))
    return replace(row, budget_by_layer=dict(row.budget_by_layer), on_voice=spoken)
