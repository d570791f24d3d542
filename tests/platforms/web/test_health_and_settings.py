"""Health, settings and the choice of a model at the page, over real HTTP, against the real program."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.parse import quote

import pytest

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import explain_character_config
from familiar_connect.memory.writing.journal import PENDING, QUARANTINE_NAME
from tests.fakes.model_server import ModelServer, error_answer, stream_answer, whole_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.waiting import files_holding, wait_until
from tests.fakes.web_form import send_form

pytestmark = needs_page

KEY = "sk-very-secret-0123456789"
NEW_KEY = "sk-another-secret-987654"
COMMENT = "# Keep memories as proposals until you approve them."


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("Hello.")) as running:
        running.models = ["tiny-one", "tiny-two <script>alert(1)</script>"]
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> Path:
    home = tmp_path_factory.mktemp("settings")
    root = make_home(home, server)
    (home / "secrets.env").write_text(f"OPENROUTER_API_KEY={KEY}\n")
    (home / "secrets.env").chmod(0o600)
    plant_stuck_batch(root)
    return home


def plant_stuck_batch(root: Path) -> None:
    """The first two turns of the familiar in *root*, as the memory writer puts aside what it gave up on."""
    stuck = FamiliarFolder(root).memory / PENDING / "stuck1"
    stuck.mkdir(parents=True)
    (stuck / QUARANTINE_NAME).write_text('{"turns": [1, 2], "reason": "the writer gave up", "created_at": ""}')


@pytest.fixture(scope="module")
def page(home: Path) -> Iterator[PageProcess]:
    with PageProcess(home) as running:
        running.enter()
        running.ask("GET", "/chats/1")
        with running.events() as events:
            running.say("Hello?")
            events.until("done")
        yield running


def settings_file(home: Path) -> Path:
    return home / "familiars" / "ember" / "character.toml"


def test_health_tells_of_turns_writer_index_and_disk(page: PageProcess) -> None:
    """The times of each stage, what is not written up, what the writer gave up on, and how large it all is."""
    body = page.ask("GET", "/health").body

    assert "whole turn" in body
    assert '<th scope="row">model</th>' in body
    assert re.search(r"\d turns? (is|are) not written up yet", body)
    assert 'href="/f/ember/review/stuck1"' in body
    assert "<dt>history</dt>" in body
    assert " GB</dd>" in body
    assert "None in these turns." in body


def test_everything_is_checked_as_doctor_does(page: PageProcess, home: Path) -> None:
    """Findings of `familiar doctor --offline`, the bad ones first; no key among them."""
    body = send_form(page, "/health/check").body

    assert "<strong>disk</strong>" in body
    assert "<strong>history</strong>" in body
    assert "<strong>review</strong>" in body
    assert KEY not in body


def test_every_setting_is_listed_with_value_origin_and_sentence(page: PageProcess, home: Path) -> None:
    """All that `familiar config show` prints."""
    body = page.ask("GET", "/settings").body

    for each in explain_character_config(settings_file(home)):
        assert f"/settings/edit?key={quote(each.key)}" in body, each.key
    assert "Keep memories as proposals until you approve them." in body
    assert "this familiar&#39;s file" in body
    assert KEY not in body


def test_a_setting_is_changed_with_its_comments_kept(page: PageProcess, home: Path) -> None:
    """And taken out again; without any script."""
    file = settings_file(home)
    before = file.read_text()
    form = page.ask("GET", "/settings/edit?key=memory_writer.review").body
    saved = send_form(page, "/settings/edit", key="memory_writer.review", value="true", action="save")
    shown = page.ask("GET", saved.headers["location"]).body
    changed = page.ask("GET", "/settings?changed=1").body
    after = file.read_text()
    late = send_form(page, "/settings/edit", key="memory_writer.review", value="false", was="false", action="save")
    reset = send_form(page, "/settings/edit", key="memory_writer.review", action="reset")

    assert (late.status, "This setting changed while the form was open" in late.body) == (409, True)
    assert '<option value="false" selected>' in form
    assert saved.status == 303
    assert "It takes effect from now on." in shown
    assert "key=memory_writer.review" in changed
    assert "key=memory_writer.idle_timeout" not in changed
    assert tomllib.loads(after)["memory_writer"]["review"] is True
    assert [line for line in before.splitlines() if line.startswith("#") and line not in after] == []
    assert COMMENT in after
    assert reset.status == 303
    assert "review" not in tomllib.loads(file.read_text()).get("memory_writer", {})


def test_a_setting_of_the_prompt_counts_at_once(page: PageProcess, server: ModelServer) -> None:
    """The next reply has it; the program, the address and the browser that was let in stay as they are."""
    before = page.ask("GET", "/chats/1").headers
    process = page.process.pid
    form = page.ask("GET", "/settings/edit?key=budget_tokens").body
    send_form(page, "/settings/edit", key="budget_tokens", value="5000", action="save")
    wait_until(lambda: page.output.count("Traceback") == 0 and reads_budget(page, "5,000"), "the new budget counts")
    after = page.ask("GET", "/chats/1").headers
    send_form(page, "/settings/edit", key="budget_tokens", action="reset")

    assert "Takes effect at once" in form
    assert page.process.pid == process
    assert [after[name] for name in ("x-familiar-run", "x-familiar-history")] == [
        before[name] for name in ("x-familiar-run", "x-familiar-history")
    ]


def reads_budget(page: PageProcess, tokens: str) -> bool:
    """Whether a reply made now has a prompt of so many tokens at most."""
    try:
        with page.events() as events:
            page.say("And now?")
            events.until("done")
    except (OSError, HTTPException, AssertionError):  # it is loaded again right now
        return False
    turn = re.search(r'href="/f/ember/turns/([^"?]+)"', page.ask("GET", "/turns").body)
    assert turn is not None
    return f"of {tokens} tokens" in page.ask("GET", f"/turns/{turn[1]}/panel").body


def test_beside_other_platforms_what_waits_for_the_next_start_is_told(home: Path) -> None:
    """With what counts until then; taken back, nothing waits."""
    with PageProcess(home, verb=("run", "--page", "--page-port")) as page:
        page.enter()
        fresh = page.ask("GET", "/settings").body
        send_form(page, "/settings/edit", key="memory_writer.review", value="true", action="save")
        listed = page.ask("GET", "/settings").body
        form = page.ask("GET", "/settings/edit?key=memory_writer.review").body
        send_form(page, "/settings/edit", key="memory_writer.review", action="reset")
        again = page.ask("GET", "/settings").body

    assert "for the next start of the program" not in fresh + again
    assert "1 setting waits for the next start of the program" in listed
    assert 'from the next start; until then <code dir="auto">false</code>' in listed
    assert '<dt>in force</dt><dd><code dir="auto">false</code> until the next start' in form
    assert "Takes effect at the next start of the program." in form


def test_who_one_is_counts_at_once_in_the_settings_too(page: PageProcess) -> None:
    """As on the page of that name; nothing waits."""
    form = page.ask("GET", "/settings/edit?key=user_persona").body
    saved = send_form(page, "/settings/edit", key="user_persona", value="A lamp keeper", action="save")
    shown = page.ask("GET", saved.headers["location"]).body
    you = page.ask("GET", "/you").body
    send_form(page, "/settings/edit", key="user_persona", action="reset")

    assert "Takes effect from the next reply on." in form
    assert "It takes effect from now on." in shown
    assert "A lamp keeper" in you
    assert "A lamp keeper" not in page.ask("GET", "/you").body


@pytest.mark.parametrize(
    ("name", "words", "says"),
    [
        ("memory_writer.idle_timeout", "-1", "memory_writer] idle_timeout must be"),
        ("display_tz", "<script>alert(1)</script>", "display_tz must be"),
        ("memory_writer.idle_timeout", "1\n[llm.default]\nmodel = 'x'", "must be"),
        ("llm.main_prose.api_key_env", NEW_KEY, "the name of an environment variable"),
        ("no_such.setting", "1", "there is no setting"),
    ],
)
def test_a_value_the_file_would_refuse_is_refused_here(
    page: PageProcess, home: Path, name: str, words: str, says: str
) -> None:
    """With the file's own sentence; nothing is written, nothing runs, and a key pasted by mistake is not repeated."""
    before = settings_file(home).read_text()
    answer = send_form(page, "/settings/edit", key=name, value=words, action="save")

    assert answer.status == 400
    assert says in answer.body
    assert "<script>alert" not in answer.body
    assert NEW_KEY not in answer.body
    assert settings_file(home).read_text() == before


