"""The benchmark of the index's memory over a small home."""

from __future__ import annotations

import pytest

from benchmarks import index_memory


def test_the_memory_of_an_index_is_measured_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small index takes little, never less than nothing and never what the embedder takes."""
    monkeypatch.setattr(index_memory, "QUICK_SIZE", (200, 50))

    found = index_memory.measure(quick=True)

    assert found["ok"]
    assert 0 < found["index_mb"] < index_memory.MOST_MB
    assert found["bare_mb"] > 0
    assert [row.ok for row in index_memory.rows(found)] == [True]
