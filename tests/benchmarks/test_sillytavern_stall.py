"""Books, cards and presets made to stall a turn do not; `python -m benchmarks.sillytavern.stall` tries many more."""

from __future__ import annotations

import pytest

from benchmarks.sillytavern.stall import LIMIT_S, SEED, try_case


@pytest.mark.slow
def test_a_turn_ends_soon_whatever_stands_in_books_and_cards() -> None:
    """Nine thousand levels of delay, beside macros that cross and never close."""
    tried = try_case(SEED, 27)
    assert tried.problem == "", tried
    assert tried.seconds < LIMIT_S
