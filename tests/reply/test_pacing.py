"""Typing at a person's pace."""

from __future__ import annotations

from dataclasses import replace

import pytest

from familiar_connect.config import TypingSimulationConfig
from familiar_connect.reply.pacing import compute_typing_delay

PACE = TypingSimulationConfig(chars_per_second=10, min_delay_s=1, max_delay_s=5)


@pytest.mark.parametrize(("letters", "seconds"), [(0, 1.0), (10, 1.0), (30, 3.0), (50, 5.0), (1000, 5.0)])
def test_a_longer_piece_takes_longer_within_bounds(letters: int, seconds: float) -> None:
    """Length over speed, never below the least nor above the most."""
    assert compute_typing_delay("x" * letters, PACE) == seconds


@pytest.mark.parametrize("speed", [0, -3])
def test_no_speed_at_all_takes_the_longest_time(speed: float) -> None:
    """A speed of nothing is not a division by it."""
    assert compute_typing_delay("hi", replace(PACE, chars_per_second=speed)) == 5
