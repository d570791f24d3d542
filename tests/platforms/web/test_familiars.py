"""Several familiars of one home on the page, over real HTTP against the real program."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.home import is_valid_familiar_id
from familiar_connect.platforms.web.addresses import split_address
from familiar_connect.platforms.web.familiar_pages import choose_id
from familiar_connect.platforms.web.familiar_shelf import FamiliarShelf
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import Answered, PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.web_form import send_form
from tests.platforms.web.test_places_and_imports import upload

pytestmark = needs_page

CARD = b'{"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira", "first_mes": "Meow, {{user}}."}}'


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("Aye.")) as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    """Ember and Wren; every familiar of it is answered for by the same model."""
    made = tmp_path_factory.mktemp("familiars")
    make_home(made, model)
    make_starter(made, "wren", name="Wren <b>", user_name="Sam")
    profile = made / "familiars" / "_default" / "character.toml"
    profile.parent.mkdir()
    profile.write_text(f'[llm.main_prose]\nmodel = "test-model"\nbase_url = "{model.base_url}"\n', encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def page(home: Path) -> Iterator[PageProcess]:
    with PageProcess(home, "--familiar", "ember") as running:
        running.enter()
        yield running


def follow(page: PageProcess, answer: Answered) -> str:
    """The page that redirects lead to."""
    for _ in range(4):
        if answer.status != 303:
            return answer.body
        answer = page.ask("GET", answer.headers["location"])
    raise AssertionError("it leads on and on")


def make(page: PageProcess, **fields: str) -> Answered:
    return page.ask(
        "POST", "/familiars", urlencode(fields), origin=page.origin, content_type="application/x-www-form-urlencoded"
    )


def test_the_menu_lists_every_familiar_and_each_has_its_own_chats(page: PageProcess, model: ModelServer) -> None:
    """Under an address of its own; what is said to one is not heard by the other."""
    first = page.ask("GET", "/chats/1").body
    other = follow(page, page.ask("GET", "/f/wren/"))
    said = page.post("/f/wren/chats/1/messages", text="Only for Wren")
    form = page.ask(
        "POST",
        "/f/wren/chats/1/messages",
        "text=And+this",
        origin=page.origin,
        content_type="application/x-www-form-urlencoded",
    )
    prompt = str(model.requests[-1].payload["messages"])
    here, there = page.ask("GET", "/chats/1").body, page.ask("GET", "/f/wren/chats/1").body

    assert 'href="/f/wren/"' in first
    assert "Wren &lt;b&gt;" in first
    assert 'data-at="/f/wren"' in other
    assert 'action="/f/wren/chats/1/messages"' in other
    assert 'href="/f/wren/settings"' in other
    assert 'href="/f/ember/"' in other
    assert (said.status, form.status) == (202, 303)
    assert form.headers["location"].startswith("/f/wren/chats/1")
    assert "You are Wren" in prompt
    assert "Only for Wren" in there
    assert "Only for Wren" not in here


def test_an_address_that_names_no_familiar_is_asked_about_and_never_obeyed(page: PageProcess) -> None:
    """`/` leads to the one the program was started for; an old address might be anyone's."""
    page.at, at = "", page.at
    start = page.ask("GET", "/")
    which = page.ask("GET", "/chats/1")
    said = page.post("/chats/1/messages", text="For whom?")
    page.at = at
    heard = [page.ask("GET", f"/f/{name}/chats/1").body for name in ("ember", "wren")]

    assert (start.status, start.headers["location"]) == (303, "/f/ember/")
    assert which.status == 300
    assert 'href="/f/ember/chats/1"' in which.body
    assert 'href="/f/wren/chats/1"' in which.body
    assert said.status == 409
    assert "does not say which familiar" in said.json()["problem"]
    assert not any("For whom?" in each for each in heard)


def test_what_is_meant_for_another_familiar_at_the_same_address_is_refused(page: PageProcess) -> None:
    """A page says whose history it shows; one that was exchanged for another hears nothing of it."""
    history = page.ask("GET", "/chats/1").headers["x-familiar-history"]
    other = page.ask("GET", "/f/wren/chats/1").headers["x-familiar-history"]
    post = {"origin": page.origin, "accept": "application/json", "content_type": "application/json"}
    words = '{"text": "Only for you"}'
    refused = page.ask("POST", "/chats/1/messages", words, **post, x_familiar_history=other)
    heard = page.ask("POST", "/chats/1/messages", words, **post, x_familiar_history=history)

    assert history != other
    assert refused.status == 409
    assert "Another familiar is at this address" in refused.json()["problem"]
    assert heard.status == 202
    assert page.ask("GET", "/chats/1").body.count("Only for you") == 1


