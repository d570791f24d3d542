"""What the settings say of a voice session: how long a pause, an interruption and a reply may be."""

from __future__ import annotations

from familiar_connect.config import CharacterConfig
from familiar_connect.voice.end_of_turn import TurnPauses
from familiar_connect.voice.interruption import InterruptionLimits
from familiar_connect.voice.vad import SILENCE_TIMEOUT_MS

MAX_HOLD_S = 60.0
"""What was said is answered after this long, though somebody still speaks."""
SMALL_MODEL_REPLY_S = 20.0
"""The model that comes with the program follows no instruction to be brief."""


def longest_reply_s(config: CharacterConfig) -> float | None:
    """How long a reply may be spoken; None: as long as it is."""
    is_small = config.llm["main_prose"].is_small_default
    return config.longest_reply_s if config.longest_reply_s is not None else SMALL_MODEL_REPLY_S if is_small else None


def turn_pauses(config: CharacterConfig) -> TurnPauses:
    """What the settings say of the end of a turn."""
    return TurnPauses(
        lull_s=config.voice_lull_timeout,
        finished_s=config.finished_pause_s,
        unfinished_s=config.unfinished_pause_s,
        language=config.stt.language_if_known,
    )


def interruption_limits(config: CharacterConfig) -> InterruptionLimits:
    """What the settings say of being talked over."""
    return InterruptionLimits(
        min_interruption_s=config.min_interruption_s,
        short_long_boundary_s=config.short_long_boundary_s,
        lull_timeout_s=config.voice_lull_timeout,
        silence_s=SILENCE_TIMEOUT_MS / 1000,
        most_s=max(MAX_HOLD_S, config.short_long_boundary_s + config.voice_lull_timeout),
    )
