"""Talks of several people in a bounded form: each comes to an end, nothing is lost and nothing made up."""

from __future__ import annotations

import pytest

from benchmarks import voice_conversations


@pytest.mark.timeout(900)
def test_talks_end_and_the_history_has_what_was_said_and_heard() -> None:
    """The familiar makes way in time, and leaves no task behind."""
    found = voice_conversations.measure(quick=True)

    assert found["stuck"] == []
    assert found["lost"] == {}
    assert found["unheard"] == {}
    assert found["replies"] > found["talks"]
    assert found["yields"] > 0
    assert found["decision_ms_p99"] < voice_conversations.MOST_DECISION_MS
    assert found["lasting"]["tasks_left"] == 0
