"""StorySwitches: what SillyTavern's user settings say of every prompt; apart, as every start reads the settings."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.config.rules import FLAG
from familiar_connect.config.settings import setting


@dataclass(frozen=True, kw_only=True)
class StorySwitches:
    """What SillyTavern's user settings say of every prompt."""

    pin_examples: bool = setting(
        False, FLAG, "Whether example dialogue keeps its place when the context is full, so that the chat gives way."
    )
    prefer_card_prompt: bool = setting(
        True, FLAG, "Whether the card's own system prompt replaces the preset's main prompt."
    )
    prefer_card_last_words: bool = setting(
        True, FLAG, "Whether the card's own post-history instructions replace the preset's."
    )
