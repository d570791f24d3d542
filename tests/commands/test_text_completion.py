"""Models that are given one text: each server's own endpoint, templates, samplers and stop words, as a process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.text_server import goes_on

CONTEXT = {
    "story_string": "{{#if system}}{{system}}\n{{/if}}{{#if description}}{{description}}\n{{/if}}{{trim}}",
    "chat_start": "***",
    "names_as_stop_strings": True,
}
INSTRUCT = {
    "input_sequence": "<user name={{name}}>",
    "output_sequence": "<char>",
    "system_sequence": "<sys>",
    "input_suffix": "</user>\n",
    "output_suffix": "</char>\n",
    "stop_sequence": "</char>",
    "story_string_prefix": "<story of={{char}}>",
    "story_string_suffix": "</story>\n",
    "wrap": False,
    "macro": True,
    "names_behavior": "none",
    "sequences_as_stop_strings": True,
}
SAMPLERS = {
    "temp": 1.1,
    "min_p": 0.05,
    "top_k": 0,
    "rep_pen": 1.08,
    "rep_pen_range": 512,
    "typical_p": 0.9,
    "tfs": 1,
    "dry_multiplier": 0.8,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_penalty_last_n": 0,
    "dry_sequence_breakers": '["\\n", ":"]',
    "xtc_probability": 0.5,
    "xtc_threshold": 0.1,
    "mirostat_mode": 0,
}
SYSTEM = {"name": "Actor", "content": "You are {{char}}."}
MADE_UP = "The kettle sings.</char>\n<user name=Ada>And then?"
KNOWN: dict[str, dict[str, Any]] = {
    "llama.cpp": {"repeat_penalty": 1.08, "repeat_last_n": 512, "typical_p": 0.9, "dry_sequence_breakers": ["\n", ":"]},
    "koboldcpp": {"rep_pen": 1.08, "rep_pen_range": 512, "typical": 0.9, "dry_multiplier": 0.8, "trim_stop": True},
    "text-generation-webui": {"repetition_penalty": 1.08, "typical_p": 0.9, "dry_sequence_breakers": '["\\n", ":"]'},
    "vllm": {"repetition_penalty": 1.08, "min_p": 0.05},
}


def write(path: Path, content: object) -> str:
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def ask_text(home: Path, server: str, *files: str) -> tuple[str, dict[str, Any]]:
    """What Ember says at *server*, and the text it was asked with; a preset made of *files* is in force."""
    with model_endpoint(goes_on(server, MADE_UP)) as endpoint:
        root = make_home(home, endpoint)
        settings = root / "character.toml"
        before = settings.read_text(encoding="utf-8")
        settings.write_text(f'preset_fidelity = "sillytavern"\n{before}text_server = "{server}"\n', encoding="utf-8")
        done = run_program(home, "preset", "import", *files, "--name", "Mine")
        assert "is in force" in done.stdout, done.stdout + done.stderr
        said = run_program(home, "ask", "--as", "Ada", "Is it hot?")
        assert said.returncode == 0, said.stderr
    return said.stdout.strip(), endpoint.requests[-1].payload


@pytest.mark.parametrize("server", KNOWN)
def test_a_text_server_gets_one_text_by_the_template_and_its_own_samplers(tmp_path: Path, server: str) -> None:
    """Story, chat and the beginning of the answer; the reply ends at the first stop word."""
    parts = [(CONTEXT, "context"), (INSTRUCT, "instruct"), (SYSTEM, "sysprompt"), (SAMPLERS, "samplers")]
    files = [write(tmp_path / f"{name}.json", part) for part, name in parts]
    said, asked = ask_text(tmp_path / "home", server, *files)

    assert said == "The kettle sings."
    prompt = asked["prompt"]
    assert prompt.startswith("<story of=Ember>You are Ember.")
    assert "fire spirit" in prompt.split("</story>")[0]
    assert "</story>\n" in prompt
    assert prompt.endswith("<user name=Ada>Is it hot?</user>\n<char>"), prompt[-300:]
    assert "***\n" in prompt
    assert "</char>" in asked["stop"]
    assert "\nAda:" in asked["stop"]
    assert asked["temperature"] == 1.1
    assert asked.items() >= KNOWN[server].items(), asked
    assert "tfs" not in asked
    assert "mirostat" not in json.dumps(asked)


def test_an_instruct_template_is_in_force_only_where_it_has_an_effect(tmp_path: Path) -> None:
    """With messages it is kept and not used, and every door says so; with one text it is."""
    with model_endpoint(goes_on("llama.cpp", MADE_UP)) as endpoint:
        root = make_home(tmp_path, endpoint)
        file = write(tmp_path / "Signs.json", INSTRUCT)
        done = run_program(tmp_path, "preset", "import", file)
        assert "Signs is here, and is not in force." in done.stdout, done.stdout + done.stderr
        assert "set `text_server` under [llm.main_prose]" in done.stdout
        assert "no effect" in one_sentence(run_program(tmp_path, "preset", "use", "Signs"))
        with (root / "character.toml").open("a", encoding="utf-8") as settings:
            settings.write('text_server = "llama.cpp"\n')
        assert run_program(tmp_path, "preset", "use", "Signs").returncode == 0
        said = run_program(tmp_path, "ask", "Is it hot?")
    assert said.stdout.strip() == "The kettle sings."
    assert "<char>" in endpoint.requests[-1].payload["prompt"]
