"""What stands beside a reply, seen by its owner: nothing by default, and each step by a documented setting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.program import run_program

EXAMPLE = Path(__file__).parents[2] / "examples" / "rehearse" / "one_call_a_message.json"


def test_a_message_costs_one_call_and_memory_is_in_its_prompt(tmp_path: Path) -> None:
    """The shipped example, played by the program itself."""
    done = run_program(tmp_path, "rehearse", str(EXAMPLE), "--scripted")

    assert (done.returncode, "2 expectations held, 0 failed" in done.stdout) == (0, True), done.stdout


@pytest.mark.parametrize(
    ("settings", "calls", "prompt_has"),
    [
        ('pre_processors = ["+stepped_thinking"]\n', {"reasoning_context": 1}, "Hidden note to yourself"),
        ('post_processors = ["+recast"]\n', {"post_process_style": 1}, "hammered copper"),
        ('content_filter = "always"\n', {"memory_search": 1}, "it is copper, says the filter"),
        ('[providers]\nenabled = ["-content_search"]\n', {"memory_search": 0}, "What is the kettle made of?"),
    ],
)
def test_each_step_is_switched_by_a_setting(
    settings: str, calls: dict[str, int], prompt_has: str, tmp_path: Path
) -> None:
    """In the familiar's own file."""
    script = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    script["familiar"]["settings"] = settings
    script["models"]["memory_search"] = {"otherwise": "ANSWER: it is copper, says the filter"}
    question = script["steps"][2]
    script["steps"] = [
        question | {"at": "2026-03-01T08:00:00+00:00"},
        {"expect": {"calls": calls, "prompt_has": [prompt_has]}},
    ]
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    done = run_program(tmp_path / "home", "rehearse", str(path), "--scripted")

    assert done.returncode == 0, done.stdout + done.stderr
