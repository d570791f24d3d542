"""Typing delay: how long a person would take to write a piece."""

from __future__ import annotations

from familiar_connect.config.channel import TypingSimulationConfig


def compute_typing_delay(chunk: str, cfg: TypingSimulationConfig) -> float:
    """Seconds spent typing *chunk*, within the configured bounds."""
    if cfg.chars_per_second <= 0:
        return cfg.max_delay_s
    return min(cfg.max_delay_s, max(cfg.min_delay_s, len(chunk) / cfg.chars_per_second))
