"""Closed sets that settings choose from, and that values elsewhere may carry."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ChannelMode(Enum):
    """How a familiar behaves in a channel."""

    full_rp = "full_rp"
    text_conversation_rp = "text_conversation_rp"
    imitate_voice = "imitate_voice"


DEFAULT_CHANNEL_MODE = ChannelMode.text_conversation_rp

CHANNEL_PROMPT_MODES = ("append", "replace")
DEFAULT_NOTE_DEPTH = 4


@dataclass(frozen=True, kw_only=True)
class PlaceSettings:
    """What the owner set about a channel's prompts: words of their own, and what is told of the place."""

    channel_prompt: str | None = None
    channel_prompt_mode: str = CHANNEL_PROMPT_MODES[0]
    channel_note: str | None = None
    """A note of the channel, so many turns before the end."""
    channel_note_depth: int = DEFAULT_NOTE_DEPTH
    global_note: str | None = None
    """The familiar's note for wherever neither the character nor the channel has one."""
    global_note_depth: int = DEFAULT_NOTE_DEPTH
    emoji_usage_enabled: bool = True
    sticker_usage_enabled: bool = True
    time_awareness: bool = False
    include_timestamps: bool = False
    personal_memories_enabled: bool = True
    channel_memory_enabled: bool = False
    memory_tagging_enabled: bool = False
    short_term_memory_enabled: bool = True
    private_channels_bypass: bool = False
    rewards_enabled: bool = True
    punishments_enabled: bool = True
    operator_directive: str | None = None
    """The operator's own last words of a prompt, as they wrote them."""

    @property
    def replaces_rules(self) -> bool:
        """Whether the channel's prompt stands instead of the character's own rules."""
        return self.channel_prompt_mode == "replace" and bool((self.channel_prompt or "").strip())


class PromptOrder(Enum):
    """The two native orders of a prompt."""

    stable_first = "stable_first"
    classic = "classic"


class Interjection(Enum):
    """How readily the familiar joins a conversation it was not addressed in."""

    very_quiet = "very_quiet"
    quiet = "quiet"
    average = "average"
    eager = "eager"
    very_eager = "very_eager"

    @property
    def starting_interval(self) -> int:
        """Messages that pass before the first look at joining in."""
        return {"very_quiet": 15, "quiet": 12, "average": 9, "eager": 6, "very_eager": 3}[self.value]


class DecideWith(Enum):
    """Who decides whether the familiar speaks when it need not."""

    auto = "auto"
    side_model = "side_model"
    reply = "reply"
    rules = "rules"


class InterruptTolerance(Enum):
    """How readily the familiar keeps talking when talked over."""

    very_meek = "very_meek"
    meek = "meek"
    average = "average"
    stubborn = "stubborn"
    very_stubborn = "very_stubborn"

    @property
    def base_probability(self) -> float:
        return {"very_meek": 0.10, "meek": 0.20, "average": 0.30, "stubborn": 0.45, "very_stubborn": 0.60}[self.value]
