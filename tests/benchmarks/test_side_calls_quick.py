"""The benchmark in its quick form: side models are asked seldom, told little, and paid by the house."""

from __future__ import annotations

from benchmarks import side_calls


def test_two_busy_rooms_cost_few_calls_besides_their_replies() -> None:
    """At most three for ten replies; what is told of the other room stays short, and guests pay their replies alone."""
    found = side_calls.measure(quick=True)

    assert found["replies"] == side_calls.QUICK_REPLIES
    assert found["side_calls"] > 0
    assert [row.name for row in side_calls.rows(found) if not row.ok] == []
