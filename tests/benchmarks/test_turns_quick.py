"""The benchmark of turn building in its quick form."""

from __future__ import annotations

from benchmarks import turns


def test_turns_are_measured_and_grow_with_their_messages() -> None:
    """Every message is shown, and ten times as many cost about ten times as much."""
    found = turns.measure(quick=True)

    assert [each["entries"] for each in found["sizes"].values()] == [turns.SMALL, turns.LARGE]
    assert found["growth"] < 2 * turns.MOST_GROWTH
    assert found["ageing"] < 2 * turns.MOST_AGEING
    assert len(turns.rows(found)) == 4
