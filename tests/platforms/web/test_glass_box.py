"""The glass box over real HTTP: past turns with their blocks, why not, and memory to read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from familiar_connect.config import CharacterConfig
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Message
from tests.fakes.model_server import stream_answer
from tests.fakes.page import PageClient, PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.scripted_familiar import scripted_familiar

pytestmark = needs_page

from tests.fakes.served_page import served_page  # noqa: E402 - needs the packages of the page

HERON = "Sam keeps a heron called Ignatius. <script>alert(1)</script>"
QUESTION = "Who stands by the pond?"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageProcess]:
    """One turn was made, with a people file planted that is too long for its place."""
    home = tmp_path_factory.mktemp("glass")
    with model_endpoint(stream_answer("A heron, I think.")) as server:
        root = make_home(home, server)
        people = root / "memory" / "people" / "terminal-you.md"
        people.parent.mkdir(parents=True, exist_ok=True)
        people.write_text(f"# Sam\n\n{HERON}\n\n" + "\n".join(f"- They told me of day {day}." for day in range(2_000)))
        topics = root / "memory" / "topics"
        topics.mkdir(parents=True, exist_ok=True)
        (topics / "house.md").write_text("# House\n\nThe spare key lies under the blue pot. See [[garden]].\n")
        (topics / "garden.md").write_text("---\naudience: owner\n---\n# Garden\n\nIt has *nine* herons.\n")
        with PageProcess(home) as running:
            running.enter()
            running.ask("GET", "/chats/1")
            with running.events() as events:
                running.say(QUESTION)
                events.until("done")
            yield running


def latest_turn(page: PageClient) -> str:
    found = re.search(r'href="/f/ember/turns/([^"]+)"', page.ask("GET", "/turns").body)
    assert found is not None
    return found[1]


def test_a_reply_leads_to_what_the_model_saw(page: PageProcess) -> None:
    """The message names its turn, and the turn shows the planted file as a block, with source, layer and audience."""
    body = page.ask("GET", "/chats/1").body
    trace_id = latest_turn(page)
    panel = page.ask("GET", f"/turns/{trace_id}/panel").body

    assert f'data-turn="{trace_id}"' in body
    assert "<bdi>content_search.people</bdi>" in panel
    assert "Sam keeps a heron called Ignatius. &lt;script&gt;" in panel
    assert "<script" not in panel
    assert "<dt>layer</dt>" in panel
    assert "may be heard by" in panel
    assert QUESTION in panel


def test_the_budget_and_the_time_are_drawn(page: PageProcess) -> None:
    """As pictures with words in them; without a style in the page."""
    panel = page.ask("GET", f"/turns/{latest_turn(page)}/panel").body

    assert 'aria-label="Where the tokens went: ' in panel
    assert "content search" in panel
    assert "first token after" in panel
    assert " style=" not in panel


def test_a_turn_can_be_opened_alone_and_taken_along(page: PageProcess) -> None:
    """The download is what `familiar inspect --json` prints."""
    trace_id = latest_turn(page)
    alone = page.ask("GET", f"/turns/{trace_id}")
    data = page.ask("GET", f"/turns/{trace_id}/data")

    assert "Messages as they were sent" in alone.body
    assert data.headers["content-disposition"] == f'attachment; filename="turn-{trace_id}.json"'
    assert data.json()["trace"]["trace_id"] == trace_id


@pytest.mark.parametrize("trace_id", ["nothing", "..%2F..%2Fetc", "%00", "x" * 3000])
def test_a_turn_that_is_not_there_is_a_sentence(page: PageProcess, trace_id: str) -> None:
    """Whatever stands in the address."""
    answer = page.ask("GET", f"/turns/{trace_id}/panel")

    assert answer.status in (400, 404)
    assert "Traceback" not in answer.body


def test_the_page_says_what_was_never_heard(page: PageProcess) -> None:
    """And names the words it looked for, which are text whatever they are."""
    body = page.ask("GET", "/why?q=%3Cscript%3E+zeppelin").body

    assert "No one ever said “&lt;script&gt; zeppelin”, and no memory file has it." in body
    assert "zeppelin" in body
    assert re.sub(r'<script type="module" src="/static/[\w.?=-]+"></script>', "", body).count("<script") == 0


def test_the_page_follows_what_is_written(page: PageProcess) -> None:
    """To the file and the line."""
    body = page.ask("GET", f"/why?q=spare+key&turn={latest_turn(page)}").body

    assert "topics/house.md line 3" in body


def test_the_first_visit_teaches(page: PageProcess) -> None:
    """Without a question the page says what it does."""
    assert "The first that fails is the answer" in page.ask("GET", "/why").body


def test_memory_is_listed_and_read_with_its_links(page: PageProcess) -> None:
    """Both ways; Markdown is rendered, what is kept about the file is not."""
    listed = page.ask("GET", "/memory").body
    house = page.ask("GET", "/memory/file?path=topics%2Fhouse.md").body
    garden = page.ask("GET", "/memory/file?path=topics%2Fgarden.md").body

    assert "topics%2Fhouse.md" in listed
    assert "topics%2Fgarden.md" in house
    assert "topics%2Fhouse.md" in garden.partition("Named in")[2]
    assert "<em>nine</em>" in garden


@pytest.mark.parametrize(
    "path", ["../character.toml", "/etc/passwd", "topics/../../character.toml", "", "none.md", "%00"]
)
def test_no_path_leads_out_of_memory(page: PageProcess, path: str) -> None:
    """Only files that memory lists are read."""
    answer = page.ask("GET", f"/memory/file?path={path}")

    assert answer.status == 400
    assert "there is no such memory file" in answer.body


async def test_earlier_lines_that_were_not_sent_are_counted_with_what_kept_them_out(tmp_path: Path) -> None:
    """And the setting that decides it; where all of a chat was sent nothing is said."""
    async with (
        scripted_familiar(tmp_path, lambda _: "Aye.", settings=with_short_window) as house,
        served_page(house.familiar) as page,
    ):
        panels = []
        for number in range(3):
            await asyncio.to_thread(page.say, f"Line {number}")
            await house.familiar.reply_path.queue.wait_until_channel_idle(1)
            await house.familiar.reply_path.recorder.wait_until_idle()
            turn = await asyncio.to_thread(latest_turn, page)
            panels.append((await asyncio.to_thread(page.ask, "GET", f"/turns/{turn}/panel")).body)
        lines = house.familiar.history_store.recent(familiar_id="ember", channel_id=1, limit=20)
        first = re.search(r'data-first-sent="(\d+)"', panels[2])

    assert "earlier lines" not in panels[0]
    assert "Nothing was cut: all of it fit." in panels[0]
    assert first is not None
    before = [turn for turn in lines if turn.id < int(first[1])]
    assert f"{len(before)} earlier line" in panels[2]
    assert "only the latest lines are shown word for word" in panels[2]
    assert 'href="/f/ember/settings/edit?key=providers.history.window_size"' in panels[2]
    assert "Nothing else was cut." in panels[2]


def with_short_window(config: CharacterConfig) -> CharacterConfig:
    return replace(config, history_window_size=2, history_grows=False)


async def test_what_models_are_asked_beside_replies_is_shown_with_its_prompt(tmp_path: Path) -> None:
    """And forgotten with anybody who is; a reply's own call is a turn and stands there."""
    async with scripted_familiar(tmp_path, lambda _: "Aye.") as house, served_page(house.familiar) as page:
        calls = house.familiar.pipelines.models
        await asyncio.to_thread(page.say, "Hello")
        await house.familiar.reply_path.queue.wait_until_channel_idle(1)
        nothing = (await asyncio.to_thread(page.ask, "GET", "/calls")).body
        house.familiar.llm_clients["history_summary"] = ScriptedModel(["The key was found."])
        words = "Sum this up: <b>the key</b>"
        await calls.model("history_summary").chat([Message(role="user", content=words)])
        listed = (await asyncio.to_thread(page.ask, "GET", "/calls")).body
        shown = (await asyncio.to_thread(page.ask, "GET", "/calls/1")).body
        calls.side_calls.forget()
        gone = await asyncio.to_thread(page.ask, "GET", "/calls/1")

    assert "No model was asked for anything but replies yet" in nothing
    assert "a summary" in listed
    assert 'href="/f/ember/calls/1"' in listed
    assert "Sum this up: &lt;b&gt;the key&lt;/b&gt;" in shown
    assert "The key was found." in shown
    assert "[llm.history_summary]" in shown
    assert gone.status == 400
