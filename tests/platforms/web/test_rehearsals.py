"""Rehearsals at the page, over real HTTP: a file opened, played in a home of its own, every step looked at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.page import Answered, PageProcess, needs_page
from tests.fakes.program import make_home
from tests.fakes.rehearsal import QUICK
from tests.fakes.waiting import wait_until
from tests.fakes.web_form import send_form

pytestmark = needs_page

HOSTILE = "<script>alert(1)</script>"
SCRIPT = {
    "familiar": {"name": "Ember", "settings": QUICK},
    "people": {"bo": {"name": "Bo"}},
    "places": {"tea": {"kind": "text", "server": "Tea House", "name": "lounge"}},
    "models": {"main_prose": {"say": [f"Hello, Bo! {HOSTILE}"]}},
    "steps": [
        {"at": "2026-03-01T08:00:00+00:00", "in": "tea", "by": "bo", "say": f"Ember? {HOSTILE}", "mention": True},
        {"expect": {"reply_in": "tea", "said_has": ["Hello"], "prompt_has": ["Bo"]}},
        {"expect": {"said_has": ["zeppelin"]}},
    ],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("rehearsals")
    make_home(home, ModelServer([], base_url="http://127.0.0.1:9/v1"))
    (home / "rehearsals").mkdir()
    (home / "rehearsals" / "mine.json").write_text(json.dumps(SCRIPT))
    return home


@pytest.fixture(scope="module")
def page(home: Path) -> Iterator[PageProcess]:
    with PageProcess(home) as running:
        running.enter()
        yield running


def files_of(home: Path) -> dict[str, str]:
    """What a person would look at in the live familiar's memory and settings."""
    root = home / "familiars" / "ember"
    paths = [root / "character.toml", *sorted((root / "memory").rglob("*.md"))]
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in paths}


def play(page: PageProcess, text: str, **fields: str) -> Answered:
    """Play it to its end; the page of its course."""
    started = send_form(page, "/rehearsals", text=text, scripted="1", **fields)
    assert started.status == 303, started.body
    address = started.headers["location"]
    wait_until(lambda: 'http-equiv="refresh"' not in page.ask("GET", address).body, "the rehearsal is over")
    return page.ask("GET", address)


def test_a_file_is_opened_played_and_looked_at_step_by_step(page: PageProcess, home: Path) -> None:
    """Each prompt and each expectation, held or not; the familiar of this home is left as it is."""
    before = files_of(home)
    opened = page.ask("GET", "/rehearsals?file=mine.json").body
    body = play(page, json.dumps(SCRIPT), file="mine.json").body

    listed = page.ask("GET", "/rehearsals").body
    run = re.search(
        r'href="(?:/f/ember)?(/rehearsals/[^"?]+)">\d+: <bdi>mine\.json</bdi></a> <span class="soft">1 held, 1 failed',
        listed,
    )
    assert run is not None, listed
    assert page.ask("GET", run[1]).body == body
    assert "<title>Rehearsal of mine.json" in body
    assert "Tea House" in opened
    assert "3 steps" in body
    assert "✓ held" in body
    assert "✗ did not hold" in body
    assert "zeppelin" in body
    assert "Prompt for main prose" in body
    assert "[system]" in body
    assert "<script>alert" not in body
    assert "&lt;script&gt;alert(1)" in body
    assert files_of(home) == before
    assert not (home / "familiars" / "ember" / "history.db-rehearsal").exists()


def test_an_empty_visit_teaches_with_an_example_that_plays(page: PageProcess) -> None:
    """The text in the form is a rehearsal, and everything in it holds."""
    from familiar_connect.platforms.web.rehearsal_pages import EXAMPLE

    example = {**json.loads(EXAMPLE), "familiar": {"settings": QUICK}}
    body = play(page, json.dumps(example)).body

    assert "Tea House" in page.ask("GET", "/rehearsals").body
    assert "0 failed" in body
    assert "<title>Rehearsal of “Ember, what&#39;s new?”" in body


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("not json", "this is not valid JSON"),
        ("[1]", "it is an object with steps"),
        ("[" * 100_000, "this is not valid JSON"),
        ("", "this is not valid JSON"),
    ],
)
def test_what_is_no_rehearsal_is_a_sentence(page: PageProcess, text: str, says: str) -> None:
    """Nothing is started."""
    answer = send_form(page, "/rehearsals", text=text)

    assert answer.status == 400
    assert says in answer.body


def test_a_mistake_in_a_file_is_told_in_the_programs_words(page: PageProcess) -> None:
    """The sentence of `familiar rehearse`."""
    body = play(page, json.dumps({**SCRIPT, "steps": [{"in": "nowhere", "by": "bo", "say": "x"}]})).body

    assert "nowhere" in body
    assert "Traceback" not in body


@pytest.mark.parametrize("name", ["../secrets.env", "..%2Fsecrets.env", "%2Fetc%2Fpasswd", "none.json"])
def test_only_listed_files_are_opened(page: PageProcess, name: str) -> None:
    """By name; no path is looked up."""
    assert page.ask("GET", f"/rehearsals?file={name}").status == 400


@pytest.mark.parametrize("path", ["/rehearsals", "/rehearsals/stop"])
@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {"sec_fetch_site": "cross-site"}, {}])
def test_another_site_plays_nothing(page: PageProcess, path: str, headers: dict[str, str]) -> None:
    """Its form is refused before it is read."""
    answer = page.ask("POST", path, "text={}", content_type="application/x-www-form-urlencoded", **headers)

    assert answer.status == 403


def test_a_run_that_is_not_kept_is_a_sentence(page: PageProcess) -> None:
    """Whatever stands in the address."""
    assert "play it again" in page.ask("GET", "/rehearsals/none").body
