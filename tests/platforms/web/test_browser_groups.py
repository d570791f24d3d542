"""Groups on the page in a real Chromium: several familiars in one chat, whose turn it is, and their lines."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.groups import TurnOrder, change_group, load_group, write_group
from familiar_connect.history.chats import ChatRegistry
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from tests.fakes.browser import open_visit
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import Answered, PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.platforms.web.test_browser_chat import say

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = needs_page

FIELD = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


async def answer_as_oneself(server: ModelServer, writer: asyncio.StreamWriter) -> None:
    """Whose prompt it is says so, and how many requests there were."""
    is_wren = "You are Wren" in str(server.requests[-1].payload["messages"][0])
    await stream_answer(f"{'Wren' if is_wren else 'Ember'} says {len(server.requests)}.")(server, writer)


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_endpoint(answer_as_oneself) as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    """Ember and Wren, answered for by one model."""
    made = tmp_path_factory.mktemp("groups")
    make_home(made, model)
    make_starter(made, "wren", name="Wren", user_name="Sam")
    (made / "familiars" / "wren" / "memory" / "self" / "description.md").write_text("You are Wren.\n", encoding="utf-8")
    profile = made / "familiars" / "_default" / "character.toml"
    profile.parent.mkdir()
    profile.write_text(f'[llm.main_prose]\nmodel = "test-model"\nbase_url = "{model.base_url}"\n', encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def running(home: Path) -> Iterator[PageProcess]:
    with PageProcess(home, "--familiar", "ember") as page:
        page.enter()
        yield page


def send_form(page: PageProcess, path: str, fields: dict[str, str]) -> Answered:
    """A form of the page, sent without a script."""
    kind = "application/x-www-form-urlencoded"
    return page.ask("POST", path, urlencode(fields), origin=page.origin, content_type=kind)


def name_chats(home: Path, familiar: str) -> list[str]:
    """The chats that one of them has."""
    return [each.name for each in ChatRegistry(HomeFolder(home).familiar(familiar)).all(CHANNEL_ID)]


def lines(page: Page) -> list[tuple[str, str]]:
    """Who said what, as the page shows it."""
    shown = page.locator(".message[data-id]")
    return [
        (each.locator(".who bdi").inner_text(), each.locator(".words").inner_text().strip()) for each in shown.all()
    ]


def wait_for_lines(page: Page, count: int) -> list[tuple[str, str]]:
    page.wait_for_function(
        "count => document.querySelectorAll('.message[data-id]').length === count && !document.querySelector('.busy')",
        arg=count,
    )
    return lines(page)


def member(page: Page, name: str) -> Locator:
    return page.locator(".members li", has_text=name)


def test_a_group_is_made_talks_and_is_kept_by_each_of_them(
    browser: Browser, running: PageProcess, model: ModelServer, home: Path
) -> None:
    """With buttons alone: chosen, talked to, muted, made to speak; each member has all of it in its own chat."""
    with open_visit(browser, running.address) as visit:
        page = visit.page
        page.locator("[data-ready]").wait_for()
        page.get_by_role("link", name="Groups").click()
        page.get_by_label("Wren").check()
        page.get_by_label("What the group is called").fill("hearth")
        page.get_by_role("button", name="Bring them together").click()
        page.locator("[data-ready]").wait_for()
        begun = len(lines(page))
        say(page, "Ember, Wren, good evening!")
        after = wait_for_lines(page, begun + 3)[begun:]

        assert [who for who, _ in after][1:] == ["Ember", "Wren"]
        assert after[1][1].startswith("Ember says")
        assert after[2][1].startswith("Wren says")
        assert "Ember says" in str(model.requests[-1].payload), "Wren heard what Ember said"

        member(page, "Wren").get_by_role("button", name="only listens").click()
        member(page, "Wren").locator("[aria-pressed=true]").wait_for()
        say(page, "And now, Wren?")
        after = wait_for_lines(page, begun + 5)

        assert after[-1][0] == "Ember"
        assert load_group(home, "hearth").muted == ["wren"]

        member(page, "Wren").get_by_role("button", name="let it speak now").click()
        assert wait_for_lines(page, begun + 6)[-1][0] == "Wren"
        wren = page.locator(".message.own[data-id]").last
        wren.get_by_role("link", name="What did it see?").evaluate("link => link.click()")
        page.locator("#glass .panel").wait_for()
        page.locator("#glass .panel a[href^='/f/wren/turns/']").first.wait_for()

        wren.hover()
        page.get_by_role("button", name="A new version").click()
        page.locator(".message.own[data-id] .versions .count", has_text="2/2").last.wait_for()
        page.locator(".chat:not(.busy)").wait_for()
        words = lines(page)[-1][1]
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") == 390, "nothing is cut off on a phone"
        assert visit.faults == []
    done = run_program(home, "export", "chat", "--familiar", "wren", "--chat=group hearth", "-o", "-")
    assert words in done.stdout, done.stderr


def test_a_group_waits_to_be_asked_or_keeps_talking(browser: Browser, running: PageProcess, home: Path) -> None:
    """By hand nobody answers until a face is clicked; Keep talking begins round after round until one writes."""
    write_group(home, "attic", ["ember", "wren"])
    change_group(home, "attic", {"order": "manual"})
    there = running.post("/groups/attic/talk").headers["location"]
    with open_visit(browser, running.address) as visit:
        page = visit.page
        page.goto(f"{running.origin}{there}")
        page.locator("[data-ready]").wait_for()
        begun = len(lines(page))
        say(page, "Ember, what is in this box?")
        assert wait_for_lines(page, begun + 1)[-1][1] == "Ember, what is in this box?"
        member(page, "Wren").get_by_role("button", name="let it speak now").click()
        assert wait_for_lines(page, begun + 2)[-1][0] == "Wren"
        keep = page.get_by_role("button", name="Keep talking")
        keep.click()
        page.wait_for_function("count => document.querySelectorAll('.message[data-id]').length >= count", arg=begun + 4)
        assert keep.get_attribute("aria-pressed") == "true"
        page.locator("#words").fill("Stop")
        assert keep.get_attribute("aria-pressed") == "false"
        page.locator(".chat:not(.busy)").wait_for()
        assert page.locator(".message.notice").count() == 0
        first = page.locator(".message.theirs[data-id]", has_text="what is in this box?")
        first.hover()
        for _ in range(2):
            first.get_by_role("button", name="Take back from here on").click()
        first.wait_for(state="detached")
        assert len(lines(page)) == begun
        assert visit.faults == []
    done = run_program(home, "export", "chat", "--familiar", "wren", "--chat=group attic", "-o", "-")
    assert "this box" not in done.stdout, done.stderr


def test_a_line_is_changed_for_all_of_them(
    browser: Browser, running: PageProcess, model: ModelServer, home: Path
) -> None:
    """Edited, hidden or taken back on one member's page, no member is told it any more as it was."""
    write_group(home, "porch", ["ember", "wren"])
    there = running.post("/groups/porch/talk").headers["location"]
    with open_visit(browser, running.address) as visit:
        page = visit.page
        page.goto(f"{running.origin}{there}")
        page.locator("[data-ready]").wait_for()
        begun = len(lines(page))
        say(page, "Ember, Wren, here are three herrings")
        wait_for_lines(page, begun + 3)
        own, ember, wren = (page.locator(".message[data-id]").nth(begun + at) for at in range(3))
        ember.hover()
        ember.get_by_role("link", name="Edit").click()
        ember.get_by_label("The line").fill("I had four, in fact.")
        ember.get_by_role("button", name="Save").click()
        page.locator(".message.own .words", has_text="I had four, in fact.").wait_for()
        said = wren.locator(".words").inner_text()
        wren.hover()
        wren.get_by_role("button", name="Keep it out of every prompt").click()
        page.locator(".message.out", has_text=said).wait_for()
        own.hover()
        own.get_by_role("button", name="Take this line back").click()
        page.locator(".message[data-id]", has_text="three herrings").wait_for(state="detached")
        asked = len(model.requests)
        say(page, "So, Ember and Wren?")
        wait_for_lines(page, begun + 5)
        prompts = [str(each.payload) for each in model.requests[asked:]]

        assert len(prompts) == 2
        for prompt in prompts:
            assert "I had four, in fact." in prompt
            assert "three herrings" not in prompt
            assert said not in prompt
        assert visit.faults == []


