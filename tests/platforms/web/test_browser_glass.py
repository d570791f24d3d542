"""The glass box in a real Chromium: a planted file, a planted cut, two turns side by side, and why not X."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from familiar_connect.config.load import write_user_name
from tests.fakes.browser import Visit, open_visit
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page

HERON = "Sam keeps a heron called Ignatius."
QUESTION = "Who stands by the pond?"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    """A people file, a note, and hardly any room for the examples of the character."""
    made = tmp_path_factory.mktemp("glass")
    model.script[:] = [stream_answer("A heron, I think.")]
    root = make_home(made, model)
    settings = root / "character.toml"
    write_user_name(settings, "Sam")
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("\n[budget]\n", "\n[budget]\nexamples = 40\n", 1), encoding="utf-8")
    people = root / "memory" / "people" / "terminal-you.md"
    people.parent.mkdir(parents=True, exist_ok=True)
    people.write_text(f"# Sam\n\n{HERON}\n")
    topics = root / "memory" / "topics"
    topics.mkdir(parents=True, exist_ok=True)
    (topics / "house.md").write_text("# House\n\nThe spare key lies under the blue pot.\n")
    return made


@pytest.fixture(scope="module")
def asked(running: PageProcess) -> PageProcess:
    """Two questions were answered."""
    running.ask("GET", "/chats/1")
    for question in (QUESTION, "And what does it eat?"):
        with running.events() as events:
            running.say(question)
            events.until("done")
    return running


@pytest.fixture
def visit(browser: Browser, asked: PageProcess) -> Iterator[Visit]:
    with open_visit(browser, asked.address) as opened:
        opened.page.goto(f"{asked.home}/chats/1")
        opened.page.locator("[data-ready]").wait_for()
        yield opened
    assert opened.faults == []


def test_a_planted_people_file_and_a_planted_cut_are_found(visit: Visit) -> None:
    """The block names its file as a link and shows its exact words; what was cut stands below with the reason."""
    page = visit.page
    first = page.locator(".message.own[data-turn]").first
    first.focus()
    page.locator(f'#glass .panel[data-turn="{first.get_attribute("data-turn")}"]').wait_for()
    block = page.locator("#glass .block", has=page.locator(".name", has_text="people")).first
    block.locator("summary").click()
    block.locator("pre", has_text=HERON).wait_for()
    cut = page.locator("#glass .block.cut", has_text="examples")

    assert "layer examples is full" in cut.first.inner_text()
    block.get_by_role("link", name="people/terminal-you.md").click()
    page.get_by_role("heading", name="Sam").first.wait_for()


def test_the_glass_box_walks_and_the_address_leads_back(visit: Visit) -> None:
    """`[` goes to the turn before; what is in the address is shown again when it is loaded."""
    page = visit.page
    page.locator("#glass .block").first.wait_for()
    page.wait_for_url("**turn=*")
    latest = page.url
    page.keyboard.press("Escape")
    page.keyboard.press("[")
    page.wait_for_url(lambda url: "turn=" in url and url != latest)
    chosen = page.url
    page.reload()
    page.locator("#glass .block").first.wait_for()

    assert page.url == chosen
    assert page.locator(".message.chosen .words").inner_text() == "A heron, I think."


def test_two_turns_stand_side_by_side(visit: Visit) -> None:
    """The new lines of the dialogue are what changed; what is the same is not listed."""
    page = visit.page
    page.locator("#glass").get_by_role("link", name="Compare with the turn before").click()
    page.get_by_role("heading", name="Two turns, side by side").wait_for()

    assert page.locator(".diff .came", has_text="And what does it eat?").count() == 1
    assert page.locator(".blocks", has_text="opening").count() == 0


def test_the_bar_and_the_blocks_light_each_other_up(visit: Visit) -> None:
    """Pointing at a block marks its part of the bar."""
    page = visit.page
    page.locator("#glass .block[data-layer=character] summary").first.hover()

    assert page.locator("#glass .strip rect.lit").get_attribute("data-layer") == "character"


def test_why_something_was_missed_is_answered(visit: Visit) -> None:
    """From the turn itself: what nobody ever said, and what is written but was not asked about."""
    page = visit.page
    page.locator("#glass #missed").fill("zeppelin")
    page.locator("#glass #missed").press("Enter")
    page.locator(".answer .verdict", has_text="No one ever said").wait_for()
    page.locator("#query").fill("spare key")
    page.locator("#query").press("Enter")
    page.locator(".ladder", has_text="topics/house.md line 3").wait_for()
