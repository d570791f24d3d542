"""The benchmark in its quick form: a turn is small on disk, and nothing but the history is flushed for it."""

from __future__ import annotations

from benchmarks import turn_cost


def test_a_turn_takes_little_room_and_few_flushes() -> None:
    """Under 2 KB of metrics.db; pages and replays are written when the system finds time."""
    found = turn_cost.measure(quick=True)

    assert found["bytes_per_turn"] < turn_cost.MOST_BYTES * 1.25  # the tables themselves count among forty turns
    assert found["file_flushes_per_turn"] < 0.5
    assert [bool(row.bar) for row in turn_cost.rows(found)] == [True] * 3