def test_a_group_needs_no_script(running: PageProcess, home: Path) -> None:
    """Made, talked to and set up with forms alone; what was changed in the file meanwhile is kept or shown."""
    made = send_form(running, "/groups", {"member.ember": "1", "member.wren": "1", "name": "Hill Top"})
    chat = made.headers["location"]

    assert chat.startswith("/f/ember/chats/")

    send_form(running, f"{chat}/messages", {"text": "Wren?"})
    body = running.ask("GET", chat).body

    assert "Wren?" in body
    assert body.count('class="message own') >= 1

    begun = [name_chats(home, each) for each in ("ember", "wren")]
    send_form(running, f"{chat}/delete", {})

    assert all("group hill-top" in names for names in begun)
    assert not any("group hill-top" in name_chats(home, each) for each in ("ember", "wren"))

    form = running.ask("GET", "/groups/hill-top").body
    fields = {name: unescape(value) for name, value in FIELD.findall(form)}
    change_group(home, "hill-top", {"order": "pooled"})
    ours = {"was": fields["was"], "member.ember": "1", "member.wren": "1", "order": "natural", "max_replies": "3"}
    saved = send_form(running, "/groups/hill-top", ours)

    assert saved.headers["location"].endswith("?done=merged")
    assert (load_group(home, "hill-top").order, load_group(home, "hill-top").max_replies) == (TurnOrder.pooled, 3)

    clash = send_form(running, "/groups/hill-top", {**ours, "max_replies": "5"})

    assert clash.status == 409
    assert "The file says now: 3" in clash.body

    up = {**ours, "was": unescape(dict(FIELD.findall(running.ask("GET", "/groups/hill-top").body))["was"])}
    send_form(running, "/groups/hill-top", {**up, "order": "manual", "up": "wren"})
    group = load_group(home, "hill-top")
    send_form(running, "/groups/hill-top/delete", {})

    assert (group.members, group.order) == (["wren", "ember"], TurnOrder.manual)
    assert running.ask("GET", "/groups/hill-top").status == 400