def test_servers_on_this_computer_are_found(page: PageProcess, server: ModelServer) -> None:
    """With their models, whose names are text; choosing one fills the form."""
    port = server.base_url.split(":")[2].split("/")[0]
    body = page.ask("GET", f"/connect?look=1&port={port}").body
    chosen = page.ask("GET", f"/connect?url={quote(server.base_url)}&model=tiny-one").body

    assert "tiny-one" in body
    assert "<script>alert" not in body
    assert f"/connect/use?server={quote(server.base_url)}" in body
    assert f'value="{server.base_url}"' in chosen
    assert 'value="tiny-one"' in chosen


def test_a_setting_of_the_model_counts_from_the_next_reply_on(page: PageProcess, server: ModelServer) -> None:
    """Nothing waits for a start of the program; taken out of the file, it is as before."""
    form = page.ask("GET", "/settings/edit?key=llm.main_prose.temperature").body
    saved = send_form(page, "/settings/edit", key="llm.main_prose.temperature", value="0.25", action="save")
    shown = page.ask("GET", saved.headers["location"]).body
    with page.events() as events:
        page.say("And now?")
        events.until("done")
    asked = server.requests[-1].payload["temperature"]
    send_form(page, "/settings/edit", key="llm.main_prose.temperature", action="reset")
    with page.events() as events:
        page.say("And then?")
        events.until("done")

    assert "Takes effect from the next reply on." in form
    assert "It takes effect from now on." in shown
    assert asked == 0.25
    assert server.requests[-1].payload["temperature"] != 0.25


