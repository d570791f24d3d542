"""More of talking on the page in a real Chromium: files, greetings, hiding a line, a line for oneself, who one is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fakes.browser import Visit, open_visit
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.platforms.web.test_attachments import make_png
from tests.platforms.web.test_browser_chat import answer_with, last_reply, say, serious_faults, wait_for_reply

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_page

HAND_OVER = """([kind, target, name, type, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(text, (each) => each.charCodeAt(0))], name, { type }));
    const facts = { bubbles: true, cancelable: true };
    const event = kind === "paste"
        ? new ClipboardEvent("paste", { ...facts, clipboardData: data })
        : new DragEvent(kind, { ...facts, dataTransfer: data });
    document.querySelector(target).dispatchEvent(event);
}"""


def hand_over(page: Page, kind: str, target: str, name: str, content: bytes, mime: str) -> None:
    """Paste a file into *target*, or drop it there."""
    page.evaluate(HAND_OVER, [kind, target, name, mime, content.decode("latin-1")])


def test_a_picture_is_pasted_seen_and_sent(visit: Visit, model: ModelServer) -> None:
    """It waits above the field, can be taken out again, and stands in the chat afterwards; nothing but it is needed."""
    answer_with(model, stream_answer("A picture!"))
    page = visit.page
    hand_over(page, "paste", "#words", "first.png", make_png(40, 30), "image/png")
    page.locator(".tray canvas").wait_for()
    page.get_by_role("button", name="Leave out first.png").click()
    page.locator(".tray").wait_for(state="hidden")
    hand_over(page, "drop", "#words", "second.png", make_png(40, 30), "image/png")
    page.locator(".tray canvas").wait_for()
    assert serious_faults(page) == []
    page.get_by_role("button", name="Send", exact=True).click()
    wait_for_reply(page, "A picture!")
    shown = page.locator(".attached img")

    assert "/chats/" in page.url
    assert page.locator(".tray").is_hidden()
    assert shown.get_attribute("alt") == "second.png"
    shown.evaluate("picture => picture.decode()")
    assert shown.evaluate("picture => picture.naturalWidth") == 40
    assert serious_faults(page) == []
    assert "1 image" in str(model.requests[-1].payload)


def test_a_text_is_attached_with_the_clip_and_the_keyboard(visit: Visit, model: ModelServer, tmp_path: Path) -> None:
    """The clip is a button like the others; Enter sends words and file together."""
    answer_with(model, stream_answer("I read it."))
    page = visit.page
    notes = tmp_path / "notes.txt"
    notes.write_text("The lamp burns ```blue```.", encoding="utf-8")
    clip = page.get_by_role("button", name="Attach a picture or a text")
    with page.expect_file_chooser() as chosen:
        clip.press("Enter")
    chosen.value.set_files(notes)
    page.locator(".tray", has_text="notes.txt").wait_for()
    page.locator("#words").fill("Read this")
    page.locator("#words").press("Enter")
    wait_for_reply(page, "I read it.")
    asked = str(model.requests[-1].payload)

    assert "Read this" in asked
    assert "The lamp burns ```blue```." in asked


def test_a_file_that_is_no_picture_stays_and_says_why(visit: Visit) -> None:
    """Nothing is lost: the words and the file are there still."""
    page = visit.page
    hand_over(page, "drop", ".composer", "film.mp4", b"\0\0\0\x18ftypisom", "video/mp4")
    page.locator(".tray li").wait_for()
    page.locator("#words").fill("Watch this")
    page.locator("#words").press("Enter")
    refused = page.locator(".sent[data-state=refused]", has_text="film.mp4 is neither a picture")
    refused.get_by_role("button", name="Take it back").click()
    refused.wait_for(state="detached")

    page.locator(".tray li", has_text="film.mp4").wait_for()
    assert page.locator("#words").input_value() == "Watch this"


def test_a_picture_that_is_too_large_is_made_smaller(visit: Visit, model: ModelServer) -> None:
    """A photo of today's telephones goes along without a thought."""
    answer_with(model, stream_answer("Large."))
    page = visit.page
    page.evaluate(
        """async () => {
            const canvas = document.createElement("canvas");
            canvas.width = canvas.height = 1600;
            const paint = canvas.getContext("2d");
            const pixels = paint.createImageData(1600, 1600);
            const all = pixels.data;
            for (let at = 0; at < all.length; at += 65536) crypto.getRandomValues(all.subarray(at, at + 65536));
            for (let at = 3; at < all.length; at += 4) all[at] = 255;
            paint.putImageData(pixels, 0, 0);
            const made = await new Promise((done) => canvas.toBlob(done, "image/png"));
            const data = new DataTransfer();
            data.items.add(new File([made], "noise.png", { type: "image/png" }));
            window.sentBytes = made.size;
            document.querySelector("#words").dispatchEvent(
                new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
        }"""
    )
    page.locator(".tray", has_text="noise.jpg").wait_for()
    assert page.evaluate("window.sentBytes") > 5 * 1024 * 1024
    page.locator("#words").press("Enter")
    wait_for_reply(page, "Large.")

    assert page.locator(".attached img").get_attribute("alt") == "noise.jpg"


