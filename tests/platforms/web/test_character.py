"""The character at the page, over real HTTP: the form writes the files of `self/`, and a conflict loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.presets.greetings import GREETING_BREAK, split_greetings
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import Answered, PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.waiting import wait_until
from tests.fakes.web_form import send_form
from tests.platforms.web.test_lore import form_of

pytestmark = needs_page


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("Hm.")) as server:
        yield server


@pytest.fixture
def own(tmp_path: Path, model: ModelServer) -> Path:
    """The folder `self` of the familiar."""
    return make_home(tmp_path, model) / "memory" / "self"


@pytest.fixture
def page(own: Path) -> Iterator[PageProcess]:
    with PageProcess(own.parents[3]) as running:
        running.enter()
        yield running


def opened(page: PageProcess) -> dict[str, str]:
    return form_of(page.ask("GET", "/character").body)


def save(page: PageProcess, form: dict[str, str], **changed: str) -> Answered:
    return send_form(page, "/character", **(form | changed))


def test_the_form_writes_the_files_that_an_editor_would(page: PageProcess, own: Path, model: ModelServer) -> None:
    """The next reply is made with them; a field left empty has no file, and an untouched one stays byte for byte."""
    before = (own / "mes_example.md").read_bytes()
    form = opened(page)
    answer = save(
        page,
        form,
        name="Cinder",
        description="Cinder lives in\r\na stove.",
        scenario="It is winter.",
        tags="warm\r\nsmall",
        first_mes="Good evening.",
        greeting_1="Come in!",
        greeting_2="You again?\r\nSit down.",
    )
    shown = page.ask("GET", "/character").body
    save(page, form_of(shown), scenario="", greeting_1="")
    page.say("Who are you?")
    wait_until(lambda: "Hm." in page.ask("GET", "/chats/1/messages").body, "it is answered")

    assert answer.headers["location"].endswith("/character?done=saved")
    assert (own / "description.md").read_text() == "Cinder lives in\na stove."
    assert (own / "name.md").read_text() == "Cinder"
    assert (own / "tags.md").read_text() == "warm\nsmall"
    assert (own / "mes_example.md").read_bytes() == before
    assert "Come in!" in shown
    assert split_greetings((own / "alternate_greetings.md").read_text()) == ("You again?\nSit down.",)
    assert not (own / "scenario.md").exists()
    assert "Cinder lives in" in str(model.requests[-1].payload)


def test_more_greetings_than_fields_stay(page: PageProcess, own: Path) -> None:
    """The last field holds those that have none of their own."""
    many = [f"Greeting {number}." for number in range(40)]
    (own / "alternate_greetings.md").write_text(f"\n{GREETING_BREAK}\n".join(many))
    save(page, opened(page), greeting_1="Another one.")

    assert split_greetings((own / "alternate_greetings.md").read_text()) == ("Another one.", *many[1:])


def test_a_field_that_changed_meanwhile_is_shown_and_the_rest_is_saved(page: PageProcess, own: Path) -> None:
    """Saving again, with what is there now in view, settles it."""
    form = opened(page)
    (own / "description.md").write_text("Theirs.\n")
    answer = save(page, form, description="Mine.", personality="Kind.")
    again = form_of(answer.body)
    standing = (own / "description.md").read_text()
    settled = save(page, again)

    assert answer.status == 409
    assert "A field changed while you wrote." in answer.body
    assert "Theirs." in answer.body
    assert again["description"] == "Mine."
    assert standing == "Theirs.\n"
    assert (own / "personality.md").read_text() == "Kind."
    assert settled.status == 303
    assert (own / "description.md").read_text() == "Mine."


def test_different_lines_of_one_field_are_brought_together(page: PageProcess, own: Path) -> None:
    """As in the form of a memory file."""
    (own / "description.md").write_text("one\ntwo\nthree\n")
    save(page, opened(page), description="one\ntwo\nthree\nfour\n")
    form = opened(page)
    (own / "description.md").write_text("ONE\ntwo\nthree\nfour\n")
    answer = save(page, form, description="one\ntwo\nthree\nFOUR\n")

    assert answer.status == 303
    assert (own / "description.md").read_text() == "ONE\ntwo\nthree\nFOUR\n"


def test_what_is_too_long_stays_in_the_form(page: PageProcess, own: Path) -> None:
    """With a sentence that names the field; the others are saved."""
    before = (own / "description.md").read_text()
    answer = save(page, opened(page), description="x" * 400_000, personality="Kind.")

    assert answer.status == 400
    assert "Description: " in answer.body
    assert "x" * 400_000 in answer.body
    assert (own / "description.md").read_text() == before
    assert (own / "personality.md").read_text() == "Kind."
