"""Memory, review, settings and rehearsals on the page in a real Chromium: what a person sees and does."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.fakes.browser import Visit, open_visit
from tests.fakes.page import PageProcess, needs_page
from tests.platforms.web.test_memory import HOSTILE, plant

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page

SHOTS = os.environ.get("PAGE_SCREENSHOTS")
"""A folder for pictures of every page looked at; none are taken without it."""
PAGES = (
    "/memory",
    "/memory/file?path=people%2Fdiscord-101.md",
    "/memory/file?path=lore%2Fsea.md",
    "/memory/edit?path=topics%2Fhouse.md",
    "/memory/versions",
    "/memory/versions?path=topics%2Fhouse.md",
    "/memory/sources?path=people%2Fdiscord-101.md",
    "/memory/people",
    "/memory/graph",
    "/review",
    "/review/r1",
    "/health",
    "/settings",
    "/settings/edit?key=memory_writer.review",
    "/connect",
    "/rehearsals",
)


PHONE_AND_DESK: tuple[tuple[int, Literal["dark", "light"]], ...] = ((390, "dark"), (1280, "light"))


@pytest.fixture(scope="module", autouse=True)
def memory(home: Path) -> Path:
    """The memory of the familiar, with things planted before the page is served."""
    root = home / "familiars" / "ember"
    plant(root)
    return root / "memory"


@pytest.fixture
def visit(memory: Path, browser: Browser, running: PageProcess) -> Iterator[Visit]:
    """Somebody at the page; afterwards no script has failed, nothing was loaded from elsewhere, no dialog opened."""
    with open_visit(browser, running.address) as opened:
        yield opened
    assert opened.faults == []


@pytest.fixture(scope="module")
def reader(memory: Path, browser: Browser, running: PageProcess) -> Iterator[Visit]:
    """Somebody who goes from page to page and changes nothing."""
    with open_visit(browser, running.address) as opened:
        yield opened


def test_a_memory_file_is_edited_its_version_seen_and_restored(
    visit: Visit, running: PageProcess, memory: Path
) -> None:
    """By mouse, from the list to the file and back."""
    page = visit.page
    before = (memory / "topics" / "garden.md").read_text()
    page.goto(f"{running.home}/memory")
    page.get_by_role("link", name="garden.md").click()
    page.get_by_role("link", name="Edit").click()
    field = page.get_by_label("The text, in Markdown")
    field.fill(field.input_value().replace("nine", "ten"))
    page.get_by_role("button", name="Preview").click()
    page.locator(".preview em", has_text="ten").wait_for()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved. The earlier text is kept as a version.").wait_for()
    page.get_by_role("link", name="Versions").click()
    page.locator(".diff .added", has_text="ten").wait_for()
    assert "ten" in (memory / "topics" / "garden.md").read_text()

    page.locator("tbody tr").last.get_by_role("link").click()
    page.get_by_role("button", name="Restore version 1").click()
    page.get_by_text("The version is restored.").wait_for()

    assert (memory / "topics" / "garden.md").read_text() == before


def test_what_changed_meanwhile_is_told_and_kept(visit: Visit, running: PageProcess, memory: Path) -> None:
    """Somebody else writes the same line while the form is open."""
    page = visit.page
    file = memory / "topics" / "meanwhile.md"
    file.write_text("# Meanwhile\n\nold\n")
    page.goto(f"{running.home}/memory/edit?path=topics/meanwhile.md")
    page.get_by_label("The text, in Markdown").fill("# Meanwhile\n\nmine\n")
    file.write_text("# Meanwhile\n\ntheirs\n")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("This file changed while you wrote.").wait_for()

    assert page.locator(".diff .added", has_text="theirs").count() == 1
    assert "mine" in page.get_by_label("The text, in Markdown").input_value()
    assert file.read_text() == "# Meanwhile\n\ntheirs\n"


def test_a_proposal_is_approved(visit: Visit, running: PageProcess, memory: Path) -> None:
    """From the left side, which counts what waits; hostile words in it do nothing."""
    page = visit.page
    page.locator(".pages .badge").wait_for()
    page.get_by_role("link", name="Review").first.click()
    page.locator('a[href="/f/ember/review/r3"]').click()
    page.get_by_role("button", name="Approve").click()
    page.get_by_text("Approved: it is in memory now.").wait_for()

    assert (memory / "topics" / "new3.md").read_text() == "# New 3\n\nTea.\n"


def test_a_setting_is_found_and_changed(visit: Visit, running: PageProcess, home: Path) -> None:
    """By keyboard: g s, a word, the setting, its value."""
    page = visit.page
    page.goto(f"{running.home}/health")
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/settings")
    page.get_by_label("Find a setting").fill("memory_writer.review")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="review", exact=True).click()
    page.get_by_label("New value").select_option("true")
    assert page.get_by_text("Takes effect at once").is_visible()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("It takes effect from now on.").wait_for()

    assert "review = true" in (home / "familiars" / "ember" / "character.toml").read_text()


def test_a_rehearsal_is_played_to_its_end(visit: Visit, running: PageProcess) -> None:
    """The page follows by itself, and axe finds no serious fault."""
    from tests.platforms.web.test_browser_chat import serious_faults
    from tests.platforms.web.test_rehearsals import SCRIPT

    page = visit.page
    page.goto(f"{running.home}/rehearsals")
    page.get_by_label("The file, in JSON").fill(json.dumps(SCRIPT))
    page.get_by_role("button", name="Play it").click()
    page.get_by_text("3 steps, 1 expectation held, 1 failed.").wait_for()
    page.get_by_text("Prompt for main prose").first.click()
    assert serious_faults(page) == []

    assert page.locator("#step-1 pre", has_text="[system]").is_visible()


@pytest.mark.parametrize("address", PAGES)
def test_every_page_fits_a_phone_and_a_desk_in_dark_and_light(
    reader: Visit, running: PageProcess, address: str
) -> None:
    """No page is wider than its window, hostile memory does nothing, and axe finds no serious fault."""
    from tests.platforms.web.test_browser_chat import serious_faults

    page = reader.page
    for width, scheme in PHONE_AND_DESK:
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{running.origin}{address}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("document.querySelector('main').scrollWidth") <= width
        assert HOSTILE[:8] not in page.locator("main").inner_html()
        assert serious_faults(page) == []
        if SHOTS:
            name = address.strip("/").replace("/", "-").replace("?", "-").replace("%2F", "-").replace("=", "-")
            page.screenshot(path=Path(SHOTS) / f"{name}-{width}.png", full_page=True)
    assert reader.faults == []
