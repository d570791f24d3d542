"""What people and models write, as it is seen in a real Chromium: code, formulas, tables, tasks, spoilers, themes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fakes.browser import Visit, open_visit
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.platforms.web.test_browser_chat import (
    answer_with,
    faults_in_light_and_dark,
    last_reply,
    say,
    wait_for_reply,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page

CODE = 'def greet(name):\n    return f"Hello {name}"  # kindly\n'
WORDS = f"""Here it is:

```python
{CODE}```

It is $E = mc^2$, and

$$
\\frac{{a}}{{b}}
+ c
$$

| fruit | unpronounceable colours | price |
|:--|:-:|--:|
| apple | red | 1.20 |

- [ ] pick them
- [x] wash them

The thief was ||the *butler*||. ![the plan](https://evil.example/plan.png)
That is all.
"""
IS_COLOURED = """(part) => getComputedStyle(part).color !== getComputedStyle(part.closest("code")).color"""
WORD_LINES = """(cell) => { const range = document.createRange(); range.selectNodeContents(cell);
    return new Set([...range.getClientRects()].map((each) => Math.round(each.top))).size; }"""


@pytest.fixture
def written(visit: Visit, model: ModelServer) -> Visit:
    """A chat in which the familiar wrote all of it."""
    answer_with(model, stream_answer(WORDS))
    say(visit.page, "Show me")
    wait_for_reply(visit.page, "That is all.")
    return visit


def test_code_has_colours_its_language_and_is_copied(written: Visit, running: PageProcess) -> None:
    """With one click, as it was written; a word and a comment look otherwise than the rest."""
    page = written.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=running.origin)
    code = last_reply(page).locator(".code")
    code.get_by_role("button", name="Copy").click()
    code.get_by_role("button", name="Copied").wait_for()

    assert page.evaluate("navigator.clipboard.readText()") == CODE
    assert code.locator(".language").inner_text() == "Python"
    assert code.locator(".code-k").first.evaluate(IS_COLOURED)
    assert code.locator(".code-c").evaluate(IS_COLOURED)


def test_formulas_are_drawn_by_the_browser(written: Visit) -> None:
    """The exponent stands higher and smaller, the fraction over its line; nothing is left of the LaTeX."""
    reply = last_reply(written.page)
    base, exponent = (reply.locator(f"msup > :nth-child({at})").bounding_box() for at in (1, 2))
    above, below = (reply.locator(f"mfrac > :nth-child({at})").bounding_box() for at in (1, 2))

    assert base is not None
    assert exponent is not None
    assert above is not None
    assert below is not None
    assert exponent["y"] < base["y"]
    assert above["y"] + above["height"] <= below["y"] + 1
    assert "frac" not in reply.inner_text()


def test_tables_keep_words_whole_and_are_aligned(written: Visit) -> None:
    """On a narrow screen too, where the table is scrolled and the page is not."""
    page = written.page
    page.set_viewport_size({"width": 390, "height": 844})
    table = last_reply(page).locator(".table")
    head = table.locator("th", has_text="fruit")
    price = table.locator("td", has_text="1.20")

    assert price.evaluate("(cell) => getComputedStyle(cell).textAlign") == "right"
    assert head.evaluate(WORD_LINES) == 1
    assert table.evaluate("(part) => part.scrollWidth >= part.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_tasks_show_what_is_done(written: Visit) -> None:
    """Boxes that tell and cannot be ticked."""
    reply = last_reply(written.page)

    assert reply.get_by_role("checkbox", name="Done").is_checked()
    assert not reply.get_by_role("checkbox", name="To do").is_checked()
    assert reply.get_by_role("checkbox", name="Done").is_disabled()


def test_a_spoiler_is_read_by_a_click_or_a_key(written: Visit) -> None:
    """And covered again by another."""
    page = written.page
    words = last_reply(page).locator(".spoiler > span")
    assert not words.is_visible()
    last_reply(page).locator(".spoiler").click()
    assert words.is_visible()
    box = last_reply(page).get_by_role("checkbox", name="Show the spoiler")
    box.focus()
    page.keyboard.press("Space")

    assert not words.is_visible()


def test_a_picture_from_elsewhere_waits_for_a_click(written: Visit) -> None:
    """It is a link that says where it leads; nothing was asked there."""
    link = last_reply(written.page).get_by_role("link", name="the plan")

    assert link.get_attribute("href") == "https://evil.example/plan.png"
    assert "evil.example" in link.inner_text()
    assert last_reply(written.page).locator(".words img").count() == 0


def test_what_is_written_is_accessible(written: Visit) -> None:
    """In light and dark, with all of it in view."""
    assert faults_in_light_and_dark(written.page) == []


def test_all_of_it_works_without_scripts(browser: Browser, running: PageProcess, written: Visit) -> None:
    """Colours, formulas and spoilers come from the server; a button that would do nothing is not shown."""
    at = written.page.url
    with open_visit(browser, running.address, java_script_enabled=False) as visit:
        page = visit.page
        page.goto(at)
        page.locator(".spoiler").click()

        assert page.locator(".spoiler > span").is_visible()
        assert page.locator(".code-k").first.is_visible()
        assert page.locator("math").count() == 2
        assert page.locator(".copy:visible").count() == 0


def test_the_appearance_is_chosen_without_scripts(browser: Browser, running: PageProcess) -> None:
    """Theme, size, width and faces count on every page of this browser, and in no other."""
    with open_visit(browser, running.address, java_script_enabled=False) as visit:
        page = visit.page
        chat = page.url
        page.get_by_role("link", name="Appearance").click()
        for name in ("Sepia", "Very large", "Narrow", "Square", "The picture of the familiar"):
            if page.get_by_label(name, exact=True).count():
                page.get_by_label(name, exact=True).check()
        page.get_by_role("button", name="Save").click()
        page.get_by_text("Saved. This browser now shows every page this way.").wait_for()
        assert page.get_by_label("Sepia").is_checked()
        page.goto(chat)

        assert page.evaluate("getComputedStyle(document.body).fontSize") == "21px"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(244, 236, 216)"
    with open_visit(browser, running.address) as other:
        assert other.page.evaluate("getComputedStyle(document.body).fontSize") == "15px"


@pytest.mark.parametrize("theme", ["Light", "Dark", "Sepia", "High contrast"])
def test_every_theme_is_accessible(browser: Browser, running: PageProcess, written: Visit, theme: str) -> None:
    """A chat with everything in it, whatever the system is set to."""
    with open_visit(browser, running.address) as visit:
        page = visit.page
        page.goto(f"{running.home}/look")
        page.get_by_label(theme, exact=True).check()
        page.get_by_role("button", name="Save").click()
        page.get_by_text("Saved. This browser").wait_for()
        page.goto(written.page.url)
        page.locator("[data-ready]").wait_for()

        assert faults_in_light_and_dark(page) == []
