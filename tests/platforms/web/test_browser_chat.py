"""Talking on the page in a real Chromium: what a person sees and does, with mouse, keyboard, phone and several tabs."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from familiar_connect.platforms import web
from tests.fakes.browser import Visit, open_visit
from tests.fakes.model_server import DONE, Answer, ModelServer, answer_after, event, head, raw_answer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = needs_page

STATIC = Path(web.__file__).parent / "static"
HOSTILE = (
    "<script>alert(1)</script> [x](javascript:alert(1)) <img src=https://evil.example/x onerror=alert(1)> "
    "![p](https://evil.example/p.png) <svg onload=alert(1)></svg> \u202egnp.exe "
)
BRACKETS = " ".join(f"{'[' * 50} and {number}" for number in range(40))
"""Nested two thousand deep, with words between: a row of one sign alone would be thrown away as no reply."""


class Gate:
    """Holds a reply back in its middle."""

    def __init__(self, model: ModelServer) -> None:
        self._model = model
        self._opened = asyncio.Event()

    def between(self, first: str, second: str) -> Answer:
        rest = raw_answer(event(second), event(finish="stop"), DONE)
        return raw_answer(head(), event(first), then=answer_after(self._opened, rest))

    def open(self) -> None:
        assert self._model._server is not None
        self._model._server.get_loop().call_soon_threadsafe(self._opened.set)


def answer_with(model: ModelServer, *answers: Answer) -> None:
    model.script[:] = answers


def say(page: Page, text: str) -> None:
    page.locator("#words").fill(text)
    page.locator("#words").press("Enter")


def replies(page: Page) -> Locator:
    return page.locator(".message.own[data-id]:not(.live) .words")


def last_reply(page: Page) -> Locator:
    return page.locator(".message.own[data-id]").last


def wait_for_reply(page: Page, text: str) -> None:
    """The last reply reads *text*, and nothing more is being said."""
    page.locator(".message.own[data-id]:not(.live) .words").last.filter(has_text=text).wait_for()
    page.locator(".chat:not(.busy)").wait_for()


def test_tokens_are_seen_as_they_come_and_the_reply_stays(visit: Visit, model: ModelServer) -> None:
    """Markdown and actions are drawn while it streams; nothing is shown twice afterwards."""
    gate = Gate(model)
    answer_with(model, gate.between("*smiles* The kettle ", "is **on**."))
    page = visit.page
    say(page, "Is there tea?")

    page.locator(".live .words em", has_text="smiles").wait_for()
    page.locator("#glass .time-row", has_text="assemble").wait_for()
    assert page.locator(".glass-title").inner_text() == "Reply under way…"
    assert page.locator(".stop").is_visible()
    gate.open()
    wait_for_reply(page, "The kettle is on.")
    page.locator("#glass .block").first.wait_for()

    assert last_reply(page).locator("strong").inner_text() == "on"
    assert page.get_by_text("Is there tea?", exact=True).count() == 1
    assert page.locator(".stop").is_hidden()


def test_stop_ends_a_reply_and_keeps_what_was_said(visit: Visit, model: ModelServer) -> None:
    """The button, while the reply is under way."""
    answer_with(model, Gate(model).between("Once upon a time", " never"), stream_answer("Hm."))
    page = visit.page
    say(page, "A story!")
    page.locator(".live .words", has_text="Once upon").wait_for()
    page.locator(".stop").click()
    wait_for_reply(page, "Once upon a time")

    assert replies(page).last.inner_text().strip() == "Once upon a time"


def test_versions_are_made_and_walked(visit: Visit, model: ModelServer) -> None:
    """Regenerate makes a second one where the first stood; the arrows go back and on."""
    answer_with(model, stream_answer("First."), stream_answer("Second."))
    page = visit.page
    say(page, "Say something")
    wait_for_reply(page, "First.")
    count = replies(page).count()
    last_reply(page).hover()
    last_reply(page).get_by_role("button", name="Regenerate").click()
    wait_for_reply(page, "Second.")
    assert last_reply(page).locator(".count").inner_text() == "2/2"

    last_reply(page).hover()
    last_reply(page).get_by_role("button", name="Version before").click()
    wait_for_reply(page, "First.")

    assert last_reply(page).locator(".count").inner_text() == "1/2"
    assert replies(page).count() == count


def test_undo_takes_the_last_exchange_back(visit: Visit, model: ModelServer) -> None:
    """Both lines go, here and in the next prompt."""
    answer_with(model, stream_answer("A slip."), stream_answer("Better."))
    page = visit.page
    say(page, "A mistake")
    wait_for_reply(page, "A slip.")
    page.locator(".pop summary").click()
    page.get_by_role("button", name="Undo the last exchange").click()
    page.get_by_text("A mistake", exact=True).wait_for(state="detached")
    page.get_by_text("A slip.", exact=True).wait_for(state="detached")
    say(page, "Again")
    wait_for_reply(page, "Better.")

    assert "A mistake" not in str(model.requests[-1].payload)


def test_a_line_is_edited_where_it_stands(visit: Visit, model: ModelServer) -> None:
    """It reads so for the model too; Escape leaves it as it was."""
    answer_with(model, stream_answer("The pot is red."), stream_answer("Quite sure."))
    page = visit.page
    say(page, "Which pot?")
    wait_for_reply(page, "The pot is red.")
    last_reply(page).hover()
    last_reply(page).get_by_role("link", name="Edit").click()
    field = last_reply(page).locator("textarea")
    assert field.input_value() == "The pot is red."
    field.press("Escape")
    assert replies(page).last.inner_text().strip() == "The pot is red."
    last_reply(page).hover()
    last_reply(page).get_by_role("link", name="Edit").click()
    field.fill("The pot is **blue**.")
    last_reply(page).get_by_role("button", name="Save").click()
    last_reply(page).locator("strong", has_text="blue").wait_for()
    say(page, "Sure?")
    wait_for_reply(page, "Quite sure.")

    assert "The pot is **blue**." in str(model.requests[-1].payload)


def test_continue_goes_on_and_branch_goes_another_way(visit: Visit, model: ModelServer) -> None:
    """The reply grows where it stands; the branch is a chat of its own with the same lines."""
    answer_with(model, stream_answer("One, two,"), stream_answer(" three."))
    page = visit.page
    say(page, "Count")
    wait_for_reply(page, "One, two,")
    here = page.url
    last_reply(page).hover()
    last_reply(page).get_by_role("button", name="Continue").click()
    wait_for_reply(page, "three.")
    assert "One, two," in replies(page).last.inner_text()
    last_reply(page).hover()
    last_reply(page).get_by_role("button", name="Branch").click()
    page.wait_for_url(lambda url: url.split("?")[0] != here.split("?")[0])

    assert "three." in replies(page).last.inner_text()


def test_everything_can_be_done_with_the_keyboard_alone(visit: Visit, model: ModelServer) -> None:
    """Send, leave the field, regenerate, swipe back, look into the glass box, undo."""
    answer_with(model, stream_answer("One."), stream_answer("Two."))
    page, keys = visit.page, visit.page.keyboard
    keys.press("Escape")
    keys.press("/")
    keys.type("Hello")
    keys.press("Enter")
    wait_for_reply(page, "One.")
    keys.press("Escape")
    keys.press("r")
    wait_for_reply(page, "Two.")
    keys.press("ArrowLeft")
    wait_for_reply(page, "One.")
    keys.press("i")
    page.locator("#glass").wait_for(state="hidden")
    keys.press("i")
    page.locator("#glass .block").first.wait_for()
    keys.press("u")
    page.get_by_text("Hello", exact=True).wait_for(state="detached")
    keys.press("?")
    page.get_by_role("dialog").wait_for()
    keys.press("Escape")
    keys.press("g")
    keys.press("t")
    page.wait_for_url("**/turns")


def test_two_tabs_see_the_same(visit: Visit, model: ModelServer) -> None:
    """What is said in one streams in the other, and an undo there is seen here."""
    gate = Gate(model)
    answer_with(model, gate.between("Half ", "whole."))
    one, other = visit.page, visit.open_tab()
    other.goto(one.url)
    other.locator("[data-ready]").wait_for()
    say(one, "Both of you")
    other.locator(".live .words", has_text="Half").wait_for()
    gate.open()
    wait_for_reply(other, "Half whole.")
    other.keyboard.press("Escape")
    other.keyboard.press("u")
    one.get_by_text("Both of you", exact=True).wait_for(state="detached")
    one.get_by_text("Half whole.").first.wait_for(state="detached")


def test_hostile_words_do_nothing(visit: Visit, model: ModelServer) -> None:
    """From the person and from the model: no script, no picture, no request elsewhere, no wide page."""
    answer_with(model, stream_answer(HOSTILE + BRACKETS))
    page = visit.page
    say(page, HOSTILE + "[" * 2000)
    wait_for_reply(page, "alert(1)")

    assert page.locator(".words script, .words img, .words svg, .words a[href^=javascript]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert visit.faults == []


def test_a_line_of_a_million_characters_leaves_the_page_usable(visit: Visit, model: ModelServer) -> None:
    """It is shown plainly in a box of its own, and the next line is answered."""
    answer_with(model, stream_answer("That was long."), stream_answer("Short."))
    page = visit.page
    say(page, "x" * 1_000_000)
    wait_for_reply(page, "That was long.")
    assert page.locator(".message.theirs .plain").count() == 1
    say(page, "Be short")
    wait_for_reply(page, "Short.")

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_phone_has_everything_within_reach(browser: Browser, running: PageProcess, model: ModelServer) -> None:
    """Nothing is wider than the screen; the field stays in view, the menu opens, the glass box is a sheet."""
    answer_with(model, stream_answer("A reply."))
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with open_visit(browser, running.address, **phone) as visit:
        page = visit.page
        page.locator("[data-ready]").wait_for()
        say(page, "Hello from the bus")
        wait_for_reply(page, "A reply.")
        field = page.locator(".composer").bounding_box()
        page.locator("[data-glass-open]").tap()
        page.locator("#glass .block").first.wait_for()
        sheet = page.locator("#glass").bounding_box()
        page.locator("[data-glass-close]").tap()
        page.locator(".menu > summary").tap()
        page.get_by_role("link", name="Memory").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert visit.faults == []

    assert field is not None
    assert field["y"] + field["height"] <= 844
    assert sheet is not None
    assert sheet["width"] >= 380
    assert sheet["y"] > 60


def test_it_works_before_any_script(browser: Browser, running: PageProcess, model: ModelServer) -> None:
    """Send, another version, edit, undo: each a form whose answer is the chat."""
    answer_with(model, stream_answer("Plain."), stream_answer("Simple."))
    path = running.post("/chats").headers["location"]
    with open_visit(browser, running.address, java_script_enabled=False) as visit:
        page = visit.page
        page.goto(f"{running.origin}{path}")
        page.locator("#words").fill("Without a script")
        page.get_by_role("button", name="Send").click()
        assert replies(page).last.inner_text().strip() == "Plain."
        last_reply(page).get_by_role("button", name="Regenerate").click()
        assert replies(page).last.inner_text().strip() == "Simple."
        last_reply(page).get_by_role("link", name="Edit").click()
        page.locator("#line").fill("Edited.")
        page.get_by_role("button", name="Save").click()
        assert replies(page).last.inner_text().strip() == "Edited."
        page.locator(".pop summary").click()
        page.get_by_role("button", name="Undo the last exchange").click()
        assert page.get_by_text("Without a script").count() == 0


def test_a_restart_of_the_program_is_survived(browser: Browser, tmp_path: Path) -> None:
    """The tab says that the connection is lost, finds the program again, and goes on where it was."""
    with model_endpoint(stream_answer("Before."), stream_answer("After.")) as model:
        make_home(tmp_path, model)
        with PageProcess(tmp_path) as first:
            port = int(first.host.rpartition(":")[2])
            opened = open_visit(browser, first.address)
            visit = opened.__enter__()
            page = visit.page
            page.locator("[data-ready]").wait_for()
            say(page, "One")
            wait_for_reply(page, "Before.")
        try:
            page.locator(".status", has_text="connection lost").wait_for()
            with PageProcess(tmp_path, port=port):
                page.locator(".status[data-lost]").wait_for(state="detached")
                say(page, "Two")
                wait_for_reply(page, "After.")
                assert page.get_by_text("Before.", exact=True).count() == 1
        finally:
            opened.__exit__(None, None, None)


@pytest.mark.parametrize("path", ["", "/turns", "/why?q=tea", "/memory"])
def test_axe_finds_no_serious_fault(browser: Browser, running: PageProcess, model: ModelServer, path: str) -> None:
    """Labels, focus, contrast, structure, by the rules that are published for it, in light and dark."""
    answer_with(model, stream_answer("A *reply* with `code`."))
    with open_visit(browser, running.address, color_scheme="light", reduced_motion="reduce") as visit:
        page = visit.page
        if path:
            page.goto(running.origin + path)
        else:
            page.locator("[data-ready]").wait_for()
            say(page, "Hello")
            wait_for_reply(page, "A reply with code.")
            page.locator("#glass .block").first.wait_for()
            last_reply(page).focus()

        assert faults_in_light_and_dark(page) == []


END_FADING = """() => document.getAnimations().forEach(
    fading => { if (fading.effect.getComputedTiming().endTime < Infinity) fading.finish(); }
)"""
"""Backgrounds fade from one colour to the other; halfway through, their contrast is nobody's."""


