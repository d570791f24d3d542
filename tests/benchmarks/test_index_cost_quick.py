"""The benchmark of what an index costs to keep, over a small home."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import index_cost, large_home


def test_an_index_is_weighed_beside_the_words_it_holds(tmp_path: Path) -> None:
    """Its parts add up to the files they stand in, and the words are those of the turns and the files."""
    root = tmp_path / large_home.FAMILIAR
    large_home.fill_home(root, turns=120, files=12)

    found = index_cost.weigh(root)

    files = list((root / "memory").rglob("*.md"))
    assert found["words"] > sum(path.stat().st_size for path in files)
    assert sum(found["parts"].values()) <= found["index"]
    assert found["ratio"] == pytest.approx(found["index"] / found["words"])


def test_the_bytes_can_be_weighed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a home of the size that is asked for; of so small a one the bar is missed."""
    assert index_cost.main(["--weigh", "60", "6", "--json"]) == 1

    found = json.loads(capsys.readouterr().out)["found"]
    assert (found["turns"], found["files"]) == (60, 6)
    assert "build" not in found
    assert not found["size"]["ok"]


def test_building_is_timed_beside_embedding_and_inserting(tmp_path: Path) -> None:
    """The same units by the same embedder; both take some time."""
    found = index_cost.time_build(tmp_path / large_home.FAMILIAR, turns=10, files=2)

    assert found["units"] > 10 + 2
    assert found["ours_s"] > 0
    assert found["plain_s"] > 0


def test_a_chat_that_waits_takes_hardly_any_of_a_core(tmp_path: Path) -> None:
    """A real one, which has started and is asked nothing."""
    found = index_cost.watch_idle(tmp_path, files=20, seconds=1.0)

    assert found["share"] is None or 0 <= found["share"] < 0.1
