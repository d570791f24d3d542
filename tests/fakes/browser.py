"""A real Chromium on the page, driven by Playwright: one for each module of tests, a fresh tab for each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tools.browser import find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = find_browser()
NOT_WANTED = (
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,"
    "LensOverlay,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,OptimizationHints,NetworkTimeServiceQuerying,"
    "AimEnabled,PreconnectToSearch,"
    "PreloadTopChromeWebUI,WebUIOmniboxPopup,WebUIOmniboxFullPopup,WebUIOmniboxAimPopup,SpareRendererForSitePerProcess"
)
"""What Chromium shall do without. First what Playwright turns off, since of two such lists the last one counts; then
the parts of its own window that are pages, which nobody sees and each tab would load, and processes kept in reserve."""
FLAGS = ("--no-sandbox", "--disable-gpu", "--process-per-site", f"--disable-features={NOT_WANTED}")
"""How it is started. Debian's has no sandbox of its own for root, and none inside a container."""
WAIT_MS = 60_000
"""How long a test waits for something to appear; a busy computer is slow, and nothing waits longer than it must."""


def lacking() -> str | None:
    """Why no browser can be driven here; None: one can."""
    if find_spec("playwright") is None:
        return "playwright is not installed; `python3 run.py test` has it"
    if CHROMIUM is None:
        return "there is no Chromium here; `apt install chromium` brings it, and `python3 run.py test` does so in CI"
    return None


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A Chromium; where there is none the tests are skipped, but never in CI."""
    reason = lacking()
    if reason is not None:
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_visit(browser: Browser, address: str, **settings: Any) -> Iterator[Visit]:
    """Somebody who opened *address*; *settings* are those of Playwright's contexts."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **settings})
    context.set_default_timeout(WAIT_MS)
    try:
        visit = Visit(context)
        visit.page.goto(address)
        visit.page.wait_for_url("**/chats/*")
        yield visit
    finally:
        context.close()


class Visit:
    """One browser profile on the page, and everything that went wrong in it."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.faults: list[str] = []
        """Errors of scripts, dialogs, and requests to other hosts: each is a fault of the page."""
        self.page = self.open_tab()

    def open_tab(self) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        page.on("dialog", self._on_dialog)
        page.on("console", self._on_console)
        page.on("request", self._on_request)
        return page

    def _on_request(self, request: Any) -> None:
        host = urlsplit(request.url).hostname or ""
        is_ours = host == "127.0.0.1" or host.endswith(".localhost")
        if not is_ours and not request.url.startswith("data:"):
            self.faults.append(f"asked elsewhere: {request.url}")

    def _on_dialog(self, dialog: Any) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_console(self, message: Any) -> None:
        if message.type == "error" and "Content Security Policy" in message.text:
            self.faults.append(message.text)
