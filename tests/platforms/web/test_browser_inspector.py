"""The inspector in a real Chromium: World Info by book, entry and key, struck text, and a turn that still runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from familiar_connect.config.load import write_user_name
from tests.fakes.browser import Visit, open_visit
from tests.fakes.model_server import ModelServer, answer_after, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, run_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page

MARKERS = ("main", "worldInfoBefore", "charDescription", "chatHistory")
PRESET = {
    "prompts": [
        {"identifier": "main", "name": "Main", "system_prompt": True, "role": "system", "content": "Be brief."},
        *({"identifier": name, "system_prompt": True, "marker": True} for name in MARKERS[1:]),
    ],
    "prompt_order": [{"character_id": 100001, "order": [{"identifier": name, "enabled": True} for name in MARKERS]}],
    "openai_max_context": 4000,
    "openai_max_tokens": 300,
}
BOOK = {
    "entries": {
        "0": {
            "uid": 0,
            "comment": "The north gate",
            "key": ["north gate"],
            "content": "The north gate of Eldoria is made of <b>silver</b>.",
            "order": 200,
        },
        "1": {
            "uid": 1,
            "comment": "The long chronicle",
            "key": ["north gate"],
            "content": "In the year of the heron the gate was built. " * 120,
            "order": 100,
        },
    }
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    """A lorebook of which one entry has no room, in a prompt as SillyTavern would send it."""
    made = tmp_path_factory.mktemp("inspector")
    settings = make_home(made, model) / "character.toml"
    settings.write_text(f'preset_fidelity = "sillytavern"\n{settings.read_text()}', encoding="utf-8")
    write_user_name(settings, "Sam")
    for name, data in (("Eldoria.json", BOOK), ("Plain.json", PRESET)):
        (made / name).write_text(json.dumps(data), encoding="utf-8")
    for words in (("import", "lorebook", "Eldoria.json"), ("preset", "import", "Plain.json")):
        done = run_program(made, *words, cwd=made)
        assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
def visit(browser: Browser, running: PageProcess) -> Iterator[Visit]:
    with open_visit(browser, running.address) as opened:
        opened.page.goto(f"{running.home}/chats/1")
        opened.page.locator("[data-ready]").wait_for()
        yield opened
    assert opened.faults == []


def say(visit: Visit, text: str, reply: str) -> None:
    page = visit.page
    page.locator("#words").fill(text)
    page.locator("#words").press("Enter")
    said = page.locator(".message.own[data-id]:not(.live)", has_text=reply).last
    turn = said.get_attribute("data-turn")
    page.locator(f'#glass .panel[data-turn="{turn}"] .missed').wait_for()


def test_world_info_names_book_entry_and_key_and_leads_to_the_entry(visit: Visit, model: ModelServer) -> None:
    """The block says which entry of which book stands in it, the key that called it up, and its file; cost too."""
    usage = {"prompt_tokens": 120, "completion_tokens": 4, "cost": 0.00021}
    model.script[:] = [stream_answer("Silver, I think.", usage=usage)]
    say(visit, "What is the north gate made of?", "Silver, I think.")
    page = visit.page
    block = page.locator("#glass .block:not(.cut)", has_text="World Info before the card")
    assert "Eldoria: The north gate" in block.locator("summary").inner_text()
    block.locator("summary").click()

    assert "key 'north gate' in" in block.locator(".lore").first.inner_text()
    assert "is made of <b>silver</b>." in block.locator("pre").inner_text()
    assert block.locator("dt", has_text="may be heard by").count() == 1
    assert "cost 0.00021" in page.locator("#glass .panel").inner_text()
    block.get_by_role("link", name="Eldoria: The north gate").click()
    page.get_by_role("heading", name="The north gate").first.wait_for()


def test_an_entry_without_room_is_struck_through(visit: Visit, model: ModelServer) -> None:
    """Among what was cut, with the reason and what it would have said."""
    model.script[:] = [stream_answer("Still silver.")]
    say(visit, "And the north gate now?", "Still silver.")
    cut = visit.page.locator("#glass .block.cut", has_text="The long chronicle")
    cut.locator("summary").click()

    assert "the gate was built." in cut.locator("del.gone").inner_text()
    assert "the budget of World Info is full" in cut.locator(".why").inner_text()


def test_the_blocks_are_there_while_the_model_is_still_silent(visit: Visit, model: ModelServer) -> None:
    """What it is shown can be read before its first word; what was opened stays open, also when the reply is there."""
    opened = asyncio.Event()
    model.script[:] = [answer_after(opened, stream_answer("At last."))]
    page = visit.page
    page.locator("#words").fill("Who guards the north gate?")
    page.locator("#words").press("Enter")
    page.locator(".glass-title", has_text="Reply under way…").wait_for()
    block = page.locator("#glass .block", has_text="World Info before the card")
    block.locator("summary").click()
    block.locator("pre", has_text="made of <b>silver</b>").wait_for()
    with page.expect_response("**/running/*"):
        pass

    assert block.locator("details").get_attribute("open") is not None
    assert page.locator(".message.live .words").inner_text() == ""
    assert model._server is not None
    model._server.get_loop().call_soon_threadsafe(opened.set)
    page.locator(".message.own[data-id]:not(.live) .words", has_text="At last.").wait_for()
    page.locator("#glass .panel[data-turn] .missed").wait_for()

    assert block.locator("details").get_attribute("open") is not None
    assert "made of <b>silver</b>" in block.locator("pre").inner_text()
