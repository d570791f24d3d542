"""Closed sets that settings choose from, and that values elsewhere may carry."""

from __future__ import annotations

from enum import Enum


class ChannelMode(Enum):
    """How a familiar behaves in a channel."""

    full_rp = "full_rp"
    text_conversation_rp = "text_conversation_rp"
    imitate_voice = "imitate_voice"


DEFAULT_CHANNEL_MODE = ChannelMode.text_conversation_rp


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