def test_a_picture_goes_along_without_any_script(
    browser: Browser, running: PageProcess, model: ModelServer, tmp_path: Path
) -> None:
    """The field for files is then a part of the form."""
    answer_with(model, stream_answer("Plainly seen."))
    path = running.post("/chats").headers["location"]
    with open_visit(browser, running.address, java_script_enabled=False) as visit:
        page = visit.page
        page.goto(f"{running.origin}{path}")
        picture = tmp_path / "plain.png"
        picture.write_bytes(make_png())
        page.get_by_label("Pictures or texts to go along").set_input_files(picture)
        page.locator("#words").fill("Here")
        page.get_by_role("button", name="Send", exact=True).click()
        assert page.locator(".attached img").get_attribute("alt") == "plain.png"
        assert visit.faults == []


def test_a_card_dropped_elsewhere_makes_a_familiar_to_talk_with_at_once(visit: Visit, running: PageProcess) -> None:
    """Beside the field a file is brought in, with its report; a button leads to its first words, the menu back."""
    page = visit.page
    card = b'{"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira", "first_mes": "Meow."}}'
    hand_over(page, "drop", ".messages", "Mira.json", card, "application/json")
    page.get_by_role("heading", name="Card: Mira.json").wait_for()
    assert "mira" in page.locator("[role=status] pre").inner_text().lower()
    page.get_by_role("link", name="Talk with it").click()
    page.locator(".message.own .words", has_text="Meow.").wait_for()
    page.locator("[data-ready]").wait_for()
    assert "/f/mira/chats/1" in page.url
    page.locator(".switch > summary").click()
    page.locator(".switch").get_by_role("link", name="Ember").click()
    page.get_by_placeholder("Write to Ember as").wait_for()

    assert "/f/ember/" in page.url


def test_a_familiar_is_made_switched_to_and_talked_with(
    visit: Visit, running: PageProcess, home: Path, model: ModelServer
) -> None:
    """By name and description; it streams and its glass box opens under its own address, and axe finds no fault."""
    profile = home / "familiars" / "_default" / "character.toml"
    profile.parent.mkdir(exist_ok=True)
    profile.write_text(f'[llm.main_prose]\nmodel = "test-model"\nbase_url = "{model.base_url}"\n', encoding="utf-8")
    answer_with(model, stream_answer("Mind the lamp."))
    page = visit.page
    page.locator(".switch > summary").click()
    page.get_by_role("link", name="New familiar").click()
    page.get_by_label("What it is called").fill("Wren")
    page.get_by_label("Who it is, in a few sentences").fill("You are Wren, keeper of a lighthouse.")
    assert serious_faults(page) == []
    page.get_by_role("button", name="Make it and say hello").click()
    page.get_by_placeholder("Write to Wren as").wait_for()
    page.locator("[data-ready]").wait_for()
    say(page, "Good evening")
    wait_for_reply(page, "Mind the lamp.")
    page.locator("#glass .block").first.wait_for()
    last_reply(page).hover()
    last_reply(page).get_by_role("button", name="Keep it out of every prompt").click()
    page.locator(".message.own.out").wait_for()

    assert "/f/wren/" in page.url
    assert "keeper of a lighthouse" in str(model.requests[-1].payload)
    assert serious_faults(page) == []


def test_a_new_chat_begins_with_the_greeting_that_is_chosen(
    visit: Visit, running: PageProcess, home: Path, model: ModelServer
) -> None:
    """The others are offered until somebody answers; the model is shown the chosen one."""
    others = home / "familiars" / "ember" / "memory" / "self" / "alternate_greetings.md"
    others.write_text("Rain again. Come in, {{user}}!\n<!-- next greeting -->\nThe door is open.\n", encoding="utf-8")
    answer_with(model, stream_answer("It is."))
    page = visit.page
    try:
        page.get_by_label("Name of a new chat").fill("A rainy one")
        page.get_by_role("button", name="Start a new chat").click()
        page.get_by_role("heading", name="A rainy one").wait_for()
        page.get_by_role("button", name="Rain again. Come in, Sam!").click()
        page.locator(".message.own .words", has_text="Rain again. Come in, Sam!").wait_for()
        page.locator("[data-ready]").wait_for()
        assert page.locator(".message.own").count() == 1
        say(page, "It is wet.")
        wait_for_reply(page, "It is.")
    finally:
        others.unlink()

    assert page.locator(".greetings").count() == 0
    assert "Rain again. Come in, Sam!" in str(model.requests[-1].payload)


