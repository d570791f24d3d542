"""The benchmark of World Info's scan: it measures both, both find the same, and ours is far ahead of a plain loop."""

from __future__ import annotations

import json

import pytest

from benchmarks import world_info
from benchmarks.table import run_part


def test_the_scan_is_measured_beside_a_plain_loop(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same entries, in a fraction of the processor time; the bar itself is for a quiet machine."""
    monkeypatch.setattr(world_info, "QUICK_ROUNDS", 4)
    run_part(
        ["--quick", "--json"],
        title="world info",
        description=world_info.__doc__,
        measure=world_info.measure,
        rows=world_info.rows,
    )
    found = json.loads(capsys.readouterr().out)["found"]
    assert found["common"]["same"]
    assert found["woven"]["same"]
    assert found["common"]["p50_ms"] * 2 < found["common"]["plain_p50_ms"]
    assert 30 < found["common"]["found"] < 300
    assert found["woven"]["found"] == world_info.ENTRIES
