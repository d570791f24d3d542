"""An MCP tool by the user's door: `familiar ask`, its model at an endpoint, the server a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the MCP library is an extra")

from familiar_connect.config.consent import OwnerConsent
from tests.extensions.mcp.test_mcp_tools import SERVER
from tests.fakes.model_server import DONE, Answer, event, head, raw_answer, stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

NAME = "mcp_kettle_temperature"


def stream_call(arguments: str) -> Answer:
    """A model that asks for the tool."""
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": NAME, "arguments": arguments}}
    choice = {"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": None}
    data = b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"
    return raw_answer(head(), data, event(finish="tool_calls"), DONE)


def test_a_tool_waits_for_the_owners_word_and_its_result_is_material(tmp_path: Path) -> None:
    """Named in `tools` it is nothing yet; once the owner allowed exactly that, the model is given what it gives."""
    with model_endpoint(
        stream_answer("I cannot know."), stream_call('{"room": "kitchen"}'), stream_answer("It is hot.")
    ) as model:
        root = make_home(tmp_path, model)
        settings = root / "character.toml"
        text = settings.read_text(encoding="utf-8").replace(
            f'base_url = "{model.base_url}"', f'base_url = "{model.base_url}"\ntools = true'
        )
        settings.write_text(f'tools = ["mcp.kettle_temperature"]\n{text}', encoding="utf-8")
        command = json.dumps([sys.executable, str(SERVER)])
        (tmp_path / "mcp.toml").write_text(f"[kettle]\ncommand = {command}\n", encoding="utf-8")
        known = {"name": "temperature", "description": "How warm.", "schema": {"type": "object"}}
        data = tmp_path / "extensions" / "mcp"
        data.mkdir(parents=True)
        (data / "kettle.json").write_text(json.dumps({"mcp.kettle_temperature": known}), encoding="utf-8")
        unasked = run_program(tmp_path, "ask", "Is the water warm?")
        OwnerConsent(tmp_path, "ember").allow_setting("tools", ["mcp.kettle_temperature"])
        done = run_program(tmp_path, "ask", "Is the water warm?")
    first, second, third = (request.payload for request in model.requests)

    assert (unasked.returncode, done.returncode) == (0, 0), done.stderr
    assert "tools" not in first
    assert [each["function"]["name"] for each in second["tools"]] == [NAME]
    given = next(each for each in third["messages"] if each["role"] == "tool")
    assert json.loads(given["content"])["material"].startswith("kitchen: 80 degrees.")
    assert done.stdout.strip().endswith("It is hot.")