def test_the_arrows_walk_the_greetings(visit: Visit, running: PageProcess, home: Path, model: ModelServer) -> None:
    """As in SillyTavern: before anybody answered they are versions of the first words; no model is asked."""
    others = home / "familiars" / "ember" / "memory" / "self" / "alternate_greetings.md"
    others.write_text("Rain again.\n<!-- next greeting -->\nThe door is open.\n", encoding="utf-8")
    asked = len(model.requests)
    page = visit.page
    try:
        page.goto(running.origin + running.post("/chats").headers["location"])
        page.locator("[data-ready]").wait_for()
        assert last_reply(page).locator(".count").inner_text() == "1/3"
        last_reply(page).get_by_role("button", name="Next version").click()
        page.locator(".message.own .words", has_text="Rain again.").wait_for()
        page.locator(".count", has_text="2/3").wait_for()
        page.locator("#words").press("ArrowRight")
        page.locator(".message.own .words", has_text="The door is open.").wait_for()
        page.locator(".count", has_text="3/3").wait_for()
    finally:
        others.unlink()

    assert len(model.requests) == asked


def test_a_hidden_line_is_in_no_prompt_until_it_is_let_back_in(visit: Visit, model: ModelServer) -> None:
    """With its button and with its key."""
    answer_with(model, *(stream_answer(text) for text in ("The vault code is 4711.", "Hm?", "As I said.")))
    page = visit.page
    say(page, "What is the code?")
    wait_for_reply(page, "The vault code is 4711.")
    last_reply(page).hover()
    last_reply(page).get_by_role("button", name="Keep it out of every prompt").click()
    secret = page.locator(".message.own.out", has_text="4711")
    secret.wait_for()
    assert "in no prompt" in secret.inner_text()
    say(page, "And now?")
    wait_for_reply(page, "Hm?")
    without = str(model.requests[-1].payload)
    secret.focus()
    page.keyboard.press("h")
    secret.wait_for(state="detached")
    say(page, "Once more?")
    wait_for_reply(page, "As I said.")

    assert "4711" not in without
    assert "4711" in str(model.requests[-1].payload)


def test_a_line_is_written_for_the_person_and_sent_only_by_them(visit: Visit, model: ModelServer) -> None:
    """It stands in the field, to be changed; nothing of it is said before."""
    answer_with(model, stream_answer("Any tea left?"), stream_answer("A whole pot."))
    page = visit.page
    before = page.locator(".message[data-id]").count()
    page.locator(".pop summary").click()
    page.get_by_role("button", name="Write my line for me").click()
    page.locator(".status:empty").wait_for(state="attached")
    page.locator("#words:not(:placeholder-shown)").wait_for()
    assert page.locator("#words").input_value() == "Any tea left?"
    assert page.locator(".message[data-id]").count() == before
    page.locator("#words").press("Enter")
    wait_for_reply(page, "A whole pot.")

    assert page.locator(".message.theirs .words", has_text="Any tea left?").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_who_one_is_is_chosen_beside_the_field(
    browser: Browser, running: PageProcess, model: ModelServer, scheme: str
) -> None:
    """Name and persona count from the next reply on; the page says who writes."""
    answer_with(model, stream_answer("Aye, captain."))
    path = running.post("/chats").headers["location"]
    with open_visit(browser, running.address, color_scheme=scheme) as visit:
        page = visit.page
        page.goto(f"{running.origin}{path}")
        page.get_by_role("link", name="You are").click()
        page.get_by_label("What you are called").fill(f"Robin {scheme}")
        page.get_by_label("Who you are, in a few sentences").fill(f"A retired sailor who keeps {scheme} herons.")
        assert serious_faults(page) == []
        page.get_by_role("button", name="Save").click()
        page.get_by_placeholder(f"Write to Ember as Robin {scheme}").wait_for()
        page.locator("[data-ready]").wait_for()
        say(page, "Who am I?")
        wait_for_reply(page, "Aye, captain.")
    asked = str(model.requests[-1].payload)

    assert f"Robin {scheme}" in asked
    assert f"A retired sailor who keeps {scheme} herons." in asked
