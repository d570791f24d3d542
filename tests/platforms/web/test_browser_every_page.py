"""Every kind of page before axe-core in a real Chromium: on a phone, in light and dark, and none is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config.groups import write_group
from familiar_connect.config.load import write_user_name
from tests.fakes.browser import open_visit
from tests.fakes.model_server import ModelServer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home
from tests.platforms.web import test_browser_forms, test_browser_memory
from tests.platforms.web.test_browser_chat import faults_in_light_and_dark

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page

SOURCES = Path(__file__).parents[3] / "src" / "familiar_connect" / "platforms" / "web"
ROUTE = re.compile(r'\(\s*f?"([^"]+)",\s*self\.\w+(?:,\s*"GET"\)|\),?\n)')
PAGES = (
    *("/turns", "/why", "/why?q=tea", "/memory?q=kettle", "/groups", "/picture", "/look", "/calls", "/search"),
    *("/search?q=kettle", "/chats/999", "/nowhere"),
)
"""What needs nothing to have happened, and is in no list of another test."""
PIECES = re.compile(
    r"/$|.*/(events|messages|group|export|day|whole|panel|data|rows|offer|picture|expression|aloud|sent/\{key\})$"
    r"|/look\.css|/running/.*|/chats/\{id:number\}/messages/\{turn:number\}"
)
"""Parts of a page, files, and what only leads on."""
ELSEWHERE = ("/rehearsals/1", "/places/1")
"""Looked at where they come about: `test_browser_memory.py` and `test_live_places.py`."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    """Two familiars that are a group; a model sums up what is said to the first."""
    made = tmp_path_factory.mktemp("every")
    settings = make_home(made, model) / "character.toml"
    write_user_name(settings, "Sam")
    with settings.open("a", encoding="utf-8") as file:
        file.write(f'\n[llm.history_summary]\nmodel = "test-model"\nbase_url = "{model.base_url}"\n')
    make_starter(made, "wren", name="Wren", user_name="Sam")
    write_group(made, "hearth", ["ember", "wren"])
    return made


@pytest.fixture(scope="module")
def running(home: Path) -> Iterator[PageProcess]:
    with PageProcess(home, "--familiar", "ember") as page:
        page.enter()
        yield page


@pytest.fixture(scope="module")
def happened(running: PageProcess) -> list[str]:
    """Pages of what happened: a reply, a summary that was asked for, a group that met."""
    running.ask("GET", "/chats/1")
    with running.events() as events:
        running.say("The *kettle*?")
        events.until("done")
        running.say("/compact")
        events.until("notice")

    def find(path: str, pattern: str) -> str:
        found = re.search(pattern, running.ask("GET", path).body)
        assert found is not None, f"{path} has no {pattern}"
        return found[1].replace("&amp;", "&")

    turn = find("/turns", 'href="/f/ember(/turns/[^"?/]+)"')
    line = find("/chats/1", 'data-id="([0-9]+)"')
    group = running.post("/groups/hearth/talk").headers["location"].removeprefix("/f/ember")
    return [
        *("/chats/1", turn, f"{turn}/compare", f"/chats/1/messages/{line}/edit", "/groups/hearth", group),
        find("/calls", 'href="/f/ember(/calls/[0-9]+)"'),
        find("/memory/people", 'href="/f/ember(/memory/people/forget[^"]+)"'),
    ]


def test_axe_finds_no_serious_fault_on_any_page(browser: Browser, running: PageProcess, happened: list[str]) -> None:
    """In light and dark, and none is wider than a phone."""
    size = {"width": 390, "height": 844}
    with open_visit(browser, running.address, viewport=size, color_scheme="light", reduced_motion="reduce") as visit:
        found = {}
        for path in (*PAGES, *happened):
            visit.page.goto(running.home + path)
            found[path] = faults_in_light_and_dark(visit.page)
            if not visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
                found[path].append("wider than the window")

    assert {path: faults for path, faults in found.items() if faults} == {}


def test_no_kind_of_page_is_left_out(happened: list[str]) -> None:
    """Each address that leads to a page is among those that axe looks at, here or in another test."""
    source = "".join(file.read_text(encoding="utf-8") for file in SOURCES.glob("*_pages.py"))
    kinds = {kind if kind.startswith("/") else f"/chats/{{id:number}}/{kind}" for kind in ROUTE.findall(source)}
    looked_at = (*PAGES, *happened, *test_browser_forms.PAGES, *test_browser_memory.PAGES, *ELSEWHERE)
    left = {
        kind
        for kind in kinds
        if not PIECES.fullmatch(kind)
        and not any(re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", kind), each.partition("?")[0]) for each in looked_at)
    }

    assert len(kinds) > 50
    assert left == set()
