"""The glass box over real HTTP: past turns with their blocks, why not, and memory to read."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.fakes.model_server import stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint

pytestmark = needs_page

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


def latest_turn(page: PageProcess) -> str:
    found = re.search(r'href="/turns/([^"]+)"', page.ask("GET", "/turns").body)
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

    assert "It was never told: nobody ever said “&lt;script&gt; zeppelin”, and no memory file holds it." in body
    assert "zeppelin" in body
    assert body.count("<script") == 1


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