def test_a_familiar_that_is_none_is_a_sentence_with_links_to_those_there_are(page: PageProcess) -> None:
    """There is no menu beside it; and nothing outside the home is ever looked up."""
    answers = [
        page.ask("GET", f"/f/{name}/", accept="text/html") for name in ("nobody", "_default", "..%2f..", "a" * 70)
    ]

    assert [answer.status for answer in answers] == [404, 404, 404, 404]
    assert "<p>There is no familiar nobody here. Choose one of these:</p>" in answers[0].body
    for answer in answers:
        assert 'href="/f/ember/"' in answer.body
        assert 'href="/f/wren/"' in answer.body
        assert "menu" not in answer.body


def test_a_chat_with_somebody_else_is_taken_in_where_it_is_said_to(page: PageProcess, home: Path) -> None:
    """On Ember's page one with Mallow, a familiar too, and one with somebody who is none; `{{user}}` is its user."""
    make_starter(home, "mallow", name="Mallow", user_name="Sam")
    asked = upload(page, "evening.jsonl", chat_with("Mallow"))
    owner, here = re.findall(r'name="familiar" value="(\w+)"', asked.body)
    waiting = re.search(r'name="waiting" value="(\w+)"', asked.body)
    before = [page.ask("GET", f"/f/{name}/search?q=tide").body for name in ("ember", "mallow")]
    assert waiting is not None
    foreign = send_form(page, "/import", waiting=waiting[1], familiar="nobody")
    taken = send_form(page, "/import", waiting=waiting[1], familiar=owner)
    after = [page.ask("GET", f"/f/{name}/search?q=tide").body for name in ("ember", "mallow")]
    strange = upload(page, "strange.jsonl", chat_with("Ansgar")).body
    own = upload(page, "own.jsonl", chat_with("Ember")).body

    assert "This is a chat with <strong><bdi>Mallow</bdi></strong>, not with Ember. Who gets it?" in asked.body
    assert (owner, here) == ("mallow", "ember")
    assert not any("<mark>" in body for body in before)
    assert foreign.status == 400
    assert 'href="/f/mallow/">Go there</a>' in taken.body
    assert "<mark>tide</mark>" not in after[0]
    assert "<mark>tide</mark>, Sam" in after[1]
    assert "{{user}}" not in after[1]
    assert "what <bdi>Ansgar</bdi> said counts as said by Ember" in strange
    assert "Nothing is imported yet." in strange
    assert "Who gets it?" not in own
    assert "Imported 2 of 2 messages" in own


def chat_with(name: str) -> bytes:
    """A chat of SillyTavern's whose greeting names its user by a macro."""
    rows = (
        {"user_name": "Sam", "character_name": name, "chat_metadata": {}},
        {"name": name, "is_user": False, "mes": "You made it before the tide, {{user}}."},
        {"name": "Sam", "is_user": True, "mes": "Barely."},
    )
    return "\n".join(map(json.dumps, rows)).encode()


def test_a_familiar_is_made_from_words_and_talked_with_at_once(page: PageProcess, model: ModelServer) -> None:
    """Its description is in the first prompt; the same name once more makes another."""
    made = make(page, name="Old Tom", description="You are Old Tom, a sea captain with a glass eye.")
    shown = follow(page, made)
    page.ask(
        "POST",
        "/f/old-tom/chats/1/messages",
        "text=Ahoy",
        origin=page.origin,
        content_type="application/x-www-form-urlencoded",
    )
    prompt = str(model.requests[-1].payload["messages"])
    again = make(page, name="Old Tom")

    assert made.headers["location"] == "/f/old-tom/"
    assert "Write to Old Tom" in shown
    assert "a sea captain with a glass eye" in prompt
    assert again.headers["location"] == "/f/old-tom-2/"


