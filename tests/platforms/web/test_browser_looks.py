"""How the page looks and feels in a real Chromium: faces, speech, versions within reach, and nothing that jumps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from familiar_connect.bootstrap.card_files.png import plain_picture
from tests.fakes.browser import Visit, open_visit
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.platforms.web.test_browser_chat import (
    Gate,
    answer_with,
    last_reply,
    say,
    wait_for_reply,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

pytestmark = needs_page

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
TOPS = """() => [...document.querySelectorAll(".message .words")]
    .map((each) => Math.round(each.getBoundingClientRect().top))"""
SWIPE = """(message, across) => {
    const touch = (x) => [new Touch({ identifier: 1, target: message, clientX: x, clientY: 200 })];
    const at = { bubbles: true, touches: touch(200), changedTouches: touch(200) };
    message.dispatchEvent(new TouchEvent("touchstart", at));
    message.dispatchEvent(new TouchEvent("touchend", { bubbles: true, changedTouches: touch(200 + across) }));
}"""


def size_of(part: Locator) -> tuple[float, float]:
    box = part.bounding_box()
    assert box is not None
    return box["width"], box["height"]


def test_the_arrows_of_versions_are_seen_without_pointing(visit: Visit, model: ModelServer) -> None:
    """Below the last reply, each at least 32 pixels wide and high, with their number between them."""
    answer_with(model, stream_answer("First."))
    page = visit.page
    say(page, "Hello")
    wait_for_reply(page, "First.")
    arrows = last_reply(page).locator(".versions button")

    assert page.locator(".versions:visible").count() == 1
    assert last_reply(page).locator(".versions .count").inner_text() == "1/1"
    assert min(min(size_of(arrows.nth(at))) for at in (0, 1)) >= 32


def test_arrow_keys_walk_the_versions_from_an_empty_field(visit: Visit, model: ModelServer) -> None:
    """As in SillyTavern: right past the last makes one, left goes back; in words they move the cursor."""
    answer_with(model, stream_answer("First."), stream_answer("Second."))
    page = visit.page
    say(page, "Hello")
    wait_for_reply(page, "First.")
    page.locator("#words").press("ArrowLeft")
    page.locator("#words").press("ArrowRight")
    wait_for_reply(page, "Second.")
    page.locator("#words").press("ArrowLeft")
    wait_for_reply(page, "First.")
    page.locator("#words").fill("some words")
    page.locator("#words").press("ArrowRight")
    page.locator("#words").press("ArrowLeft")

    assert last_reply(page).locator(".count").inner_text() == "1/2"
    assert page.locator(".message.notice").count() == 0


def test_a_finger_walks_the_versions(browser: Browser, running: PageProcess, model: ModelServer) -> None:
    """To the left the next one, to the right the one before; arrows are as large as a thumb."""
    answer_with(model, stream_answer("First."), stream_answer("Second."))
    path = running.post("/chats").headers["location"]
    with open_visit(browser, running.address, **PHONE) as visit:
        page = visit.page
        page.goto(f"{running.origin}{path}")
        page.locator("[data-ready]").wait_for()
        say(page, "Hello")
        wait_for_reply(page, "First.")
        arrows = last_reply(page).locator(".versions button")
        assert min(min(size_of(arrows.nth(at))) for at in (0, 1)) >= 44
        last_reply(page).evaluate(SWIPE, -120)
        wait_for_reply(page, "Second.")
        last_reply(page).evaluate(SWIPE, 120)
        wait_for_reply(page, "First.")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("size", [PHONE, {"viewport": {"width": 1280, "height": 800}}])
def test_nothing_jumps_while_a_reply_streams_and_ends(
    browser: Browser, running: PageProcess, model: ModelServer, size: dict[str, Any]
) -> None:
    """What stands in the chat stays where it is, and so does the beginning of the reply itself."""
    gate = Gate(model)
    answer_with(model, stream_answer("One."), gate.between('She says: "Come', ' in," and *waves*.'))
    path = running.post("/chats").headers["location"]
    with open_visit(browser, running.address, **size) as visit:
        page = visit.page
        page.goto(f"{running.origin}{path}")
        page.locator("[data-ready]").wait_for()
        say(page, "Hello")
        wait_for_reply(page, "One.")
        say(page, "Again")
        page.locator(".live .words q", has_text="Come").wait_for()
        during = page.evaluate(TOPS)
        gate.open()
        wait_for_reply(page, "and waves.")
        assert page.evaluate(TOPS) == during


def test_speech_has_a_colour_of_its_own(visit: Visit, model: ModelServer) -> None:
    """Other than what is told around it; its marks are those that were written, once."""
    answer_with(model, stream_answer('*She looks up.* "Come in," she says, “and sit.” `say("x")`'))
    page = visit.page
    say(page, "Hello")
    wait_for_reply(page, "Come in,")
    speech = last_reply(page).locator("q")
    colours = "(each) => [getComputedStyle(each).color, getComputedStyle(each.closest('.words')).color]"
    own, around = speech.first.evaluate(colours)

    assert speech.all_inner_texts() == ['"Come in,"', "“and sit.”"]
    assert own != around
    assert speech.first.evaluate("(each) => getComputedStyle(each, '::before').content") == "none"


def test_a_picture_is_chosen_on_the_page(
    visit: Visit, running: PageProcess, tmp_path: Path, model: ModelServer
) -> None:
    """From the face above the chat; then it stands beside what the familiar says, while that streams too."""
    file = tmp_path / "face.png"
    file.write_bytes(plain_picture(400, 600))
    page = visit.page
    here = page.url
    page.get_by_role("link", name="Ember’s picture; change it").click()
    page.locator("[data-ready]").wait_for()
    page.locator("#file").set_input_files(file)
    page.get_by_role("button", name="Use it").click()
    page.get_by_role("button", name="Take it away").wait_for()
    page.goto(here)
    page.locator("[data-ready]").wait_for()
    gate = Gate(model)
    answer_with(model, gate.between("Hm", "."))
    say(page, "Hello")
    page.locator(".live .words", has_text="Hm").wait_for()
    drawn = "(each) => each.decode().then(() => each.naturalWidth)"
    try:
        assert page.locator(".live .avatar img").evaluate(drawn) > 0
        assert page.locator(".side summary .avatar img").first.evaluate(drawn) > 0
    finally:
        gate.open()
        wait_for_reply(page, "Hm.")
        running.post("/picture/remove")


def test_a_menu_closes_when_one_turns_elsewhere(visit: Visit) -> None:
    """With a click beside it, and with Escape."""
    page = visit.page
    page.locator(".pop summary").click()
    page.locator(".pop[open] .menu-list").wait_for()
    page.locator(".log").click()
    page.locator(".pop[open]").wait_for(state="detached")
    page.locator(".pop summary").click()
    page.locator(".pop[open] .menu-list").wait_for()
    page.keyboard.press("Escape")
    page.locator(".pop[open]").wait_for(state="detached")


def test_the_glass_box_says_that_a_reply_is_under_way_only_while_it_is(visit: Visit, model: ModelServer) -> None:
    """A look at what is running that comes too late changes nothing."""
    answer_with(model, stream_answer("First."))
    page = visit.page
    say(page, "Hello")
    wait_for_reply(page, "First.")
    page.locator(".glass-title", has_text="What it saw · latest").wait_for()
    page.locator(".chat").evaluate("(chat) => chat.dispatchEvent(new CustomEvent('first-words'))")

    assert page.locator(".glass-title").inner_text() == "What it saw · latest"


def test_a_file_over_the_page_is_told_what_comes_of_it(visit: Visit) -> None:
    """Until it leaves again; over the field it goes with the message."""
    page = visit.page
    over = """(part) => {
        const data = new DataTransfer();
        data.items.add(new File(["x"], "x.md"));
        part.dispatchEvent(new DragEvent("dragover", { bubbles: true, cancelable: true, dataTransfer: data }));
    }"""
    page.locator(".log").evaluate(over)
    page.locator("#drop-veil", has_text="Drop it to import it").wait_for()
    page.locator(".composer").evaluate(over)

    assert page.locator("#drop-veil").is_hidden()
