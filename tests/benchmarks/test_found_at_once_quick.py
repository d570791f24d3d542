"""The benchmark in its quick form: what changes by hand is found, and looking for it is cheap."""

from __future__ import annotations

from benchmarks import found_at_once


def test_every_change_is_found_and_looking_is_cheap() -> None:
    """Four changes among 200 files, quiet and busy; a look at them takes little of a processor."""
    found = found_at_once.measure(quick=True)
    rows = found_at_once.rows(found)

    assert [told["quiet_s"]["count"] for told in found["sizes"].values()] == [4]
    assert found["sizes"][200]["share"] <= found_at_once.MOST_LOOKING
    assert [bool(row.bar) for row in rows] == [True] * 3