@pytest.mark.parametrize(
    ("path", "model", "says"),
    [
        ("/connect/use", "embedded:no-such-model", "There is no model"),
        ("/connect/use", "embedded:../../etc/passwd", "There is no model"),
        ("/connect/use?server=http%3A%2F%2F127.0.0.1%3A9%2Fv1", "tiny-one", "No server at"),
        ("/connect/use?server=http%3A%2F%2Fevil.example%2Fv1", "tiny-one", "No server at"),
    ],
)
def test_only_what_is_listed_can_be_chosen(page: PageProcess, home: Path, path: str, model: str, says: str) -> None:
    """Nobody is asked at an address that no server of this computer has, and no other file is opened."""
    before = settings_file(home).read_text()
    answer = send_form(page, path, model=model)

    assert answer.status == 400
    assert says in answer.body
    assert settings_file(home).read_text() == before


def test_a_model_is_asked_for_a_word_then_written_with_its_key(page: PageProcess, home: Path) -> None:
    """The key goes into secrets.env and nowhere else, never into a page. The next reply is the model's."""
    with model_endpoint(whole_answer("Hello <b>there</b>!"), stream_answer("So it is.")) as other:
        answer = send_form(
            page, "/connect", url=other.base_url, model="big-one", key_name="NEW_KEY", key=NEW_KEY, **{"for": "one"}
        )
        sent = other.requests[0].headers["authorization"]
        with page.events() as events:
            page.say("Who answers?")
            events.until("done")
        answered = other.requests[-1]
    written = tomllib.loads(settings_file(home).read_text())["llm"]["default"]
    pages = "".join(page.ask("GET", path).body for path in ("/settings", "/connect", "/health"))

    assert answer.status == 200
    assert 'It answered: <q dir="auto">Hello &lt;b&gt;there&lt;/b&gt;!</q>' in answer.body
    assert sent == f"Bearer {NEW_KEY}"
    assert (answered.payload["model"], answered.headers["authorization"]) == ("big-one", sent)
    assert "<strong><bdi>big-one</bdi></strong>" in pages
    assert written == {"model": "big-one", "base_url": other.base_url, "api_key_env": "NEW_KEY"}
    assert files_holding(home, NEW_KEY) == ["secrets.env"]
    assert NEW_KEY not in answer.body + pages
    assert KEY not in pages


