"""Presets at the page, over real HTTP: one in force, its samplers, its prompts in order, and the text of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from familiar_connect.presets.prompt_order import nodes_of
from familiar_connect.presets.store import PresetStore
from familiar_connect.presets.types import PresetFidelity
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import model_endpoint
from tests.fakes.waiting import wait_until
from tests.fakes.web_form import send_form
from tests.platforms.web.test_lore import form_of, lore_home

pytestmark = needs_page

NAME = "Plain Scene"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("Hm.")) as server:
        yield server


@pytest.fixture
def presets(tmp_path: Path, model: ModelServer) -> Path:
    """The folder of the familiar's presets."""
    return lore_home(tmp_path, model) / "presets"


@pytest.fixture
def page(presets: Path) -> Iterator[PageProcess]:
    with PageProcess(presets.parents[2]) as running:
        running.enter()
        yield running


def document(presets: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((presets / f"{NAME}.json").read_text())
    return found


def order_of(presets: Path) -> list[tuple[str, bool]]:
    nodes = nodes_of(PresetStore(presets).get(NAME), PresetFidelity.sillytavern)
    return [(node.identifier, node.is_enabled) for node in nodes]


def samplers_form(page: PageProcess) -> dict[str, str]:
    return form_of(page.ask("GET", "/presets").body)


def prompt_form(page: PageProcess, identifier: str = "") -> dict[str, str]:
    words = {"name": NAME} | ({"id": identifier} if identifier else {})
    return form_of(page.ask("GET", f"/presets/prompt?{urlencode(words)}").body)


def say(page: PageProcess, model: ModelServer) -> dict[str, Any]:
    """What the model is asked for the next line."""
    before = len(model.requests)
    page.say("Hello")
    wait_until(lambda: len(model.requests) > before, "the model is asked")
    found: dict[str, Any] = model.requests[-1].payload
    return found


def test_samplers_are_written_into_the_file_and_the_next_reply_is_made_with_them(
    page: PageProcess, presets: Path, model: ModelServer
) -> None:
    """What the form does not show stays as it was; the file before it is a version."""
    before = document(presets)
    answer = send_form(page, "/presets/samplers", **samplers_form(page) | {"temperature": "0.4", "top_p": "0.9"})
    asked = say(page, model)

    assert answer.status == 303, answer.body
    assert document(presets) == before | {"temperature": 0.4, "top_p": 0.9}
    assert (asked["temperature"], asked["top_p"]) == (0.4, 0.9)
    assert json.loads((presets / ".versions" / NAME / "1.json").read_text()) == before


def test_a_sampler_that_no_model_takes_is_refused(page: PageProcess, presets: Path) -> None:
    """With the label of the field, and what was written still there."""
    before = document(presets)
    answer = send_form(page, "/presets/samplers", **samplers_form(page) | {"temperature": "9", "top_p": "0.5"})

    assert answer.status == 400
    assert "Temperature cannot be 9. Nothing was saved" in answer.body
    assert form_of(answer.body)["top_p"] == "0.5"
    assert document(presets) == before


def test_prompts_are_switched_and_moved(page: PageProcess, presets: Path) -> None:
    """A switch stands beside the file, as `/preset toggle` sets it; the order is the file's."""
    file = (presets / f"{NAME}.json").read_bytes()
    first = order_of(presets)
    send_form(page, "/presets/order", name=NAME, id="voice", action="off")
    untouched = (presets / f"{NAME}.json").read_bytes()
    at = [identifier for identifier, _ in first].index("voice")
    send_form(page, "/presets/order", name=NAME, id="voice", action="up")
    moved = order_of(presets)
    send_form(page, "/presets/order", name=NAME, id="voice", action="on")

    assert untouched == file
    assert moved[at - 1] == ("voice", False)
    assert moved[at][0] == first[at - 1][0]
    assert sorted(dict(moved)) == sorted(dict(first))
    assert dict(order_of(presets))["voice"]


def test_a_prompt_is_written_added_and_taken_out(page: PageProcess, presets: Path, model: ModelServer) -> None:
    """The next prompt is made of it."""
    changed = send_form(page, "/presets/prompt", **prompt_form(page, "main") | {"content": "Write one line."})
    added = send_form(page, "/presets/prompt", **prompt_form(page) | {"name": "Rain", "content": "It is raining."})
    asked = json.dumps(say(page, model))
    send_form(page, "/presets/prompt", name_of=NAME, id="prompt-1", action="delete")

    assert changed.status == added.status == 303
    assert "Write one line." in asked
    assert "It is raining." in asked
    assert "It is raining." not in json.dumps(document(presets))
    assert "prompt-1" not in dict(order_of(presets))


def test_what_an_editor_changed_meanwhile_is_kept(page: PageProcess, presets: Path) -> None:
    """Other fields are brought together; the same one is shown beside what was written."""
    samplers, prompt = samplers_form(page), prompt_form(page, "jailbreak")
    file = presets / f"{NAME}.json"
    theirs = document(presets) | {"temperature": 0.7}
    next(each for each in theirs["prompts"] if each["identifier"] == "jailbreak")["content"] = "Theirs."
    file.write_text(json.dumps(theirs))
    merged = send_form(page, "/presets/samplers", **samplers | {"top_p": "0.8"})
    clash = send_form(page, "/presets/samplers", **samplers | {"temperature": "0.2"})
    answer = send_form(page, "/presets/prompt", **prompt | {"content": "Mine."})
    settled = send_form(page, "/presets/prompt", **form_of(answer.body))

    assert merged.headers["location"].endswith("done=merged")
    assert clash.status == answer.status == 409
    assert "What is there now: 0.7" in clash.body
    assert (document(presets)["temperature"], document(presets)["top_p"]) == (0.7, 0.8)
    assert "Theirs." in answer.body
    assert settled.status == 303
    assert "Mine." in json.dumps(document(presets))


def test_a_preset_is_chosen_for_all_and_for_one_chat(page: PageProcess, presets: Path, model: ModelServer) -> None:
    """From the next reply on, without a terminal."""
    send_form(page, "/presets/chat", chat="1", name="none")
    without = json.dumps(say(page, model))
    send_form(page, "/presets/chat", chat="1", name=f"={NAME}")
    send_form(page, "/presets/use", name="")
    own = json.dumps(say(page, model))
    unknown = send_form(page, "/presets/use", name="Nothing")

    assert "Never speak for" not in without
    assert "Never speak for" in own
    assert PresetStore(presets).active() is None
    assert unknown.status == 400
    assert "there is no preset" in unknown.body
    assert page.ask("GET", f"/presets?name={quote('../../x')}").status == 400


def test_a_preset_is_begun_copied_and_deleted(page: PageProcess, presets: Path) -> None:
    """The plain one has SillyTavern's prompts in their usual order; nothing changes for replies until it is used."""
    store = PresetStore(presets)
    active = store.active()
    made = send_form(page, "/presets/new", name="My own", like="")
    copied = send_form(page, "/presets/new", name="Another", like=NAME)
    taken = send_form(page, "/presets/new", name="my OWN", like="")
    shown = page.ask("GET", "/presets?name=My+own").body
    order = [node.identifier for node in nodes_of(store.get("My own"), PresetFidelity.sillytavern)]
    same = (presets / "Another.json").read_bytes() == (presets / f"{NAME}.json").read_bytes()
    send_form(page, "/presets/use", name="Another")
    send_form(page, "/presets/delete", name="Another")

    assert (made.status, copied.status, taken.status) == (303, 303, 400)
    assert order[0] == "main"
    assert {"charDescription", "chatHistory", "worldInfoBefore", "jailbreak"} <= set(order)
    assert "Main Prompt" in shown
    assert active == NAME
    assert same
    assert sorted(store.names()) == ["My own", NAME]
    assert store.active() is None
