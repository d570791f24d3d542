"""Random rooms in a bounded form: nothing is told where it may not be, what may be told is there when asked for."""

from __future__ import annotations

import pytest

from benchmarks.confidence_rooms import LEAST_TOLD, measure


@pytest.mark.timeout(900)
def test_no_word_stands_where_its_hearers_would_not_be_alone() -> None:
    """Prompts of replies and side models, tools and slash answers; and at least 95 % of what may be told is told."""
    found = measure(12, seed=7)

    assert found.leaks == []
    assert found.share_told >= LEAST_TOLD, found.missing


@pytest.mark.timeout(900)
def test_with_the_rule_switched_off_leaks_are_found() -> None:
    """So that the test above can fail."""
    assert measure(6, seed=7, is_open=True).leaks != []
