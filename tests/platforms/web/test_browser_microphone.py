"""Speaking on the page in a real Chromium, whose microphone plays a recording."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fakes.browser import CHROMIUM, FLAGS, WAIT_MS, lacking, open_visit
from tests.fakes.page import PageProcess, needs_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page
pytest.importorskip("hibari", reason="voice is an extra: `python3 run.py --with voice voice -h` brings it")


@pytest.fixture
def speaking_browser(tmp_path: Path) -> Iterator[Browser]:
    """A Chromium whose microphone says the same question again and again."""
    if (reason := lacking()) is not None:
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    from familiar_connect.voice.wav import write_wav
    from tests.fakes.spoken_words import Speaker

    voice = Speaker()
    made = asyncio.run(voice.synthesize("What should I cook tonight?"))
    file = tmp_path / "question.wav"
    write_wav(file, made.audio + bytes(voice.sample_rate), voice.sample_rate)
    fake = [
        "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream",
        f"--use-file-for-fake-audio-capture={file}",
    ]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *fake])
        try:
            yield browser
        finally:
            browser.close()


def test_what_is_spoken_stands_in_the_field(speaking_browser: Browser, running: PageProcess) -> None:
    """While the button is held it is recorded; nothing is sent before the person sends it."""
    from playwright.sync_api import expect

    with open_visit(speaking_browser, running.address, permissions=["microphone"]) as visit:
        page = visit.page
        page.locator("[data-ready]").wait_for()
        button = page.get_by_role("button", name="Hold to speak")
        button.hover()
        page.mouse.down()
        page.locator('.talk[aria-pressed="true"]').wait_for()
        page.wait_for_timeout(5_000)  # the microphone speaks in real time
        page.mouse.up()
        expect(page.locator("#words")).to_have_value(re.compile("cook", re.IGNORECASE), timeout=WAIT_MS)
        assert page.locator(".message.theirs").count() == 0
        page.locator('.talk[aria-pressed="false"]').wait_for()
    assert visit.faults == []


def test_a_recording_that_is_none_is_a_sentence(running: PageProcess) -> None:
    """Nothing of it is kept."""
    answered = running.post("/hear", sound="none")
    assert answered.status == 400
    assert answered.json()["problem"] == "that could not be made out: speak again, or type it"