def faults_in_light_and_dark(page: Page) -> list[str]:
    """What axe-core finds on a light page, and what its rules for colours find when it turns dark.

    The rest is the same in the dark: `test_the_dark_changes_colours_alone` sees to that.
    """
    found = serious_faults(page)
    page.emulate_media(color_scheme="dark")
    page.evaluate(END_FADING)
    found += [f"in the dark: {fault}" for fault in serious_faults(page, tag="cat.color")]
    page.emulate_media(color_scheme="light")
    return found


def test_the_dark_changes_colours_alone() -> None:
    """One block of names, each a colour: nothing moves, appears or changes its size."""
    styles = {file.name: file.read_text(encoding="utf-8") for file in STATIC.glob("*.css")}
    scripts = [file.read_text(encoding="utf-8") for file in STATIC.glob("*.js")]
    (dark,) = re.findall(
        r"@media \(prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}\s*\}", styles["tokens.css"], re.DOTALL
    )
    values = [value.strip() for _, _, value in (each.partition(":") for each in dark.split(";")) if value.strip()]

    assert sum(text.count("prefers-color-scheme") for text in (*styles.values(), *scripts)) == 1
    assert len(values) > 20
    assert [value for value in values if not re.fullmatch(r"#[0-9a-f]{6}|rgb\([^)]*\)", value)] == []


def serious_faults(page: Page, *, tag: str | None = None) -> list[str]:
    """What axe-core holds for serious or worse, with where; by all of its rules, or those with *tag*."""
    from importlib.util import find_spec

    spec = find_spec("axe_playwright_python")
    assert spec is not None
    assert spec.origin is not None
    if not page.evaluate("'axe' in window"):  # half a megabyte to read
        page.evaluate(Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
    only = {"runOnly": {"type": "tag", "values": [tag]}} if tag else {}
    found = page.evaluate("options => axe.run(document, options)", {"resultTypes": ["violations"], **only})
    return [
        f"{fault['id']}: {[node['target'] for node in fault['nodes']]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