def test_a_familiar_is_made_from_a_card_and_greets(page: PageProcess) -> None:
    """The card's own first words stand there."""
    body = b'--xx\r\nContent-Disposition: form-data; name="card"; filename="m.json"\r\n\r\n' + CARD + b"\r\n--xx--\r\n"
    made = page.ask("POST", "/familiars", body, origin=page.origin, content_type="multipart/form-data; boundary=xx")

    assert made.headers["location"] == "/f/mira/"
    assert "Meow, " in follow(page, made)


@pytest.mark.parametrize("fields", [{}, {"name": "  "}, {"name": "--home=/tmp"}, {"name": "x" * 61}])
def test_a_name_that_is_none_is_a_sentence(page: PageProcess, home: Path, fields: dict[str, str]) -> None:
    """Nothing is made, and no name becomes an option of the program."""
    before = sorted((home / "familiars").iterdir())
    answer = make(page, **fields)

    assert answer.status == 400
    assert "a familiar needs a name" in answer.body
    assert sorted((home / "familiars").iterdir()) == before


def test_other_familiars_are_behind_the_same_guard(page: PageProcess) -> None:
    """A stranger and another site get nothing of them."""
    cookie, page.cookie = page.cookie, None
    stranger = page.ask("GET", "/f/wren/chats/1")
    page.cookie = cookie
    foreign = page.ask("POST", "/familiars", "name=Eve", origin="http://evil.example")

    assert (stranger.status, foreign.status) == (401, 403)


def test_more_familiars_than_are_open_at_once_still_answer(page: PageProcess, home: Path) -> None:
    """The one not looked at for longest is closed, and opened again when somebody does."""
    for number in range(5):
        make_starter(home, f"extra{number}")
    codes = [page.ask("GET", f"/f/extra{number}/chats/1").status for number in (0, 1, 2, 3, 4, 0)]

    assert codes == [200] * 6


def test_an_id_spells_accents_in_plain_letters() -> None:
    """As people spell them where they have no such keys."""
    assert choose_id('Zoë & "Öl" 🦊', []) == "zoe-oel"


@given(st.text(max_size=80), st.lists(st.text(max_size=10), max_size=5))
def test_any_name_gives_an_id_that_is_free(name: str, there: list[str]) -> None:
    """Of letters and digits, whatever somebody types."""
    made = choose_id(name, there)

    assert is_valid_familiar_id(made)
    assert made not in there


@given(st.text(max_size=60))
def test_an_address_is_of_one_familiar_or_of_nobody(path: str) -> None:
    """What is left of it begins with a slash, so that no route is missed."""
    familiar_id, rest = split_address(f"/f/{path}")

    assert familiar_id is None or (is_valid_familiar_id(familiar_id) and rest.startswith("/"))


def test_favourites_come_first_and_tags_find_a_familiar(tmp_path: Path) -> None:
    """Kept in the home in a file that an editor writes too; a broken one is as if there were none."""
    home = HomeFolder(tmp_path)
    shelf = FamiliarShelf(home)
    for name, tags in (("ash", ""), ("mira", "sea\n- calm, but not always\n\nsea"), ("wren", "sea")):
        folder = home.familiar(name).character
        folder.mkdir(parents=True)
        (folder / "tags.md").write_text(tags, encoding="utf-8")
    shelf.set_favourite("wren", is_one=True)
    shelf.set_favourite("mira", is_one=True)
    shelf.set_favourite("wren", is_one=False)
    shelf.set_favourite("wren", is_one=True)

    assert shelf.sort(["ash", "mira", "wren"]) == ["mira", "wren", "ash"]
    assert shelf.read_favourites() == ["mira", "wren"]
    assert shelf.read_tags("mira") == ["sea", "calm, but not always"]
    assert shelf.read_tags("ash") == []

    home.favourites_file.write_text("favourites = ", encoding="utf-8")

    assert shelf.sort(["ash", "wren"]) == ["ash", "wren"]


def test_the_list_of_familiars_is_searched_and_starred(page: PageProcess) -> None:
    """By name, description or tag; a star puts one first in the menu."""
    found = page.ask("GET", "/familiars?q=NOBODY-like-this").body
    starred = send_form(page, "/familiars/favourite", id="wren", on="1")
    menu = page.ask("GET", "/familiars").body
    unknown = send_form(page, "/familiars/favourite", id="../wren", on="1")
    send_form(page, "/familiars/favourite", id="wren", on="")

    assert "No familiar here has that." in found
    assert starred.status == 303
    assert menu.count('aria-pressed="true"') == 1
    assert unknown.status == 400
