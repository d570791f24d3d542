"""One browser for a run and one page for each module of browser tests; each test has a chat of its own on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from familiar_connect.config.load import write_user_name
from tests.fakes.browser import Visit, open_browser, open_visit
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess
from tests.fakes.program import make_home, model_endpoint

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext


@pytest.fixture(scope="session")
def chromium() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """The browser, which takes longer to start than a test, and the loop that Playwright works on from then on."""
    with open_browser() as opened:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield opened, loop
        asyncio._set_running_loop(loop)


@pytest.fixture(scope="module")
def browser(chromium: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """The browser. Its loop counts as the running one while the tests of a module drive it: others have their own."""
    opened, loop = chromium
    asyncio._set_running_loop(loop)
    yield opened
    asyncio._set_running_loop(None)


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """The model; a test puts what it is to answer into `script`."""
    with model_endpoint(stream_answer("Hm.")) as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    """A home whose familiar is answered for by `model`."""
    made = tmp_path_factory.mktemp("home")
    write_user_name(make_home(made, model) / "character.toml", "Sam")
    return made


@pytest.fixture(scope="module")
def running(home: Path) -> Iterator[PageProcess]:
    with PageProcess(home) as page:
        page.enter()
        yield page


@pytest.fixture(scope="module")
def profile(browser: Browser, running: PageProcess) -> Iterator[BrowserContext]:
    """A profile of the browser that has entered: to make one takes as long as a test. The page stores nothing in it.

    Its first tab stays, empty, since a tab in a window that is there costs less than a window.
    """
    with open_visit(browser, running.address) as entered:
        entered.page.goto("about:blank")
        yield entered.context


@pytest.fixture
def visit(profile: BrowserContext, running: PageProcess) -> Iterator[Visit]:
    """Somebody in a new chat and tab; afterwards no script failed, nothing came from elsewhere, no dialog opened."""
    path = running.post("/chats").headers["location"]
    opened = Visit(profile)
    try:
        opened.page.goto(f"{running.origin}{path}")
        opened.page.locator("[data-ready]").wait_for()
        yield opened
    finally:
        for page in profile.pages[1:]:
            page.close()
    assert opened.faults == []
