"""Personas at the page, over real HTTP: written into the settings, locked to a chat, counted at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.bootstrap.card_files.png import plain_picture
from familiar_connect.config.load import load_character_config
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import Answered, PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.waiting import wait_until
from tests.fakes.web_form import send_form
from tests.platforms.web.test_lore import form_of
from tests.platforms.web.test_pictures import send as send_picture

pytestmark = needs_page

TEXT = "A retired sailor\r\nwho keeps herons."
CAPTAIN = {"name": "Captain Robin", "text": TEXT, "position": "prompt", "role": "system"}


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("Hm.")) as server:
        yield server


@pytest.fixture
def root(tmp_path: Path, model: ModelServer) -> Path:
    return make_home(tmp_path, model)


@pytest.fixture
def page(root: Path) -> Iterator[PageProcess]:
    with PageProcess(root.parent.parent) as running:
        running.enter()
        yield running


def save(page: PageProcess, **fields: str) -> Answered:
    return send_form(page, "/personas/one", **{"depth": "2", "lorebook": "", "was": "{}"} | fields)


def say(page: PageProcess, model: ModelServer, chat: int) -> str:
    before = len(model.requests)
    page.say("Hello", chat=chat)
    wait_until(lambda: len(model.requests) > before, "the model is asked")
    return json.dumps(model.requests[-1].payload)


def test_a_persona_is_written_and_locked_to_one_chat(page: PageProcess, root: Path, model: ModelServer) -> None:
    """The next reply there knows who you are, without a restart; in another chat you are who you were."""
    file = root / "character.toml"
    before = file.read_text()
    other = int(page.post("/chats").headers["location"].rpartition("/")[2])
    made = save(page, **CAPTAIN)
    wait_until(lambda: "not in effect yet" not in page.ask("GET", "/personas").body, "the familiar is loaded again")
    send_form(page, "/personas/chat", chat="1", name="Captain Robin")
    here, there = say(page, model, 1), say(page, model, other)
    listed = page.ask("GET", "/personas").body

    assert made.status == 303, made.body
    assert load_character_config(file).personas[0].text == "A retired sailor\nwho keeps herons."
    assert "[[personas]]" in file.read_text()
    assert before.splitlines()[0] in file.read_text()
    assert "who keeps herons" in here
    assert "who keeps herons" not in there
    assert "you are <bdi>Captain Robin</bdi>" in listed


def test_a_new_name_follows_into_the_chats_and_a_conflict_shows_both(page: PageProcess, root: Path) -> None:
    """As with every form: different fields are brought together, the same one is shown."""
    save(page, **CAPTAIN)
    send_form(page, "/personas/chat", chat="1", name="Captain Robin")
    form = form_of(page.ask("GET", "/personas/one?name=Captain+Robin").body)
    file = root / "character.toml"
    file.write_text(file.read_text().replace("who keeps herons", "who keeps geese"))
    clash = send_form(page, "/personas/one", **form | {"text": "A pilot."})
    renamed = send_form(page, "/personas/one", **form | {"name": "Robin"})
    gone = send_form(page, "/personas/one", called="Robin", action="delete")

    assert clash.status == 409
    assert "who keeps geese" in clash.body
    assert renamed.headers["location"].endswith("done=merged")
    assert 'persona = "Robin"' in next((root / "channels").glob("*.toml")).read_text()
    assert gone.status == 303
    assert load_character_config(file).personas == []


def test_two_personas_of_one_name_are_refused(page: PageProcess) -> None:
    """What was written stays in the form."""
    save(page, **CAPTAIN)
    again = save(page, **CAPTAIN | {"text": "Somebody else."})

    assert again.status == 400
    assert "another persona has this name" in again.body
    assert form_of(again.body)["text"] == "Somebody else."


def test_each_persona_has_a_picture_of_its_own(page: PageProcess, root: Path) -> None:
    """Beside what one says in the chat it is locked to; it keeps its face under a new name, and it goes along."""
    save(page, **CAPTAIN)
    send_picture(page, plain_picture(8, 8), "/personas/picture?name=")
    send_picture(page, plain_picture(9, 9), "/personas/picture?name=Captain%20Robin")
    wait_until(lambda: "not in effect yet" not in page.ask("GET", "/personas").body, "the familiar is loaded again")
    other = page.post("/chats").headers["location"]
    page.say("Hello")
    before = page.ask("GET", "/chats/1").body
    send_form(page, "/personas/chat", chat="1", name="Captain Robin")
    after, elsewhere = page.ask("GET", "/chats/1").body, page.ask("GET", other).body
    renamed = send_form(
        page,
        "/personas/one",
        **form_of(page.ask("GET", "/personas/one?name=Captain+Robin").body) | {"name": "../Robin?"},
    )
    kept = [each.name for each in (root / "personas").iterdir()]
    send_form(page, "/personas/one", called="../Robin?", action="delete")

    assert (root / "you.png").read_bytes() == plain_picture(8, 8)
    assert before.count("/personas/picture?name=&amp;v=") == 2  # beside the line, and beside the field
    assert after.count("/personas/picture?name=Captain%20Robin&amp;v=") == 2
    assert "/personas/picture?name=&amp;v=" in elsewhere
    assert renamed.status == 303, renamed.body
    assert kept == ["%2E%2E%2FRobin%3F.png"]
    assert list((root / "personas").iterdir()) == []
    assert send_picture(page, b"<svg>", "/personas/picture?name=").status == 400
