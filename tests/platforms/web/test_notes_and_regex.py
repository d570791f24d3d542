"""The author's note and regex scripts at the page, over real HTTP: written, counted at once, conflicts shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.waiting import wait_until
from tests.fakes.web_form import send_form
from tests.platforms.web.test_lore import form_of

pytestmark = needs_page


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("Hm, the cat sat.")) as server:
        yield server


@pytest.fixture
def root(tmp_path: Path, model: ModelServer) -> Path:
    return make_home(tmp_path, model)


@pytest.fixture
def page(root: Path) -> Iterator[PageProcess]:
    with PageProcess(root.parent.parent) as running:
        running.enter()
        yield running


def say(page: PageProcess, model: ModelServer, words: str = "Hello") -> str:
    """What the model is asked for the next line."""
    before = len(model.requests)
    page.say(words)
    wait_until(lambda: len(model.requests) > before, "the model is asked")
    return json.dumps(model.requests[-1].payload)


def script_of(page: PageProcess, key: str = "") -> dict[str, str]:
    return form_of(page.ask("GET", f"/regex/script?id={quote(key)}").body)


def own_scripts(root: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((root / "regex.json").read_text())["scripts"]
    return found


def test_a_note_counts_from_the_next_reply_on_in_its_chat_alone(
    page: PageProcess, root: Path, model: ModelServer
) -> None:
    """It stands in the chat's own file of settings; left empty it is gone."""
    form = form_of(page.ask("GET", "/note?chat=1").body)
    answer = send_form(page, "/note", **form | {"author_note": "It is snowing.", "author_note_depth": "1"})
    asked = say(page, model)
    file = next((root / "channels").glob("*.toml"))
    text = file.read_text()
    shown = form_of(page.ask("GET", "/note?chat=1").body)
    send_form(page, "/note", **shown | {"author_note": ""})

    assert answer.status == 303, answer.body
    assert "It is snowing." in asked
    assert 'author_note = "It is snowing."' in text
    assert "author_note_depth = 1" in text
    assert "author_note" not in file.read_text()
    assert "It is snowing." not in say(page, model, "And now?")


def test_a_note_that_an_editor_changed_meanwhile_shows_both(page: PageProcess, root: Path) -> None:
    """Nothing is saved and nothing is lost."""
    send_form(page, "/note", **form_of(page.ask("GET", "/note?chat=1").body) | {"author_note": "one"})
    form = form_of(page.ask("GET", "/note?chat=1").body)
    file = next((root / "channels").glob("*.toml"))
    file.write_text(file.read_text().replace('"one"', '"theirs"'))
    answer = send_form(page, "/note", **form | {"author_note": "mine"})
    settled = send_form(page, "/note", **form_of(answer.body))

    assert answer.status == 409
    assert "This note changed while you wrote." in answer.body
    assert "theirs" in answer.body
    assert settled.status == 303
    assert 'author_note = "mine"' in file.read_text()


def test_what_no_note_can_have_is_refused(page: PageProcess) -> None:
    """With what was written still there."""
    form = form_of(page.ask("GET", "/note?chat=1").body)
    answer = send_form(page, "/note", **form | {"author_note": "kept words", "author_note_depth": "-4"})

    assert answer.status == 400
    assert "Depth must be a whole number from 0 to 10,000" in answer.body
    assert form_of(answer.body)["author_note"] == "kept words"


def test_a_script_is_written_tried_and_rewrites_the_next_reply(
    page: PageProcess, root: Path, model: ModelServer
) -> None:
    """It runs without another question: the owner wrote it. The file is SillyTavern's form."""
    made = send_form(
        page,
        "/regex/script",
        **script_of(page) | {"scriptName": "Cats", "findRegex": r"/\bcat(s)?\b/gi", "replaceString": "dog$1"},
    )
    key = own_scripts(root)[0]["id"]
    tried = page.ask("GET", f"/regex/script?id={key}&text={quote('Cats and a cat.')}").body
    say(page, model)
    wait_until(lambda: "the dog sat" in page.ask("GET", "/chats/1/messages").body, "the reply is rewritten")
    send_form(page, "/regex/switch", number="0", name="Cats", on="")
    listed = page.ask("GET", "/regex").body
    gone = send_form(page, "/regex/script", id=key, action="delete")

    assert made.status == 303, made.body
    assert "dogs and a dog." in tried
    assert 'aria-pressed="false" aria-label="Cats">Off' in listed
    assert gone.status == 303
    assert own_scripts(root) == []


def test_a_script_that_cannot_run_stays_in_the_form(page: PageProcess, root: Path) -> None:
    """The sentence says why."""
    answer = send_form(page, "/regex/script", **script_of(page) | {"scriptName": "Bad", "findRegex": "/(/"})

    assert answer.status == 400
    assert "the pattern cannot be run" in answer.body
    assert not (root / "regex.json").exists()


def test_scripts_that_an_editor_changed_meanwhile_are_not_mixed(page: PageProcess, root: Path) -> None:
    """Two changes of different fields are brought together; a script that took another's place is not written over."""
    file = root / "regex.json"
    first = {"scriptName": "A", "findRegex": "/a/g", "replaceString": "b", "placement": [2], "extra": {"kept": 1}}
    file.write_text(json.dumps({"scripts": [first]}))
    form = script_of(page, "#0")
    file.write_text(json.dumps({"scripts": [first | {"findRegex": "/aa/g"}]}))
    merged = send_form(page, "/regex/script", **form | {"replaceString": "c"})
    both = own_scripts(root)
    file.write_text(json.dumps({"scripts": [first | {"scriptName": "B"}, first]}))
    other = send_form(page, "/regex/script", **form | {"replaceString": "d"})

    assert merged.headers["location"].endswith("done=merged")
    assert both == [first | {"findRegex": "/aa/g", "replaceString": "c"}]
    assert other.status == 400
    assert "the scripts changed meanwhile" in other.body