def test_a_model_that_does_not_answer_is_not_written(page: PageProcess, home: Path) -> None:
    """The sentence of the failure stands above the form, which keeps what was typed, but for the key."""
    before = settings_file(home).read_text()
    with model_endpoint(error_answer(401), error_answer(401)) as other:
        answer = send_form(page, "/connect", url=other.base_url, model="big-one", key_name="BAD_KEY", key="sk-wrong-1")

    assert answer.status == 400
    assert "Nothing was written" in answer.body
    assert 'value="big-one"' in answer.body
    assert "sk-wrong-1" not in answer.body
    assert files_holding(home, "sk-wrong-1") == []
    assert settings_file(home).read_text() == before


@pytest.mark.parametrize(
    "fields",
    [
        {"url": "--home=/tmp/x", "model": "m"},
        {"url": "http://127.0.0.1:1/v1", "model": "--no-test"},
        {"url": "http://127.0.0.1:1/v1", "model": "m", "key_name": "PATH=x", "key": "k"},
        {"url": "http://127.0.0.1:1/v1", "model": "m", "key_name": "lower", "key": "k"},
        {"url": "", "model": ""},
    ],
)
def test_no_field_becomes_an_option_of_the_program(page: PageProcess, home: Path, fields: dict[str, str]) -> None:
    """A sentence instead, before anything is started."""
    before = settings_file(home).read_text()
    answer = send_form(page, "/connect", **fields)

    assert answer.status == 400
    assert settings_file(home).read_text() == before


@pytest.mark.parametrize("path", ["/health/check", "/settings/edit", "/connect", "/connect/use", "/connect/offer"])
@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {"sec_fetch_site": "same-site"}, {}])
def test_another_site_changes_no_setting(page: PageProcess, path: str, headers: dict[str, str]) -> None:
    """Its form is refused before it is read."""
    body = "key=memory_writer.review&value=true"
    answer = page.ask("POST", path, body, content_type="application/x-www-form-urlencoded", **headers)

    assert answer.status == 403


def test_a_stranger_sees_no_setting(page: PageProcess) -> None:
    """Every page of it needs the cookie."""
    cookie, page.cookie = page.cookie, None
    try:
        paths = ("/health", "/settings", "/settings/edit", "/connect", "/connect/offer?chat=1")
        codes = {page.ask("GET", path).status for path in paths}
    finally:
        page.cookie = cookie

    assert codes == {401}


def test_no_page_of_it_has_inline_script_or_style(page: PageProcess) -> None:
    """The policy would refuse them, so there are none."""
    for path in ("/health", "/settings", "/settings/edit?key=display_tz", "/connect"):
        answer = page.ask("GET", path)
        body = answer.body
        assert answer.status == 200
        assert " style=" not in body
        assert body.count("<script") == body.count('<script type="module" src="/static/')


def test_what_the_memory_writer_gave_up_on_is_tried_again_with_a_button(tmp_path: Path, server: ModelServer) -> None:
    """The page says what came of it; there is nothing to try in what is not there."""
    plant_stuck_batch(make_home(tmp_path, server))
    with PageProcess(tmp_path) as page:
        page.enter()
        with page.events() as events:
            page.say("Hello?")
            events.until("done")
        shown = page.ask("GET", "/review/stuck1").body
        tried = send_form(page, "/review/stuck1/retry")
        told = page.ask("GET", tried.headers.get("location", "/")).body
        none = send_form(page, "/review/nothing/retry")

    assert "Try again</button>" in shown
    assert tried.status == 303, tried.body
    assert "Tried again: it is written into memory, or waits for your approval." in told
    assert none.status == 400
