"""Samplers through the program: what a slot and a preset say reaches the endpoint, and what it refuses is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fakes.model_server import error_answer, stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

PRESET: dict[str, Any] = {
    "prompts": [
        {"identifier": "main", "system_prompt": True, "role": "system", "content": "You are {{char}}."},
        {"identifier": "chatHistory", "system_prompt": True, "marker": True},
    ],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [{"identifier": name, "enabled": True} for name in ("main", "chatHistory")],
        }
    ],
    "temperature": 1.15,
    "top_p": 0.9,
    "top_k": 0,
    "min_p": 0.02,
    "repetition_penalty": 1.07,
    "presence_penalty": 0.25,
    "seed": -1,
    "reasoning_effort": "max",
    "openai_max_tokens": 450,
    "custom_stopping_strings": '["END"]',
    "logit_bias": {"50256": -100},
    "n": 1,
}
SLOT = """temperature = 0.4
top_k = 40
frequency_penalty = 0.5
seed = 7
stop = ["User:"]
logit_bias = ["11: 5"]
reasoning_effort = "low"
"""


def ask(home: Path, settings: str = "", *, preset: bool = True, script: Any = None) -> tuple[list[dict[str, Any]], str]:
    """What the endpoint was sent for one question, and what stood on standard error."""
    with model_endpoint(*(script or [stream_answer("Hm.")])) as server:
        root = make_home(home, server)
        file = root / "character.toml"
        top, mark, rest = file.read_text(encoding="utf-8").rpartition("[llm.main_prose]")
        before = "".join(line for line in settings.splitlines(keepends=True) if line.startswith("preset"))
        slot = settings.replace(before, "")
        file.write_text(before + top + mark + rest + slot, encoding="utf-8")
        if preset:
            source = home / "warm.json"
            source.write_text(json.dumps(PRESET), encoding="utf-8")
            assert run_program(home, "preset", "import", str(source)).returncode == 0
        done = run_program(home, "ask", "Hello?")
        assert done.returncode == 0, done.stderr
        return [request.payload for request in server.requests], done.stderr


def test_a_slots_samplers_reach_the_endpoint(tmp_path: Path) -> None:
    """Every one of them, as the endpoint calls it."""
    (sent,), _ = ask(tmp_path, SLOT, preset=False)
    assert {key: sent[key] for key in ("temperature", "top_k", "frequency_penalty", "seed")} == {
        "temperature": 0.4,
        "top_k": 40,
        "frequency_penalty": 0.5,
        "seed": 7,
    }
    assert (sent["stop"], sent["logit_bias"], sent["reasoning_effort"]) == (["User:"], {"11": 5.0}, "low")


def test_a_presets_samplers_hold_over_the_slots(tmp_path: Path) -> None:
    """What the preset says wins, what it switches off or leaves out is the slot's; stop words add up."""
    (sent,), _ = ask(tmp_path, SLOT)
    names = ("temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repeat_penalty")
    assert [sent[name] for name in names] == [1.15, 0.9, 40, 0.02, 0.25, 0.5, 1.07]
    assert (sent["seed"], sent["max_tokens"], sent["reasoning_effort"]) == (7, 450, "high")
    assert (sent["stop"], sent["logit_bias"]) == (["END", "User:"], {"50256": -100.0})


def test_the_owner_may_leave_samplers_to_the_slot(tmp_path: Path) -> None:
    """`preset_samplers = false`: the preset brings its words alone."""
    (sent,), _ = ask(tmp_path, "preset_samplers = false\n" + SLOT)
    assert (sent["temperature"], sent["top_k"], "top_p" in sent, sent["stop"]) == (0.4, 40, False, ["User:"])
    assert "You are Ember." in sent["messages"][0]["content"]


def test_a_sampler_the_endpoint_refuses_is_left_out_once_and_said(tmp_path: Path) -> None:
    """The reply comes all the same, and the warning names what was left out."""
    script = [error_answer(400, "Unrecognized request argument supplied: min_p"), stream_answer("Hm.")]
    (first, second), _ = ask(tmp_path, script=script)
    said = run_program(tmp_path, "logs", "--program").stdout
    assert "min_p" in first
    assert {key: value for key, value in first.items() if key != "min_p"} == second
    assert "refused samplers" in said
    assert "min_p" in said


def test_the_report_says_what_of_a_preset_holds(tmp_path: Path) -> None:
    """Samplers with their values; what stays unused by name."""
    make_home(tmp_path)
    source = tmp_path / "warm.json"
    source.write_text(json.dumps(PRESET), encoding="utf-8")
    said = run_program(tmp_path, "preset", "import", str(source)).stdout
    assert "temperature 1.15, top_p 0.9, min_p 0.02" in said
    assert "max_output_tokens 450" in said
    assert "Not applied: n." in said
