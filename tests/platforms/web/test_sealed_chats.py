"""Chats over real HTTP: what is recalled from one in another, with what found it, and chats that are sealed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.config.groups import write_group
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint

pytestmark = needs_page

MAIN = "/chats/1"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("Hm.")) as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    """Ember, who knows of a key."""
    made = tmp_path_factory.mktemp("sealed")
    topics = make_home(made, model) / "memory" / "topics"
    topics.mkdir(parents=True)
    (topics / "house.md").write_text("# House\n\nThe spare key lies under the blue pot.\n", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def page(home: Path) -> Iterator[PageProcess]:
    with PageProcess(home) as running:
        running.enter()
        running.ask("GET", MAIN)
        yield running


def say(page: PageProcess, chat: str, text: str) -> None:
    """Say something in a chat and wait until it is answered."""
    with page.events(path=f"{chat}/events") as events:
        assert page.post(f"{chat}/messages", text=text).status == 202
        events.until("done")


def test_what_was_found_stands_in_the_glass_box_with_rank_score_and_signals(page: PageProcess) -> None:
    """A file and a line of another chat, each with a link to where it stands, and whether the model was shown it."""
    kitchen = page.post("/chats", name="kitchen").headers["location"]
    say(page, kitchen, "My cousin Ottilie mends violins in Graz.")
    page.ask("GET", "/memory?q=spare+key")  # waits for the index
    say(page, MAIN, "Where does the spare key lie, and what does Ottilie mend?")
    turn = re.search(r'href="/f/ember(/turns/[^"]+)"', page.ask("GET", "/turns").body)
    assert turn is not None
    panel = page.ask("GET", f"{turn[1]}/panel").body
    listed = panel.partition("<h2>Found in memory</h2>")[2].partition("<h2>")[0]
    rows = re.findall(r'<li value="(\d+)"( class="off")?>(.*?)</li>', listed, re.DOTALL)
    house = next(row for row in rows if "topics/house.md" in row[2])
    told = next(row for row in rows if "Ottilie mends violins" in row[2])

    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
    assert 'href="/f/ember/memory/file?path=topics%2Fhouse.md"' in house[2]
    assert (house[1], told[1]) == ("", "")
    assert re.search(r"score \d+\.\d\d · \w[^+]* \+\d+\.\d\d", house[2])
    assert re.search(rf'href="{re.escape(kitchen)}\?line=(\d+)#line-\1"', told[2])


def test_a_sealed_chat_is_a_world_of_its_own(page: PageProcess, model: ModelServer) -> None:
    """What was said in it, before the switch too, is told in no other chat and nothing of theirs in it; and back."""
    attic = page.post("/chats", name="attic").headers["location"]
    say(page, attic, "My uncle Balthasar breeds newts in Linz.")
    say(page, MAIN, "My neighbour Wilhelmina paints gates.")
    assert page.post(f"{attic}/seal", sealed="1").status == 303
    shown = page.ask("GET", attic).body
    say(page, MAIN, "What does my uncle Balthasar breed?")
    in_main = str(model.requests[-1].payload)
    say(page, attic, "What does Balthasar breed, what does Wilhelmina paint, and where is the spare key?")
    in_attic = str(model.requests[-1].payload)
    page.post(f"{attic}/seal", sealed="")
    say(page, MAIN, "Once more: what does Balthasar breed?")

    assert "Sealed: apart from your other chats" in shown
    assert "newts" not in in_main
    assert "newts" in in_attic
    assert "paints gates" not in in_attic
    assert "blue pot" in in_attic, "a file for everyone is no other chat's"
    assert "newts" in str(model.requests[-1].payload)


def test_the_seal_is_a_setting_of_the_chats_own_file(page: PageProcess, home: Path) -> None:
    """As an editor would write it; a group's chat is refused in one sentence."""
    cellar = page.post("/chats", name="cellar").headers["location"]
    page.post(f"{cellar}/seal", sealed="1")
    file = home / "familiars" / "ember" / "channels" / f"{cellar.rpartition('/')[2]}.toml"

    assert "sealed = true" in file.read_text(encoding="utf-8")

    page.ask("GET", cellar)
    next_one = page.post("/chats", name="cellar too").headers["location"]

    assert "Sealed: apart from your other chats" in page.ask("GET", next_one).body

    write_group(home, "hearth", ["ember", "wren"])
    group = page.post("/chats", name="group hearth").headers["location"]
    refused = page.post(f"{group}/seal", sealed="1")

    assert refused.status == 400
    assert "a chat of a group cannot be sealed" in refused.body
