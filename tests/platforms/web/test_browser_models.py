"""Models on the page in a real Chromium: a better one offered above the chat, any other chosen, no restart."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from familiar_connect.commands.upgrade import write_asking
from familiar_connect.config.load import write_user_name
from familiar_connect.errors import ModelSetupError
from familiar_connect.llm.embedded.weights import find_weights
from tests.fakes.browser import Visit, open_visit
from tests.fakes.long_text import make_words
from tests.fakes.model_server import answer_as_asked, stream_answer
from tests.fakes.offered_models import CONTENT, NOWHERE, add_models, tiny
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint, run_program, shorten_turns
from tests.fakes.publisher import publisher_of
from tests.fakes.waiting import wait_until
from tests.platforms.web.test_browser_chat import faults_in_light_and_dark, replies, say, wait_for_reply

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = needs_page

PHONE = {"width": 390, "height": 844}


@contextmanager
def page_of(browser: Browser, home: Path, env: dict[str, str] | None = None, **settings: Any) -> Iterator[Visit]:
    """Somebody in the first chat of *home*; afterwards no script has failed."""
    with PageProcess(home, env=env) as running:
        running.enter()
        with open_visit(browser, running.address, **settings) as visit:
            yield visit
            assert visit.faults == []


def offer(page: Page, words: str | re.Pattern[str]) -> Locator:
    """The line under the head of the chat, once it says *words*."""
    line = page.locator(".chat .offer", has_text=words)
    line.wait_for()
    return line


def wait_for_model(page: Page, name: str) -> None:
    """The name above the chat."""
    page.locator(".bar .model bdi", has_text=re.compile(f"^{re.escape(name)}$")).wait_for()


def small_home(home: Path) -> Path:
    """A home on the small model; its familiar's settings."""
    root = make_home(home)
    write_user_name(root / "character.toml", "Sam")
    return root / "character.toml"


def part_of(home: Path) -> Path:
    return home / "cache" / "models" / "tiny.gguf.part"


def asks(home: Path) -> bool:
    """What the terminal reads before it offers anything."""
    rows = json.loads(run_program(home, "config", "show", "--json").stdout)
    return bool(next(row["value"] for row in rows if row["key"] == "offer_upgrade"))


def test_one_click_gets_a_better_model_that_takes_over_in_the_running_chat(browser: Browser, tmp_path: Path) -> None:
    """Nothing is downloaded before; the name above the chat, the next reply and the settings are the new model's."""
    try:
        content = find_weights().path.read_bytes()
    except ModelSetupError as missing:
        pytest.skip(str(missing))
    shorten_turns(tmp_path)
    small_home(tmp_path)
    with publisher_of(content) as published:
        add_models(tmp_path, tiny(published.url, content))
        with page_of(browser, tmp_path) as visit:
            page = visit.page
            wait_for_model(page, "small model")
            line = offer(page, "Tiny talks better than the small model (98 MB, licence MIT")
            assert published.ranges == []
            line.get_by_role("button", name="Get it").click()
            offer(page, "Tiny answers from now on.")
            wait_for_model(page, "tiny")
            said = replies(page).count()
            say(page, "hello there")
            page.wait_for_function(
                "(count) => document.querySelectorAll('.message.own[data-id]').length > count", arg=said
            )
            page.locator(".chat:not(.busy)").wait_for()
            page.locator(".chat .offer").get_by_role("button", name="Close").click()
            page.locator(".chat .offer [data-state=none]").wait_for(state="attached")
        assert len(published.ranges) == 1
    inspected = run_program(tmp_path, "inspect")
    listed = json.loads(run_program(tmp_path, "model", "list", "--json").stdout)

    assert "embedded:tiny" in inspected.stdout, inspected.stdout[:2000]
    assert listed["answering"] == [{"familiar": "ember", "model": "embedded:tiny", "address": None}]


def test_a_server_on_this_computer_is_offered_first_and_answers_next(browser: Browser, tmp_path: Path) -> None:
    """Nothing is downloaded."""
    small_home(tmp_path)
    words = make_words(12)
    with publisher_of(CONTENT) as published, model_endpoint(answer_as_asked(words)) as server:
        server.models = ["nomic-embed-text", "llama3.2", "qwen3"]
        add_models(tmp_path, tiny(published.url))
        with page_of(browser, tmp_path, {"OLLAMA_HOST": f"127.0.0.1:{server.port}"}) as visit:
            page = visit.page
            line = offer(page, "Ollama runs on this computer.")
            assert line.get_by_role("link", name="Other models").get_attribute("href") == "/f/ember/connect"
            line.get_by_role("button", name="Use llama3.2").click()
            offer(page, "llama3.2 at Ollama answers from now on.")
            wait_for_model(page, "llama3.2")
            say(page, "hello there")
            wait_for_reply(page, words[:30])

    assert published.ranges == []
    assert server.requests[-1].payload["model"] == "llama3.2"


