"""What an imported chat will cost, told before anything is taken in: at the page and on the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.config.edit import find_setting, write_setting
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.web_form import send_form
from tests.platforms.web.test_places_and_imports import upload

pytestmark = needs_page

TALK = "\n".join(f"{who}: Line {number}." for number in range(60) for who in ("Sam", "Ember"))


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("Hm.")) as server:
        yield server


@pytest.fixture
def root(tmp_path: Path, model: ModelServer) -> Path:
    """A familiar whose memory a model of a server writes up, at most three times a day."""
    made = make_home(tmp_path, model)
    with (made / "character.toml").open("a", encoding="utf-8") as file:
        file.write(f'\n[llm.memory_writer]\nmodel = "test-model"\nbase_url = "{model.base_url}"\n')
    write_setting(made / "character.toml", find_setting("memory_writer.calls_per_day"), 3)
    return made


def test_the_page_tells_the_cost_and_takes_the_chat_after_a_click(root: Path) -> None:
    """Nothing is in any chat before; the same click a second time finds nothing left to take."""
    with PageProcess(root.parent.parent) as page:
        page.enter()
        told = upload(page, "talk.txt", TALK.encode(), "chat")
        found = re.search(r'name="waiting" value="(\w+)"', told.body)
        asked = page.ask("GET", "/search?q=Line").body
        assert found is not None, told.body
        taken = send_form(page, "/import", waiting=found[1])
        after = page.ask("GET", "/search?q=Line").body
        again = send_form(page, "/import", waiting=found[1])

    assert "120 messages. Writing it up as memory takes up to" in told.body
    assert "calls of test-model" in told.body
    assert "with at most 3 calls a day." in told.body
    assert "Nothing is imported yet." in told.body
    assert "<mark>Line</mark>" not in asked
    assert "talk.txt: 120 messages." in taken.body
    assert "<mark>Line</mark>" in after
    assert again.status == 400
    assert "choose it again" in again.body


def test_the_command_line_tells_it_too_and_takes_nothing(root: Path, tmp_path: Path) -> None:
    """As a sentence, and as JSON."""
    file = tmp_path / "talk.txt"
    file.write_text(TALK)
    said = run_program(root.parent.parent, "import", "chat", str(file), "--cost")
    plain = run_program(root.parent.parent, "import", "chat", str(file), "--cost", "--json")

    assert "Writing it up as memory takes up to" in said.stdout
    assert json.loads(plain.stdout)["chats"][0]["messages"] == 120
    assert not (root / "history.db").exists()
