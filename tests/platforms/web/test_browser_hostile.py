"""Hostile texts and another site, in a real Chromium: nothing runs, nothing comes from elsewhere, nothing changes."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from familiar_connect.config.load import write_user_name
from tests.fakes.browser import Visit, open_visit
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, run_program
from tests.platforms.web.test_browser_inspector import PRESET

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page

NAME = "<img src=x onerror=alert(1)>\u202egnp.exe <svg onload=alert(2)></svg>"
TEXT = (
    "<script>alert(1)</script> [x](javascript:alert(2)) [y](data:text/html,<script>alert(3)</script>) "
    "<svg><script>alert(4)</script></svg> ![p](https://evil.example/p.png) <iframe src=https://evil.example></iframe>"
)
LONG_LINE = "a" * 1_000_000
BOOK = {
    "entries": {
        "0": {"uid": 0, "comment": NAME, "key": ["gate", NAME], "content": f"{TEXT} of the gate", "order": 200},
        "1": {"uid": 1, "comment": f"2 {NAME}", "key": ["gate"], "content": TEXT * 90, "order": 100},
    }
}
PAGES = ("/chats/1", "/turns", "/why?q=gate", "/memory?q=gate", "/memory", "/memory/people", "/memory/graph", "/health")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    made = tmp_path_factory.mktemp("hostile")
    model.script[:] = [stream_answer(TEXT)]
    root = make_home(made, model)
    settings = root / "character.toml"
    settings.write_text(f'preset_fidelity = "sillytavern"\n{settings.read_text()}', encoding="utf-8")
    write_user_name(settings, NAME)
    for name, data in (("Book.json", BOOK), ("Plain.json", PRESET)):
        (made / name).write_text(json.dumps(data), encoding="utf-8")
    for words in (("import", "lorebook", "Book.json"), ("preset", "import", "Plain.json")):
        assert run_program(made, *words, cwd=made).returncode == 0
    topics = root / "memory" / "topics"
    topics.mkdir(parents=True, exist_ok=True)
    (topics / "title.md").write_text(f"# {NAME}\n\n{TEXT}\n", encoding="utf-8")
    (topics / "long.md").write_text(f"# Long\n\n{LONG_LINE}\n", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def said(running: PageProcess) -> PageProcess:
    running.ask("GET", "/chats/1")
    with running.events() as events:
        running.say(f"The gate? {NAME}")
        events.until("done")
    return running


@pytest.fixture
def visit(browser: Browser, said: PageProcess) -> Iterator[Visit]:
    with open_visit(browser, said.address) as opened:
        yield opened
    assert opened.faults == []


def foreign_parts(visit: Visit) -> int:
    """Elements and links that no page of ours has."""
    found = visit.page.locator(
        "main script, aside script, iframe, img[src='x'], [onerror], [onload], a[href^='javascript'], a[href^='data']"
    )
    return found.count()


def test_hostile_names_and_texts_are_text_on_every_page(visit: Visit, said: PageProcess) -> None:
    """Of a person, of files, of entries of lore and their keys; in the chat, the glass box and memory."""
    for path in (*PAGES, "/memory/file?path=topics%2Ftitle.md", "/memory/versions?path=topics%2Ftitle.md"):
        visit.page.goto(said.home + path)
        visit.page.locator("main").wait_for()

        assert foreign_parts(visit) == 0, path


def test_hostile_lore_is_text_in_the_glass_box(visit: Visit, said: PageProcess) -> None:
    """Shown whole where it was sent, and struck through where it was cut."""
    page = visit.page
    page.goto(f"{said.home}/chats/1")
    page.locator("#glass .block").first.wait_for()
    for block in page.locator("#glass .block summary").all():
        block.click()

    assert page.locator("#glass pre", has_text="<script>alert(1)</script>").count() >= 1
    assert page.locator("#glass del.gone", has_text="<script>alert(1)</script>").count() >= 1
    assert foreign_parts(visit) == 0


def test_a_line_of_a_million_characters_is_shown(visit: Visit, said: PageProcess) -> None:
    """In memory; the window stays as wide as it is, and the page answers."""
    for path in ("/memory", "/memory/file?path=topics%2Flong.md", "/memory/edit?path=topics%2Flong.md"):
        visit.page.goto(said.home + path)
        visit.page.locator("main").wait_for()

        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


@contextmanager
def another_site(folder: Path, page: str) -> Iterator[str]:
    """A site on another port of this computer, which a browser takes for the same site: its cookie goes along."""
    (folder / "index.html").write_text(page, encoding="utf-8")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


def test_another_site_frames_nothing(browser: Browser, said: PageProcess, tmp_path: Path) -> None:
    """Though the browser is let in."""
    with (
        another_site(tmp_path, f"<iframe src={said.home}/chats/1></iframe>") as site,
        open_visit(browser, said.address) as visit,
    ):
        visit.page.goto(site)
        visit.page.wait_for_load_state("load")

        assert all("Write to" not in frame.content() for frame in visit.page.frames)


def test_a_form_of_another_site_changes_nothing(browser: Browser, said: PageProcess, tmp_path: Path) -> None:
    """It is sent with the cookie and refused."""
    form = f"<form method=post action={said.home}/chats><input name=name value=Evil></form>"
    with another_site(tmp_path, form) as site, open_visit(browser, said.address) as visit:
        page = visit.page
        page.goto(site)
        with page.expect_navigation():
            page.evaluate("document.forms[0].submit()")
        refused = page.locator("body").inner_text()
        page.goto(f"{said.home}/chats/1")
        page.locator("[data-ready]").wait_for()

        assert "Refused: another site asked for it" in refused
        assert page.get_by_role("link", name="Evil", exact=True).count() == 0


def test_a_script_of_another_site_reads_nothing(browser: Browser, said: PageProcess, tmp_path: Path) -> None:
    """Neither a page nor the stream of events."""
    with another_site(tmp_path, "<p>Hello.</p>") as site, open_visit(browser, said.address) as visit:
        visit.page.goto(site)
        read = """async (address) => {
            try { return await (await fetch(address, {credentials: "include"})).text(); } catch { return "refused"; }
        }"""

        assert visit.page.evaluate(read, f"{said.home}/memory") == "refused"
        assert visit.page.evaluate(read, f"{said.home}/chats/1/events") == "refused"
