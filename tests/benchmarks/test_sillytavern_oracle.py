"""The oracle's own parts, without SillyTavern: cases repeat, a difference is seen, and what is missing is said."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.sillytavern.oracle.__main__ import main, tell
from benchmarks.sillytavern.oracle.compare import EQUAL, judge_case
from benchmarks.sillytavern.oracle.generate import make_case
from benchmarks.sillytavern.oracle.ours import OurCase


def recorded(case: dict[str, Any]) -> list[dict[str, Any]]:
    """What SillyTavern would have done in the first turn of *case*, were it us."""
    step = OurCase(case).run(case["steps"][0], case["chat"])
    typed = {"name": case["user"], "mes": step.typed, "is_user": True, "is_system": False}
    return [
        {
            "messages": [dict(message) for message in step.messages],
            "activated": step.activated,
            "variables": step.variables,
            "shared": step.shared,
            "chat": [*case["chat"], typed],
            "refused": "",
            "faults": [],
        }
    ]


def one_turn() -> dict[str, Any]:
    case = make_case("test", 3)
    return {**case, "steps": case["steps"][:1]}


def test_a_case_is_the_same_for_the_same_seed() -> None:
    """So that whoever doubts a number can make it again."""
    assert make_case("test", 4) == make_case("test", 4)
    assert make_case("test", 4) != make_case("test", 5)


def test_a_case_is_equal_until_a_letter_is_another() -> None:
    """The verdict says where."""
    case = one_turn()
    steps = recorded(case)
    assert judge_case(case, steps).kind == EQUAL
    steps[0]["messages"][0]["content"] += "x"
    verdict = judge_case(case, steps)
    assert verdict.kind == "messages"
    assert "message 0" in verdict.told
    assert "0 of 1 cases equal" in tell([verdict], "test")


def test_a_mark_of_sillytaverns_own_is_counted_apart() -> None:
    """Its control characters are no difference of ours."""
    case = one_turn()
    steps = recorded(case)
    steps[0]["messages"][0]["content"] += "\0\x1fELSE\x1f\0"
    verdict = judge_case(case, steps)
    assert verdict.kind == "else_mark"
    assert "0 of 0 cases equal (0.00 %), 1 counted apart" in tell([verdict], "test")


def test_without_node_it_says_so_and_stops(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is fetched, nothing fails."""
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert main(["--cases", "1"]) == 0
    assert capsys.readouterr().out == "Skipped: node and npm are missing, and SillyTavern runs on them.\n"
