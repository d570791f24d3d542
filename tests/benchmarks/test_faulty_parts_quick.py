"""The benchmark of faulty parts in its quick form."""

from __future__ import annotations

from benchmarks import faulty_parts


def test_a_part_that_blocks_hangs_or_raises_costs_a_turn_little_more_than_its_deadline() -> None:
    """The quickest of a few turns; one that waited for the part to be free would take six times its deadline."""
    found = faulty_parts.measure(quick=True)

    costs = {name: cost["least"] for name, cost in found["cost_ms"].items()}
    assert list(costs) == ["raises", "hangs", "blocks asleep", "blocks computing"]
    assert {name: cost for name, cost in costs.items() if cost > 2 * faulty_parts.MOST_COST_MS} == {}
    assert len(faulty_parts.rows(found)) == len(costs)
