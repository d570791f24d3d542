"""SillyTavern as it is published: fetched from npm into a folder that stays, served here, its page driven headless."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from tools.browser import find_browser

VERSION = "1.19.0"
PACKAGE = f"sillytavern@{VERSION}"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "familiar-connect-benchmarks" / VERSION
INSTALL_S, START_S = 900, 600
"""Its first start also puts its page together, which takes minutes on a busy computer."""
PAGE_TRIES = 5
IS_LOADED = "() => document.readyState === 'complete' && window.SillyTavern?.getContext"
FROZEN = "2025-03-14T15:09:26Z"
PAGE = Path(__file__).with_name("page.js")
CONFIG = "skipContentCheck: true\nlisten: false\nbrowserLaunch:\n  enabled: false\nlogging:\n  minLogLevel: 3\n"


class OracleMissing(Exception):
    """SillyTavern cannot be asked here; the message says what is missing."""


def missing_parts() -> str:
    """What is missing to ask SillyTavern, as a sentence; empty where nothing is."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "Skipped: node and npm are missing, and SillyTavern runs on them."
    if find_spec("playwright") is None:
        return "Skipped: playwright is not installed, which drives SillyTavern's page."
    return "" if find_browser() else "Skipped: there is no Chromium here to show SillyTavern's page to."


def install(cache: Path = CACHE) -> Path:
    """The folder of SillyTavern, fetched if it is not there; its packages' own install scripts do not run."""
    program = cache / "node_modules" / "sillytavern"
    if (program / "server.js").exists():
        return program
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "package.json").write_text('{"private": true}', encoding="utf-8")
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", PACKAGE]
    try:
        subprocess.run(command, cwd=cache, check=True, capture_output=True, text=True, timeout=INSTALL_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise OracleMissing(f"Skipped: {PACKAGE} could not be fetched from npm: {error}") from error
    return program


@contextmanager
def serve(program: Path, data: Path) -> Iterator[str]:
    """SillyTavern's server with *data* as its folder; its address."""
    settings = data / "default-user" / "settings.json"
    if not settings.exists():  # which it copies itself only together with all of its other contents
        settings.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(program / "default" / "content" / "settings.json", settings)
    config = data / "config.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    port = free_port()
    command = ["node", "server.js", "--dataRoot", str(data), "--port", str(port), "--configPath", str(config)]
    with (data / "server.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=program, stdout=log, stderr=subprocess.STDOUT)
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until_served(address, process)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_served(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise OracleMissing("Skipped: SillyTavern's server ended as it started; see server.log in the cache.")
        try:
            with urlopen(address, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.5)
    raise OracleMissing(f"Skipped: SillyTavern's server was not there after {START_S} seconds.")


class RealSillyTavern:
    """The page, ready to be given cases."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def run(self, case: dict[str, Any]) -> list[dict[str, Any]]:
        """What SillyTavern did in each step of *case*: messages, chat, variables, entries called up."""
        steps: list[dict[str, Any]] = self._page.evaluate("given => window.runCase(given)", case)
        return steps

    def expand(self, case: dict[str, Any]) -> list[str]:
        """The texts of *case*, their macros read."""
        texts: list[str] = self._page.evaluate("given => window.expandTexts(given)", case)
        return texts


def prepare_page(page: Any) -> None:
    """Have the page ready for cases; on its first visits it loads itself again while it is being prepared."""
    from playwright.sync_api import Error

    script = PAGE.read_text(encoding="utf-8").split("\n", 2)[2]
    for left in reversed(range(PAGE_TRIES)):
        try:
            page.wait_for_function(IS_LOADED)
            page.evaluate(script)
            return
        except Error as error:
            if not left or "context was destroyed" not in str(error):
                raise
            page.wait_for_load_state()


@contextmanager
def open_sillytavern(cache: Path = CACHE) -> Iterator[RealSillyTavern]:
    """SillyTavern, running; `OracleMissing` says why not."""
    if reason := missing_parts():
        raise OracleMissing(reason)
    from playwright.sync_api import sync_playwright

    with serve(install(cache), cache / "data") as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])
        try:
            page = browser.new_page(locale="en-US", timezone_id="UTC")
            page.set_default_timeout(START_S * 1000)
            page.clock.set_fixed_time(FROZEN)
            page.goto(address)
            prepare_page(page)
            yield RealSillyTavern(page)
        finally:
            browser.close()