def test_a_download_that_was_stopped_goes_on_at_the_next_start(browser: Browser, tmp_path: Path) -> None:
    """Size and percent are shown meanwhile. A file that does not run leaves the small model answering."""
    small_home(tmp_path)
    with publisher_of(CONTENT, stall_after=1_200_000) as published:
        add_models(tmp_path, tiny(published.url))
        with page_of(browser, tmp_path) as visit:
            page = visit.page
            offer(page, "Tiny talks better").get_by_role("button", name="Get it").click()
            line = offer(page, re.compile(r"Tiny: [1-9]\d % of 2 MB"))
            page.wait_for_function("() => document.querySelector('.offer progress').value > 0")
            assert faults_in_light_and_dark(page) == []
            line.get_by_role("button", name="Stop").click()
            offer(page, "What has arrived is kept")
    had = part_of(tmp_path).stat().st_size
    with publisher_of(CONTENT) as published:
        add_models(tmp_path, tiny(published.url))
        with page_of(browser, tmp_path) as visit:
            line = offer(visit.page, f"{had * 100 // len(CONTENT)} % of Tiny is already here")
            assert published.ranges == []
            line.get_by_role("button", name="Get the rest").click()
            offer(visit.page, "The model that answered before goes on answering.")
            wait_for_model(visit.page, "small model")

    assert published.ranges == [f"bytes={had}-"]
    assert (tmp_path / "cache" / "models" / "tiny.gguf").read_bytes() == CONTENT


def test_wrong_bytes_are_refused_and_offered_anew(browser: Browser, tmp_path: Path) -> None:
    """In a sentence; nobody opens them."""
    small_home(tmp_path)
    with publisher_of(CONTENT) as published:
        add_models(tmp_path, tiny(published.url, sha256="0" * 64))
        with page_of(browser, tmp_path) as visit:
            offer(visit.page, "Tiny talks better").get_by_role("button", name="Get it").click()
            line = offer(visit.page, "is not the publisher's file")
            line.get_by_role("button", name="Get it").wait_for()
            wait_for_model(visit.page, "small model")

    assert not list((tmp_path / "cache" / "models").glob("tiny.gguf*"))


def test_never_on_the_page_is_never_in_the_terminal_and_the_page_of_models_undoes_it(
    browser: Browser, tmp_path: Path
) -> None:
    """The same setting, in the file for all familiars."""
    small_home(tmp_path)
    add_models(tmp_path, tiny(NOWHERE))
    with page_of(browser, tmp_path) as visit:
        page = visit.page
        line = offer(page, "Tiny talks better")
        assert faults_in_light_and_dark(page) == []
        line.get_by_role("button", name="Never").click()
        offer(page, "I will not offer a better model again.")
        assert not asks(tmp_path)
        page.locator(".bar .model").click()
        page.get_by_role("button", name="Offer one again").click()
        page.locator("#now", has_text="Tiny talks better").wait_for()

    assert asks(tmp_path)


def test_never_in_the_terminal_is_never_on_the_page(browser: Browser, tmp_path: Path) -> None:
    """Also where the page had offered it already."""
    small_home(tmp_path)
    add_models(tmp_path, tiny(NOWHERE))
    with page_of(browser, tmp_path) as visit:
        offer(visit.page, "Tiny talks better")
        write_asking(tmp_path, asks=False)
        visit.page.reload()
        visit.page.locator("[data-ready]").wait_for()

        assert visit.page.locator(".chat .offer button").count() == 0


def test_not_now_lasts_until_the_next_start(browser: Browser, tmp_path: Path) -> None:
    """In every tab; nothing is written and nothing is downloaded."""
    settings = small_home(tmp_path)
    before = settings.read_text()
    with publisher_of(CONTENT) as published:
        add_models(tmp_path, tiny(published.url))
        with page_of(browser, tmp_path) as visit:
            other = visit.open_tab()
            other.goto(visit.page.url)
            offer(other, "Tiny talks better")
            offer(visit.page, "Tiny talks better").get_by_role("button", name="Not now").click()
            for page in (visit.page, other):
                page.bring_to_front()
                page.locator(".chat .offer [data-state=none]").wait_for(state="attached")
        with page_of(browser, tmp_path) as visit:
            offer(visit.page, "Tiny talks better")

    assert (published.ranges, settings.read_text()) == ([], before)


