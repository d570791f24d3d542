"""A long chat in a real Chromium: it comes as one scrolls, what is far away is let go, and nothing jumps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from familiar_connect.config.load import write_user_name
from familiar_connect.history.store import HistoryStore
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from tests.fakes.browser import Visit, open_visit
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home
from tests.platforms.web.test_browser_chat import answer_with, last_reply, say, wait_for_reply

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_page

LINES = 400
WORDS = "Line {}. " + "The lamp of the lighthouse was out again, and we went up to look. " * 3
SCROLL = """([across, until]) => new Promise((done) => {
    const log = document.querySelector(".log");
    const seen = new Set();
    let most = 0;
    const step = () => {
        const lines = [...document.querySelectorAll(".log [data-id]")];
        lines.forEach((line) => seen.add(Number(line.dataset.id)));
        most = Math.max(most, lines.length);
        if (seen.has(until)) { done([[...seen].sort((a, b) => a - b), most]); return; }
        log.scrollTop += across;
        requestAnimationFrame(step);
    };
    step();
})"""
IN_VIEW = """() => {
    const log = document.querySelector(".log").getBoundingClientRect();
    const line = [...document.querySelectorAll(".log [data-id]")]
        .find((each) => each.getBoundingClientRect().top > log.top + 50);
    return [line.dataset.id, Math.round(line.getBoundingClientRect().top)];
}"""
TOP_OF = """(id) => Math.round(document.querySelector(`[data-id="${id}"]`).getBoundingClientRect().top)"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    """A home whose familiar has talked for long."""
    made = tmp_path_factory.mktemp("long")
    root = make_home(made, model)
    write_user_name(root / "character.toml", "Sam")
    store = HistoryStore(root / "history.db")
    for number in range(LINES):
        role = "user" if number % 2 else "assistant"
        store.append_turn(familiar_id="ember", channel_id=CHANNEL_ID, role=role, content=WORDS.format(number))
    store.close()
    return made


@pytest.fixture
def visit(browser: Browser, running: PageProcess) -> Iterator[Visit]:
    """Somebody at the end of it."""
    with open_visit(browser, running.address) as opened:
        opened.page.goto(f"{running.home}/chats/{CHANNEL_ID}")
        opened.page.locator("[data-ready]").wait_for()
        yield opened
    assert opened.faults == []


def scroll(page: Page, across: int, until: int) -> tuple[list[int], int]:
    """Scroll until a line is there: the lines that were, and how many at once at most."""
    seen, most = page.evaluate(SCROLL, [across, until])
    return seen, most


def test_every_line_comes_as_one_scrolls_up_and_none_is_missing(visit: Visit) -> None:
    """Up to the first; the page never holds half of them, and holds the end still."""
    page = visit.page
    last = int(page.locator(".log [data-id]").last.get_attribute("data-id") or 0)
    seen, most = scroll(page, -400, last - LINES + 1)

    assert seen == list(range(last - LINES + 1, last + 1))
    assert most < LINES / 2
    assert page.locator(".log [data-id]").last.get_attribute("data-id") == str(last)
    page.locator(".log").evaluate("(log) => { log.scrollTop = 0; }")
    page.locator("[data-earlier]").wait_for(state="detached")
    back, most = scroll(page, 400, last - 100)
    assert back[-1] == last
    assert most < LINES / 2


def test_what_is_in_view_stays_where_it_is_when_earlier_lines_come(visit: Visit) -> None:
    """The line under the eye does not move by a pixel."""
    page = visit.page
    page.locator(".log").evaluate("(log) => { log.scrollTop = log.scrollHeight; }")
    before = page.locator(".log [data-id]").count()
    name, top = page.evaluate(IN_VIEW)
    page.locator("[data-earlier]").evaluate("(button) => button.click()")
    page.wait_for_function("(before) => document.querySelectorAll('.log [data-id]').length > before", arg=before)

    assert page.evaluate(TOP_OF, name) == top


def test_a_line_of_long_ago_that_changed_reads_so_when_it_is_seen_again(
    visit: Visit, running: PageProcess, model: ModelServer
) -> None:
    """What was let go is asked for again, as it reads by then; the end is answered in as ever."""
    answer_with(model, stream_answer("Here I am."))
    page = visit.page
    last = int(page.locator(".log [data-id]").last.get_attribute("data-id") or 0)
    far = last - 150
    scroll(page, -400, last - LINES + 1)
    page.locator(f'[data-id="{far}"]').wait_for(state="detached")
    assert running.post(f"/chats/{CHANNEL_ID}/messages/{far}/edit", text="It reads otherwise now.").status == 200
    scroll(page, 300, far)
    page.locator(f'[data-id="{far}"]', has_text="It reads otherwise now.").wait_for()
    assert running.post(f"/chats/{CHANNEL_ID}/messages/{last - LINES + 1}/hide").status == 200, "the very first"
    say(page, "Are you there?")
    wait_for_reply(page, "Here I am.")

    assert last_reply(page).locator(".versions:visible").count() == 1
    assert page.locator(".versions:visible").count() == 1


def test_earlier_lines_are_read_without_scripts(browser: Browser, running: PageProcess) -> None:
    """As a page of their own, with a way back to the end."""
    with open_visit(browser, running.address, java_script_enabled=False) as visit:
        page = visit.page
        page.goto(f"{running.home}/chats/{CHANNEL_ID}")
        first = int(page.locator("[data-id]").first.get_attribute("data-id") or 0)
        page.get_by_role("link", name="Earlier messages").click()
        page.get_by_role("link", name="To the latest line").wait_for()

        assert int(page.locator("[data-id]").first.get_attribute("data-id") or 0) < first
        assert page.locator(f'[data-id="{first}"]').count() == 1


def test_a_line_of_a_million_characters_is_not_drawn_whole(
    visit: Visit, running: PageProcess, model: ModelServer
) -> None:
    """Its beginning, how much is missing, and a link to all of it as plain text."""
    answer_with(model, stream_answer("That was long."))
    page = visit.page
    say(page, "y" * 1_000_000)
    wait_for_reply(page, "That was long.")
    line = page.locator(".message.theirs[data-id]").last
    line.locator(".rest").first.wait_for()
    address = line.get_by_role("link", name="All of it, as plain text").get_attribute("href")

    assert len(line.inner_text()) < 25_000
    assert "980,000 more characters" in line.inner_text()
    assert len(running.ask("GET", str(address)).body) == 1_000_000
