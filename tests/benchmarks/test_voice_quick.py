"""The benchmark of voice: it measures turns through a session, and its help runs nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.voice import STAGES, WATCHED, _measure_own, rows

ROOT = Path(__file__).parent.parent.parent


def test_turns_through_a_session_are_measured() -> None:
    """Each has both parts of the own share, and every stage of the way to the request, which together are that way."""
    found = asyncio.run(_measure_own(2))
    assert {name: len(found[name]) for name in STAGES} == {"to_request": 2, "to_speech": 2}
    assert all(seconds >= 0 for name in STAGES for seconds in found[name])
    stages = {name.removeprefix("stage: "): each for name, each in found.items() if name not in STAGES}
    assert list(stages) == [*(stage for _, _, stage, _ in WATCHED), "request"]
    for turn, seconds in enumerate(found["to_request"]):
        assert sum(each[turn] for each in stages.values()) == pytest.approx(seconds)


def test_a_share_that_is_too_large_misses_the_bar() -> None:
    """Beside pipecat and the offline chain ratios and stages are printed."""
    ours = {"to_request": [0.05] * 20, "to_speech": [0.02] * 20}
    theirs = {"to_request": [0.005] * 20, "to_speech": [0.04] * 20}
    offline = {"question_s": [3.0], "recognition": [0.3], "first sentence synthesised": [0.1]}
    told = {row.name: row for row in rows({"ours": ours, "pipecat": theirs, "offline": offline})}
    assert told["own share of voice to voice, p95 (p50), 20 turns"].ok is False
    assert "ours is 1.6 times that" in told["pipecat, both (p50)"].value
    assert told["offline: question of 3.0 s → first sound, without pauses and the model"].value == "470 ms"


def test_its_help_runs_nothing() -> None:
    """It tells of the options."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.voice", "-h"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "--pipecat PYTHON" in done.stdout
