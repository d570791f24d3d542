"""ChannelConfig: what one channel gets, and TypingSimulationConfig, how words arrive in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from familiar_connect.config.toml import (
    FLAG,
    TEXT_OR_NONE,
    InvalidValue,
    Key,
    Rule,
    choice_rule,
    enum_rule,
    integer_rule,
    number_rule,
)
from familiar_connect.config.types import CHANNEL_PROMPT_MODES, DEFAULT_CHANNEL_MODE, ChannelMode, PlaceSettings
from familiar_connect.context.types import Layer
from familiar_connect.errors import ConfigError

PRESET_FIDELITIES = ("with_memory", "sillytavern")
NO_PRESET = "none"
"""In a channel's settings: use no preset here, whatever the familiar's is."""


@dataclass(frozen=True)
class TypingSimulationConfig:
    """A reply sent in several messages, at the pace of someone typing."""

    enabled: bool = False
    chars_per_second: float = 40.0
    min_delay_s: float = 0.8
    max_delay_s: float = 6.0
    inter_line_pause_s: float = 0.7
    sentence_split_threshold: int = 400


@dataclass(frozen=True)
class ChannelConfig:
    """What one channel gets. A budget or deadline of 0 is no limit."""

    mode: ChannelMode = DEFAULT_CHANNEL_MODE
    budget_tokens: int = 0
    deadline_s: float = 0.0
    budget_by_layer: Mapping[Layer, int] = field(default_factory=dict)
    providers_enabled: frozenset[str] = frozenset()
    preprocessors_enabled: frozenset[str] = frozenset()
    postprocessors_enabled: frozenset[str] = frozenset()
    typing_simulation: TypingSimulationConfig = TypingSimulationConfig()
    backdrop_override: str | None = None
    channel_name: str | None = None
    preset_fidelity: str | None = None
    """None: the familiar's."""
    place: PlaceSettings = PlaceSettings()
    preset: str | None = None
    """The channel's own preset; empty: none here; None: the familiar's."""


def _preset_name(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValue
    name = value.strip()
    return "" if name.casefold() == NO_PRESET else name


PRESET_FIDELITY = choice_rule(*PRESET_FIDELITIES)

TYPING_KEYS = (
    Key(
        name="typing_simulation.enabled",
        rule=FLAG,
        meaning="Send a reply in several messages with pauses, as someone typing would. Each mode has its own default.",
    ),
    Key(name="typing_simulation.chars_per_second", rule=number_rule(above=0), meaning="Typing speed."),
    Key(name="typing_simulation.min_delay_s", rule=number_rule(least=0), meaning="Shortest wait before a message."),
    Key(name="typing_simulation.max_delay_s", rule=number_rule(least=0), meaning="Longest wait before a message."),
    Key(name="typing_simulation.inter_line_pause_s", rule=number_rule(least=0), meaning="Pause between two messages."),
    Key(
        name="typing_simulation.sentence_split_threshold",
        rule=integer_rule(least=1),
        meaning="Lines longer than this many characters are split at sentence ends.",
    ),
)

PLACE_KEYS = (
    Key(
        name="emoji_usage_enabled",
        field="place.emoji_usage_enabled",
        rule=FLAG,
        meaning="Whether the familiar is told which custom emojis a server has.",
    ),
    Key(
        name="sticker_usage_enabled",
        field="place.sticker_usage_enabled",
        rule=FLAG,
        meaning="Whether it is told which stickers a server has, where it has a tool to send them.",
    ),
    Key(
        name="time_awareness",
        field="place.time_awareness",
        rule=FLAG,
        meaning="Whether it is shown where one day ends and another begins, and how long nobody has spoken.",
    ),
    Key(
        name="include_timestamps",
        field="place.include_timestamps",
        rule=FLAG,
        meaning="Whether messages show the time they were written, where the mode does not decide.",
    ),
    Key(
        name="personal_memories_enabled",
        field="place.personal_memories_enabled",
        rule=FLAG,
        meaning="Whether people are told of by the names and memories kept of them. Their own choice comes first.",
    ),
    Key(
        name="channel_memory_enabled",
        field="place.channel_memory_enabled",
        rule=FLAG,
        meaning="Whether a server's memories with a `#channel` tag are told in that channel only.",
    ),
    Key(
        name="memory_tagging_enabled",
        field="place.memory_tagging_enabled",
        rule=FLAG,
        meaning="Whether a server's memories with tags are told only while one of the tags is talked about.",
    ),
    Key(
        name="short_term_memory_enabled",
        field="place.short_term_memory_enabled",
        rule=FLAG,
        meaning="Whether the last lines of a conversation are kept for a day, and told in other channels.",
    ),
    Key(
        name="private_channels_bypass",
        field="place.private_channels_bypass",
        rule=FLAG,
        meaning="Whether talk of `private_channel_ids` is told in channels that are not private, too.",
    ),
    Key(
        name="rewards_enabled",
        field="place.rewards_enabled",
        rule=FLAG,
        meaning="Whether the familiar is told what it was rewarded for on this server.",
    ),
    Key(
        name="punishments_enabled",
        field="place.punishments_enabled",
        rule=FLAG,
        meaning="Whether the familiar is told what it was punished for on this server.",
    ),
    Key(
        name="operator_directive",
        field="place.operator_directive",
        rule=TEXT_OR_NONE,
        meaning="Your own last word to the model, at the very end of every prompt.",
        example='"Speak plainly."',
    ),
)
"""What the familiar says, and a channel may say otherwise."""

CHANNEL_KEYS = (
    Key(name="channel_name", rule=TEXT_OR_NONE, meaning="What the channel is called; kept up to date by the program."),
    Key(name="mode", rule=enum_rule(ChannelMode), meaning="How the familiar behaves here. Required."),
    Key(
        name="backdrop",
        rule=TEXT_OR_NONE,
        field="backdrop_override",
        meaning="Where the conversation takes place; stands in for the mode's own note.",
    ),
    Key(
        name="channel_prompt",
        field="place.channel_prompt",
        rule=TEXT_OR_NONE,
        meaning="Instructions for this channel.",
    ),
    Key(
        name="channel_prompt_mode",
        field="place.channel_prompt_mode",
        rule=choice_rule(*CHANNEL_PROMPT_MODES),
        meaning="Whether `channel_prompt` follows the character's own rules or stands instead of them.",
    ),
    Key(
        name="author_note",
        field="place.channel_note",
        rule=TEXT_OR_NONE,
        meaning="A note of this channel, kept near the end of the conversation.",
    ),
    Key(
        name="author_note_depth",
        field="place.channel_note_depth",
        rule=integer_rule(least=0),
        meaning="How many turns follow the note.",
    ),
    Key(name="preset_fidelity", rule=PRESET_FIDELITY, meaning="Overrides the familiar's setting of the same name."),
    Key(
        name="preset",
        rule=Rule('the name of a preset, or "none"', _preset_name),
        meaning='The SillyTavern preset of this channel, in place of the familiar\'s; "none" uses no preset here.',
    ),
    *PLACE_KEYS,
    *TYPING_KEYS,
)


def merge_typing_settings(
    base: TypingSimulationConfig, *overrides: Mapping[str, Any] | None, file: Path
) -> TypingSimulationConfig:
    """*base* with each layer of *overrides* laid over it, later over earlier."""
    result = base
    for layer in overrides:
        result = replace(result, **(layer or {}))
    if result.min_delay_s > result.max_delay_s:
        raise ConfigError(
            f"{file}: [typing_simulation] min_delay_s ({result.min_delay_s:g}) must not be above "
            f"max_delay_s ({result.max_delay_s:g}); set both"
        )
    return result
