"""Proven delivery in a real Chromium: what was written reaches the familiar it was written to, once, whatever dies."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from benchmarks.web_delivery import Outcome, Program, judge, open_http_tabs, play, play_in_browser, running_home
from familiar_connect.bootstrap.starter import make_starter
from tests.fakes.browser import Visit
from tests.fakes.page import needs_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_page


LOSE_FIRST_ANSWER = """() => {
    const ask = window.fetch;
    window.lost = [];
    window.fetch = async (...given) => {
        const answer = await ask(...given);
        if (window.lost.length || given[1]?.method !== "POST") return answer;
        window.lost.push(answer.status);
        throw new TypeError("the answer was lost");
    };
}"""
AGE = """(by) => {
    for (const name of Object.keys(localStorage).filter((each) => each.startsWith("unsent "))) {
        const line = JSON.parse(localStorage.getItem(name));
        localStorage.setItem(name, JSON.stringify({...line, at: line.at - by}));
    }
}"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Ember and Wren on one page, at one port through every restart."""
    with running_home(tmp_path_factory.mktemp("delivery")) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, program: Program) -> Iterator[Visit]:
    context = browser.new_context()
    name, _, value = program.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": f"http://{program.host}"}])
    opened = Visit(context)
    yield opened
    context.close()
    assert opened.faults == []


def show(page: Page, program: Program, familiar: str) -> None:
    page.goto(f"http://{program.host}/f/{familiar}/chats/1")
    page.locator("[data-ready]").wait_for()


def write(page: Page, text: str) -> None:
    page.locator("#words").fill(text)
    page.locator("#words").press("Enter")


def wait_until_kept(page: Page, text: str) -> None:
    page.locator(".message.theirs[data-id] .words", has_text=text).wait_for()
    page.locator(".sent").first.wait_for(state="detached")


def count_kept(program: Program, familiar: str, text: str) -> int:
    return program.ask("GET", f"/f/{familiar}/chats/1/messages").body.count(f"{text}<")


def test_random_sequences_lose_misdirect_and_repeat_nothing(browser: Browser, program: Program) -> None:
    """Four over HTTP and one in tabs, with kills between any two steps; the benchmark plays hundreds."""
    chance, outcome = random.Random(3), Outcome()
    tabs = open_http_tabs(program, chance)
    for number in range(4):
        judge(outcome, play(program, tabs, chance, f"ci{number}"), tabs, program.home, f"ci{number}")
    seen = play_in_browser(browser, program, 1, 5, lambda words: None)

    assert program.kills > 0
    assert outcome.lines + seen.lines > 10
    assert (outcome.lost, outcome.misdirected, outcome.repeated, outcome.stuck) == ([], [], [], [])
    assert (seen.lost, seen.misdirected, seen.repeated, seen.stuck) == ([], [], [], [])


def test_a_line_waits_until_its_record_came_back(visit: Visit, program: Program) -> None:
    """Nobody answers, and it says so; then it goes by itself to whom it was for, who is not the first any more."""
    page, other = visit.page, visit.open_tab()
    show(page, program, "ember")
    show(other, program, "wren")
    program.kill()
    write(page, "Is anyone there?")
    write(other, "And there?")
    page.locator(".sent[data-state=waiting]", has_text="Not sent yet").wait_for()

    assert page.locator(".sent").get_by_role("button", name="Try again").is_visible()
    assert page.locator(".message.theirs[data-id]", has_text="Is anyone there?").count() == 0
    program.start("wren")
    wait_until_kept(page, "Is anyone there?")
    wait_until_kept(other, "And there?")
    page.locator(".notice", has_text="The program restarted").wait_for()
    assert [count_kept(program, each, "Is anyone there?") for each in ("ember", "wren")] == [1, 0]
    assert [count_kept(program, each, "And there?") for each in ("ember", "wren")] == [0, 1]


def test_a_line_outlives_a_reload_and_a_lost_answer(visit: Visit, program: Program) -> None:
    """It is sent again under the same key and is kept once; what is taken back is in the field again."""
    page = visit.page
    show(page, program, "ember")
    page.route("**/messages", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    write(page, "Through a reload")
    write(page, "Never mind")
    page.locator(".sent[data-state=waiting]", has_text="Through a reload").wait_for()
    page.locator(".sent", has_text="Never mind").get_by_role("button", name="Take it back").click()
    page.locator(".sent", has_text="Never mind").wait_for(state="detached")
    assert page.locator("#words").input_value() == "Never mind"
    page.unroute("**/messages")
    page.reload()
    wait_until_kept(page, "Through a reload")

    page.evaluate(LOSE_FIRST_ANSWER)
    write(page, "Answered to nobody")
    wait_until_kept(page, "Answered to nobody")
    assert page.evaluate("window.lost") == [202]
    assert [count_kept(program, "ember", each) for each in ("Through a reload", "Answered to nobody")] == [1, 1]


def test_what_might_surprise_waits_for_a_click(visit: Visit, program: Program) -> None:
    """A command whose answer was lost, and a line of a while ago: neither goes by itself."""
    page = visit.page
    show(page, program, "ember")
    page.route("**/messages", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    write(page, "/persona A lamp keeper")
    page.locator(".sent[data-state=waiting]", has_text="may or may not have done this").wait_for()
    write(page, "Said long ago")
    page.locator(".sent[data-state=waiting]", has_text="Said long ago").wait_for()
    page.evaluate(AGE, 11 * 60_000)
    page.unroute("**/messages")
    page.reload()
    page.locator(".sent", has_text="Written earlier and not sent.").nth(1).wait_for()
    assert count_kept(program, "ember", "Said long ago") == 0

    page.locator(".sent", has_text="Said long ago").get_by_role("button", name="Try again").click()
    page.locator(".message.theirs[data-id] .words", has_text="Said long ago").wait_for()
    page.locator(".sent").get_by_role("button", name="Take it back").click()
    page.locator(".sent").first.wait_for(state="detached")
    assert page.locator("#words").input_value() == "/persona A lamp keeper"


def test_a_familiar_that_was_exchanged_hears_nothing_meant_for_the_one_before(visit: Visit, program: Program) -> None:
    """The page says so, sends nothing more, and leads to a fresh one."""
    page = visit.page
    show(page, program, "wren")
    program.stop()
    shutil.rmtree(program.home / "familiars" / "wren")
    make_starter(program.home, "wren", name="Wren")
    program.start("ember")
    page.locator(".notice", has_text="belongs to a different familiar").wait_for()
    write(page, "For the old one")

    assert page.locator("#words").input_value() == "For the old one"
    assert count_kept(program, "wren", "For the old one") == 0
    page.get_by_role("link", name="Load the page again").click()
    page.locator("[data-ready]").wait_for()
    assert page.locator(".notice").count() == 0
