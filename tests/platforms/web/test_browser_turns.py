"""The list of past turns in a real browser: it goes on as one scrolls, of this familiar and of another."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.observe.ledger import SQLiteCollector
from familiar_connect.observe.trace import StageSpan
from tests.fakes.browser import open_visit
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home
from tests.fakes.traces import NOON, a_trace

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page

TURNS = 230
MODEL = "<b onclick=alert(1)>smol</b>"
SCROLL = """(wanted) => new Promise((done) => {
    const main = document.querySelector("main");
    const rows = () => [...document.querySelectorAll(".turn-list tbody a")].map((link) => link.getAttribute("href"));
    const step = () => {
        if (rows().length >= wanted || !document.querySelector(".earlier")) { done(rows()); return; }
        main.scrollTop = main.scrollHeight;
        requestAnimationFrame(step);
    };
    step();
})"""


def plant_turns(home: Path, familiar_id: str) -> None:
    """Many turns, the newest last, of a model with a hostile name."""
    facts = {"model": MODEL, "first_token_s": 0.2, "prompt_tokens": 1200, "dropped": [{"source": "x", "layer": "y"}]}
    collector = SQLiteCollector(home / "familiars" / familiar_id / "metrics.db", flush_interval=TURNS)
    for number in range(TURNS):
        when = (NOON + timedelta(minutes=number)).isoformat()
        stages = (StageSpan("model", 0.0, 1.0, facts),)
        collector.record(a_trace(f"t{number:04d}", familiar_id=familiar_id, timestamp=when, stages=stages))
    collector.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageProcess]:
    home = tmp_path_factory.mktemp("turns")
    make_home(home)
    make_starter(home, "wren", name="Wren", user_name="Sam")
    for familiar_id in ("ember", "wren"):
        plant_turns(home, familiar_id)
    with PageProcess(home, "--familiar", "ember") as running:
        running.enter()
        yield running


@pytest.mark.parametrize("at", ["/f/ember", "/f/wren"])
def test_the_list_of_turns_goes_on_as_one_scrolls(browser: Browser, page: PageProcess, at: str) -> None:
    """Every turn once, the newest first, and each leads to its own page; nothing in it is more than text."""
    with open_visit(browser, page.address) as visit:
        tab = visit.page
        tab.goto(f"{page.origin}{at}/turns")
        tab.locator(".turn-list .chunk").first.wait_for()
        links = tab.evaluate(SCROLL, TURNS)

        assert links == [f"{at}/turns/t{number:04d}" for number in reversed(range(TURNS))]
        assert tab.locator(".turn-list b").count() == 0
        assert tab.locator(".turn-list tbody tr").last.locator("td").nth(2).inner_text() == MODEL
        assert visit.faults == []


def test_without_scripts_earlier_turns_are_a_page_of_their_own(page: PageProcess) -> None:
    """And a piece of the list is nothing but that."""
    whole = page.ask("GET", "/turns?before=t0100").body
    piece = page.ask("GET", "/turns/rows?before=t0100").body
    none = page.ask("GET", "/turns/rows?before=nowhere").body

    assert all('href="/f/ember/turns/t0099"' in body and '/turns?before=t0050"' in body for body in (whole, piece))
    assert "<nav" in whole
    assert "<nav" not in piece
    assert "href" not in none
