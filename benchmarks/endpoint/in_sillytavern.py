"""The guide's steps for SillyTavern, clicked in the real program: its page in a headless Chromium, our endpoint behind.

SillyTavern is fetched from npm once, as for the comparison in `benchmarks.sillytavern.oracle`. What is checked: a first
reply comes, a swipe makes another one, and the chat here reads as it reads there.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.sillytavern.oracle.real import CACHE, START_S, OracleMissing, install, missing_parts, serve
from benchmarks.table import Row
from familiar_connect.config.folders import HomeFolder
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import ChannelKey
from tests.fakes.endpoint import Endpoint, served_endpoint
from tools.browser import find_browser

CARD = Path(__file__).parents[2] / "examples" / "bring_a_character" / "Wren.png"
FIRST = "Hello, I am Sam and I keep bees."
SECOND = "What do I keep?"
PLATFORM = "serve"


def measure(cache: Path = CACHE) -> dict[str, Any]:
    """What was shown there and what is kept here; only why not, where SillyTavern cannot be had."""
    if reason := missing_parts():
        return {"skipped": reason}
    try:
        program = install(cache)
    except OracleMissing as missing:
        return {"skipped": str(missing)}
    with tempfile.TemporaryDirectory(prefix="familiar-sillytavern-") as folder:
        data = Path(folder) / "data"
        (data / "default-user" / "characters").mkdir(parents=True)
        shutil.copy(CARD, data / "default-user" / "characters" / "Wren.png")
        with served_endpoint(Path(folder) / "home") as endpoint:
            key = endpoint.add_key("laptop", "Sam")
            with serve(program, data) as address:
                shown = _use(address, endpoint, key)
        return {"shown": shown, "kept": _read_kept(endpoint.home)}


def _use(address: str, endpoint: Endpoint, key: str) -> list[str]:
    """Connect as the guide says, talk, swipe, and talk on; the lines that SillyTavern shows."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])
        try:
            page = browser.new_page(locale="en-US", viewport={"width": 1400, "height": 1000})
            page.set_default_timeout(START_S * 1000)
            page.goto(address)
            _welcome(page)
            _connect(page, endpoint.url, key)
            _open_character(page)
            _say(page, FIRST, replies=1)
            page.locator("#chat .mes.last_mes .swipe_right").click()
            page.wait_for_function(
                "() => document.querySelector('#chat .mes.last_mes').getAttribute('swipeid') === '1'"
            )
            _wait_for_reply(page, 1)
            _say(page, SECOND, replies=2)
            return [str(text).strip() for text in page.locator("#chat .mes .mes_text").all_inner_texts()]
        finally:
            browser.close()


def _welcome(page: Any) -> None:
    """The first visit asks for a name."""
    page.wait_for_function("() => window.SillyTavern?.getContext && !document.querySelector('#preloader')")
    asked = page.locator("dialog.popup[open] .popup-input")
    if asked.count():
        asked.fill("Sam")
        page.locator("dialog.popup[open] .popup-button-ok").click()


def _connect(page: Any, url: str, key: str) -> None:
    page.locator("#API-status-top").click()
    page.locator("#main_api").select_option("openai")
    page.locator("#chat_completion_source").select_option("custom")
    page.locator("#custom_api_url_text").fill(url)
    page.locator("#api_key_custom").fill(key)
    page.locator("#api_button_openai").click()
    page.wait_for_function(
        "() => [...document.querySelectorAll('#model_custom_select option')].some(o => o.value === 'ember')"
    )
    page.locator("#model_custom_select").select_option("ember")
    page.locator("#API-status-top").click()


def _open_character(page: Any) -> None:
    page.locator("#rightNavDrawerIcon").click()
    page.locator("#rm_button_characters").click()
    page.locator("#rm_print_characters_block .character_select", has_text="Wren").first.click()
    page.wait_for_function("() => document.querySelectorAll('#chat .mes').length >= 1")
    page.locator("dialog.popup[open] .popup-button-cancel").click()  # it asks whether to take the card's lorebook along
    page.locator("dialog.popup").wait_for(state="detached")


def _say(page: Any, text: str, *, replies: int) -> None:
    page.locator("#send_textarea").click()
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.locator("#chat .mes[is_user='true'] .mes_text", has_text=text).wait_for()
    _wait_for_reply(page, replies)


def _wait_for_reply(page: Any, replies: int) -> None:
    """Until so many replies stand there and nothing is being made."""
    page.wait_for_function(
        """replies => {
            const lines = [...document.querySelectorAll('#chat .mes[is_user="false"] .mes_text')].slice(1);
            return lines.length >= replies && lines.every(line => line.innerText.includes('This is reply'))
                && document.body.dataset.generating !== 'true';
        }""",
        arg=replies,
    )


def _read_kept(home: Path) -> dict[str, list[str]]:
    """The lines of each chat, as they are kept."""
    root = HomeFolder(home).familiar("ember")
    with closing(HistoryStore(root.history_db)) as history:
        chats = {}
        for channel in history.channel_keys.ids_from(PLATFORM, "", -1):
            number = history.channel_keys.number_of(ChannelKey(PLATFORM, channel))
            turns = history.recent(familiar_id=root.familiar_id, channel_id=number, limit=100)
            chats[channel] = [turn.content for turn in turns]
        return chats


def _plain(line: str) -> str:
    """Without the asterisks that SillyTavern draws as slanted words."""
    return line.replace("*", "")


def rows(found: dict[str, Any]) -> list[Row]:
    if "skipped" in found:
        return [Row(name="SillyTavern itself, by the guide", value=str(found["skipped"]))]
    shown = [_plain(line) for line in found["shown"]]
    kept = [[_plain(line) for line in lines] for lines in found["kept"].values()]
    return [
        Row(
            name="replies in SillyTavern itself, by the steps of the guide, one of them swiped",
            value=str(sum("This is reply" in line for line in shown)),
            bar="2",
            ok=sum("This is reply" in line for line in shown) == 2,
        ),
        Row(name="its chat reads here as there", value=str(kept == [shown]), bar="True", ok=kept == [shown]),
    ]