def test_all_of_it_works_without_scripts(browser: Browser, tmp_path: Path) -> None:
    """Buttons are forms, and a link looks again."""
    small_home(tmp_path)
    with publisher_of(CONTENT, stall_after=1_200_000) as published, PageProcess(tmp_path) as running:
        add_models(tmp_path, tiny(published.url))
        running.enter()
        with running.events() as events:
            running.ask("GET", "/chats/1")
            events.until("model")
        with open_visit(browser, running.address, java_script_enabled=False) as visit:
            page = visit.page
            offer(page, "Tiny talks better").get_by_role("button", name="Get it").click()
            wait_until(lambda: "of 2 MB" in running.ask("GET", "/chats/1").body, "the page says how much has arrived")
            page.get_by_role("link", name="Look again").click()
            offer(page, "of 2 MB").get_by_role("button", name="Stop").click()
            offer(page, "What has arrived is kept").get_by_role("button", name="Close").click()
            page.locator(".chat .offer [data-state=none]").wait_for(state="attached")

            assert visit.faults == []
    assert published.ranges == [""]


def test_a_model_that_is_chosen_answers_next_in_every_tab(browser: Browser, tmp_path: Path) -> None:
    """Also where the settings name another for replies; it stands in the file, as a person would write it."""
    first, second = make_words(10), make_words(10)[::-1]
    with model_endpoint(stream_answer(first)) as one, model_endpoint(answer_as_asked(second)) as other:
        settings = make_home(tmp_path, one) / "character.toml"
        write_user_name(settings, "Sam")
        other.models = ["qwen3", "llama3.2"]
        with page_of(browser, tmp_path, {"OLLAMA_HOST": f"127.0.0.1:{other.port}"}) as visit:
            page, tab = visit.page, visit.open_tab()
            tab.goto(page.url)
            tab.locator("[data-ready]").wait_for()
            wait_for_model(page, "test-model")
            page.bring_to_front()
            page.locator(".bar .model").click()
            page.locator("section", has_text="Ollama").get_by_role("button", name="Use llama3.2").click()
            page.locator("#now", has_text="llama3.2 at Ollama answers from now on.").wait_for()
            page.locator("strong", has_text="llama3.2").wait_for()
            assert faults_in_light_and_dark(page) == []
            tab.bring_to_front()
            wait_for_model(tab, "llama3.2")
            say(tab, "hello there")
            tab.locator(".message.own[data-id] .words").last.filter(has_text=second[:20]).wait_for()
        written = tomllib.loads(settings.read_text())["llm"]

    assert [request.payload["model"] for request in other.requests][-1] == "llama3.2"
    assert one.requests == []
    assert written["main_prose"] == {"model": "llama3.2", "base_url": other.base_url}


def test_the_page_of_models_shows_how_far_a_download_is_and_what_came_of_it(browser: Browser, tmp_path: Path) -> None:
    """It fits a phone; what an earlier one left is told beside the model."""
    with model_endpoint(stream_answer("Hm.")) as server:
        make_home(tmp_path, server)
        with publisher_of(CONTENT, stall_after=1_200_000) as published:
            add_models(tmp_path, tiny(published.url))
            with page_of(browser, tmp_path, viewport=PHONE) as visit:
                page = visit.page
                page.locator(".bar .model").click()
                page.get_by_role("button", name="Get it tiny").click()
                page.locator("#now", has_text=re.compile(r"Tiny: [1-9]\d % of 2 MB")).wait_for()
                assert faults_in_light_and_dark(page) == []
                page.locator("#now").get_by_role("button", name="Stop").click()
                page.locator("#now", has_text="What has arrived is kept").wait_for()
                page.locator(".model-row", has_text=re.compile(r"\d\d % is here already")).wait_for()

                assert page.get_by_role("button", name="Get the rest tiny").count() == 1
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_name_above_the_chat_follows_the_command(browser: Browser, tmp_path: Path) -> None:
    """`/model` chooses, and takes it back."""
    with model_endpoint(stream_answer("Hm.")) as server:
        make_home(tmp_path, server)
        server.models = ["test-model", "other-model"]
        with page_of(browser, tmp_path) as visit:
            page = visit.page
            page.locator("[data-ready]").wait_for()
            wait_for_model(page, "test-model")
            say(page, "/model other-model")
            wait_for_model(page, "other-model")
            say(page, "/model default")
            wait_for_model(page, "test-model")
