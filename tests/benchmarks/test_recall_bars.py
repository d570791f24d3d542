"""What the benchmarks of recall and search say of their bars, by words and by exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import search

ROOT = Path(__file__).parents[2]


def informal_chat(*, answer: str) -> dict[str, Any]:
    """A chat of a few lines, one of which answers each question."""
    said = [f"nothing but line number {number} of much talk" for number in range(60)]
    said[30] = answer
    turns = [
        {"speaker": ("ann", "bob", "cy")[at % 3], "dia_id": f"D1:{at + 1}", "text": text}
        for at, text in enumerate(said)
    ]
    asked = {"question": "where does the heron sleep?", "answer": "a mill", "evidence": ["D1:31"], "category": 4}
    session = {"session_1_date_time": "9:12 pm on 3 March, 2025", "session_1": turns}
    return {"sample_id": "chat", "half": "tune", "conversation": session, "qa": [asked, asked]}


def run_recall(tmp_path: Path, *, informal: bool) -> subprocess.CompletedProcess[str]:
    chat = informal_chat(answer="the heron sleeps on the old mill")
    if not informal:
        del chat["half"]
    data = tmp_path / "chats.json"
    data.write_text(json.dumps([chat]), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.recall", "--data", str(data)], cwd=ROOT, capture_output=True, text=True
    )


@pytest.mark.parametrize("informal", [True, False])
def test_recall_prints_its_bars_and_its_exit_code_says_whether_they_are_met(tmp_path: Path, informal: bool) -> None:
    """Informal chat has a bar of its own; latency has one for both."""
    done = run_recall(tmp_path, informal=informal)

    assert "Traceback" not in done.stderr, done.stderr
    assert "dense search, ≤ 3 ×:" in done.stdout
    assert ("above BM25 and dense" in done.stdout) is informal
    assert ("recall@10 ≥ 86 %: 100.0 " in done.stdout) is not informal
    assert done.returncode == int("✗" in done.stdout)


def test_search_names_every_bar_that_is_missed() -> None:
    """The exit code follows from it."""
    met = {"ok": True}
    found: dict[str, Any] = {
        "questions": {**met, "memory": {"ok": False}},
        "vectors": {**met, "after_ok": True},
        "rescan": met,
        "re-embedding": met,
        "grep": {"stall_ok": True},
        "people floor": {"landed": 999, "turns": 1000},
    }

    assert search.missed_bars(found) == ["memory of the index", "people floor"]
