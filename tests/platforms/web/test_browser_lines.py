"""Single lines and small words of the page in a real Chromium: taken back, explained, and large enough for a thumb."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.bootstrap.starter import make_starter
from tests.fakes.browser import Visit, open_visit
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home
from tests.fakes.speech_server import sound_answer, speech_endpoint
from tests.platforms.web.test_browser_chat import answer_with, last_reply, say, wait_for_reply

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page

EDGES = """(message) => [0, ...[".versions", ".verbs"].flatMap((part) => {
    const { left, right } = message.querySelector(part).getBoundingClientRect();
    return [left, right];
}), innerWidth]"""
TARGETS = """() => [...document.querySelectorAll("button, summary, .button, .composer a, .bar a")]
    .filter((each) => each.offsetParent && each.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
    .map((each) => [each.getBoundingClientRect(), each.title || each.textContent.trim().slice(0, 30)])
    .filter(([box]) => box.width > 1 && (box.width < 34 || box.height < 40))
    .map(([box, name]) => `${name}: ${Math.round(box.width)} x ${Math.round(box.height)}`)"""


def test_one_line_is_taken_back_and_its_neighbours_stay(visit: Visit, model: ModelServer) -> None:
    """With its button or Del; it is in no prompt any more. Alt and an arrow move one, and the focus goes along."""
    answer_with(model, stream_answer("The first reply."), stream_answer("The second reply."), stream_answer("Well."))
    page = visit.page
    say(page, "One herring")
    wait_for_reply(page, "The first reply.")
    say(page, "Two herrings")
    wait_for_reply(page, "The second reply.")
    line = page.locator(".message.own[data-id]", has_text="The first reply.")
    line.hover()
    line.get_by_role("button", name="Take this line back").click()
    line.wait_for(state="detached")
    question = page.locator(".message.theirs[data-id]", has_text="One herring")
    question.focus()
    page.keyboard.press("Delete")
    question.wait_for(state="detached")
    last_reply(page).focus()
    page.keyboard.press("Alt+ArrowUp")
    page.locator(".message.own[data-id] + .message.theirs[data-id]", has_text="Two herrings").wait_for()
    page.wait_for_function("document.activeElement.textContent.includes('The second reply.')")
    say(page, "And now?")
    wait_for_reply(page, "Well.")
    sent = str(model.requests[-1].payload)

    assert sent.index("The second reply.") < sent.index("Two herrings")
    assert "One herring" not in sent
    assert "The first reply." not in sent


def test_a_line_is_copied_and_all_from_one_on_is_taken_back(visit: Visit, model: ModelServer) -> None:
    """As it was written, with its stars; Shift and Del asks once, and what was typed and not sent outlives a reload."""
    answer_with(model, stream_answer("A *first* reply."), stream_answer("A second reply."), stream_answer("Well."))
    page = visit.page
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    say(page, "One trout")
    wait_for_reply(page, "A first reply.")
    last_reply(page).hover()
    last_reply(page).get_by_role("link", name="Copy").click()
    page.locator("[data-said=Copied]").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "A *first* reply."
    say(page, "Two trouts")
    wait_for_reply(page, "A second reply.")
    first = page.locator(".message.theirs[data-id]", has_text="One trout").get_attribute("data-id")
    question = page.locator(f'[data-id="{first}"]')
    question.focus()
    page.keyboard.press("e")
    question.get_by_label("The line").fill("One trout, please")
    answer_with(model, stream_answer("One trout it is."), stream_answer("Well."))
    question.get_by_role("button", name="Save and answer again").click()
    page.locator(".message[data-id]", has_text="Two trouts").wait_for(state="detached")
    wait_for_reply(page, "One trout it is.")
    assert "A second reply." not in str(model.requests[-1].payload)
    assert "One trout, please" in str(model.requests[-1].payload)
    question.focus()
    page.keyboard.press("Shift+Delete")
    page.locator(".status", has_text="this line and everything after it").wait_for()
    assert page.locator(".message[data-id]", has_text="trout").count() == 2
    page.keyboard.press("Shift+Delete")
    question.wait_for(state="detached")
    page.locator(".message[data-id]", has_text="One trout it is.").wait_for(state="detached")
    page.locator("#words").fill("A thought that")
    page.reload()
    page.locator("[data-ready]").wait_for()
    assert page.locator("#words").input_value() == "A thought that"
    say(page, "And now?")
    wait_for_reply(page, "Well.")
    page.reload()
    page.locator("[data-ready]").wait_for()

    assert page.locator("#words").input_value() == ""
    assert "trout" not in str(model.requests[-1].payload)


def test_commands_in_a_notice_are_code(visit: Visit) -> None:
    """Not words between backticks."""
    page = visit.page
    say(page, "/help preset")
    notice = page.locator(".message.notice").last
    notice.wait_for()
    say(page, "/help")
    page.locator(".message.notice code").first.wait_for()

    assert page.locator(".message.notice", has_text="`").count() == 0


def test_what_is_missing_to_speak_is_explained(browser: Browser, tmp_path: Path) -> None:
    """By the button that would be held, where nothing makes out speech."""
    settings = make_starter(tmp_path, "ember") / "character.toml"
    text = settings.read_text(encoding="utf-8").replace("\n[stt]\n", '\n[stt]\nprovider = "deepgram"\n')
    settings.write_text(text, encoding="utf-8")
    with PageProcess(tmp_path) as running, open_visit(browser, running.address) as visit:
        page = visit.page
        page.locator("[data-ready]").wait_for()
        page.get_by_role("button", name="Why you cannot speak here").click()
        page.locator(".message.notice", has_text="Nothing here can understand speech yet.").wait_for()

        assert page.locator(".message.notice code", has_text="familiar voice").count() == 1


def test_a_reply_is_read_aloud(browser: Browser, tmp_path: Path, model: ModelServer) -> None:
    """What can be said of it, by the voice of the settings; what stands in the way is a sentence."""
    answer_with(model, stream_answer("*nods* The **lamp** is lit."))
    settings = make_home(tmp_path, model) / "character.toml"
    text = settings.read_text(encoding="utf-8")
    with speech_endpoint(sound_answer(bytes(9_600))) as mouth, PageProcess(tmp_path) as running:
        voice = f'\n[tts]\nprovider = "openai"\nbase_url = "{mouth.base_url}"\n'
        settings.write_text(text.replace("\n[tts]\n", voice), encoding="utf-8")
        with open_visit(browser, running.address) as visit:
            page = visit.page
            page.locator("[data-ready]").wait_for()
            say(page, "Is it dark?")
            wait_for_reply(page, "The lamp is lit.")
            last_reply(page).hover()
            button = last_reply(page).get_by_role("link", name="Read it aloud")
            button.click()
            page.wait_for_function("() => !document.querySelector('[data-verb=aloud][aria-pressed]')")
            spoken = [call.payload["input"] for call in mouth.calls]
            settings.write_text(text.replace("\n[tts]\n", '\n[tts]\nprovider = "gemini"\n'), encoding="utf-8")
            last_reply(page).focus()
            page.keyboard.press("v")
            page.locator(".message.notice", has_text="GEMINI").wait_for()
            faults = visit.faults

    assert spoken == ["The lamp is lit."]
    assert faults == []


def test_a_browser_that_gives_no_microphone_is_explained(browser: Browser, running: PageProcess) -> None:
    """As on a page without HTTPS from another computer."""
    with open_visit(browser, running.address) as visit:
        page = visit.page
        page.add_init_script("Object.defineProperty(navigator, 'mediaDevices', { value: undefined });")
        page.reload()
        page.locator("[data-ready]").wait_for()
        page.locator(".talk").click()
        page.locator(".message.notice").filter(has_text=re.compile("microphone|understand speech")).wait_for()


def test_buttons_are_large_enough_for_a_thumb(browser: Browser, running: PageProcess, model: ModelServer) -> None:
    """All that is in view in a chat on a phone."""
    answer_with(model, stream_answer("A reply.\n\n```python\nx = 1\n```"))
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with open_visit(browser, running.address, **phone) as visit:
        page = visit.page
        page.locator("[data-ready]").wait_for()
        say(page, "Hello from the bus")
        wait_for_reply(page, "A reply.")
        verbs = last_reply(page).locator(".verbs")
        last_reply(page).locator(".versions").wait_for()
        edges = last_reply(page).evaluate(EDGES)
        assert page.evaluate(TARGETS) == []
        verbs.get_by_role("button", name="More for this line").click()
        verbs.get_by_role("button", name="Take this line back").wait_for()
        assert page.evaluate(TARGETS) == []
        assert page.evaluate("document.documentElement.scrollWidth") == 390

    assert edges == sorted(edges), "versions, then verbs, within the window"
