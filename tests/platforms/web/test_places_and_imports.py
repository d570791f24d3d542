"""Other places to read, who one is, and files that are brought in, over real HTTP against the real program."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.audience import Audience, AudienceKind
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.platforms.web.import_pages import guess_kind, safe_name, without_commands
from familiar_connect.platforms.web.multipart import parse_multipart
from familiar_connect.platforms.web.own_program import OwnProgram
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import Answered, PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint

pytestmark = needs_page

ADA = Author("discord", "42", "ada", "Ada <b>")
LOUNGE = 123456789012345678
BOOK = {"entries": {"0": {"uid": 0, "key": ["lamp"], "comment": "Lamp", "content": "The lamp burns blue."}}}


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("Aye.")) as server:
        yield server


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[PageProcess]:
    """Something was said on Discord before."""
    home = tmp_path_factory.mktemp("places")
    root = make_home(home, model)
    history = HistoryStore(root / "history.db")
    for text, author in (("Is anybody here?", ADA), ("I am.", None)):
        history.append_turn(
            familiar_id="ember",
            channel_id=LOUNGE,
            role="user" if author else "assistant",
            content=text,
            author=author,
            guild_id=7,
            audience=Audience(AudienceKind.EVERYONE),
        )
    history.close()
    with PageProcess(home) as running:
        running.enter()
        yield running


def upload(page: PageProcess, name: str, content: bytes, kind: str = "") -> Answered:
    """A form with a file, as a browser sends it."""
    parts = [
        f'--xx\r\nContent-Disposition: form-data; name="kind"\r\n\r\n{kind}\r\n'.encode(),
        f'--xx\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode() + content + b"\r\n",
        b"--xx--\r\n",
    ]
    return page.ask(
        "POST", "/import", b"".join(parts), origin=page.origin, content_type="multipart/form-data; boundary=xx"
    )


def test_a_channel_of_discord_can_be_read_and_not_written_to(page: PageProcess) -> None:
    """The left side leads there, by platform and people; there is nothing to write in and nothing to change."""
    side = page.ask("GET", "/chats/1").body
    place = page.ask("GET", f"/places/{LOUNGE}").body
    said = page.post(f"/chats/{LOUNGE}/messages", text="Hello there")

    assert f'href="/f/ember/places/{LOUNGE}"' in side
    assert "Discord · Ada &lt;b&gt;" in side
    assert "Is anybody here?" in place
    assert "composer" not in place
    assert "/regenerate" not in place
    assert said.status == 400


def test_a_place_that_is_none_is_a_sentence(page: PageProcess) -> None:
    """A chat of the page is none either: it has a page of its own."""
    assert [page.ask("GET", f"/places/{number}").status for number in (1, 5, 99999)] == [400, 400, 400]


def test_who_one_is_counts_from_the_next_reply_on(page: PageProcess, model: ModelServer) -> None:
    """Name and persona, in the prompt and on the page."""
    shown = page.ask("POST", "/you", "name=Robin&persona=A+retired+sailor", origin=page.origin)
    page.ask("GET", "/chats/1")
    with page.events() as events:
        page.say("Who am I?")
        events.until("done")
    asked = str(model.requests[-1].payload["messages"])

    assert shown.status == 303
    assert "Write to Ember as Robin" in page.ask("GET", "/chats/1").body
    assert "A retired sailor" in page.ask("GET", "/you").body
    assert "A retired sailor" in asked

    late = urlencode({"was": '{"name": "Robin", "persona": ""}', "name": "Robin", "persona": "A baker"})
    clash = page.ask("POST", "/you", late, origin=page.origin)

    assert clash.status == 409
    assert "What is there now: <bdi>A retired sailor</bdi>" in clash.body
    assert "A baker" in clash.body
    assert "Robin" in asked


def test_a_lorebook_is_brought_in_with_its_report(page: PageProcess) -> None:
    """By what it looks like; its entry is a memory file then."""
    answer = upload(page, "Lamps.json", json.dumps(BOOK).encode())

    assert answer.status == 200, answer.body
    assert "Lorebook: <bdi>Lamps.json</bdi>" in answer.body
    assert "lore%2F" in page.ask("GET", "/memory").body


async def test_a_report_names_files_from_within_the_home() -> None:
    """Where that lies on the disk is nothing for a page."""
    home = str(Path("/x/home"))
    code = f"print({str(Path(home, 'familiars', 'a.md'))!r})"
    program = OwnProgram((sys.executable, "-c", code, "--home", home))

    assert await program.read_text("import") == str(Path("familiars", "a.md"))


def test_a_report_sends_nobody_to_a_command_line() -> None:
    """What it says to type goes, and what it says besides stays."""
    says = (
        "Imported 4 of 4 messages.\nContinue it: `familiar chat --chat 'Wren - evening'`\n"
        "5 messages wait: that happens while it runs, or now with `.venv/bin/familiar memory write-now`.\n\n"
        "Use `tea`.\nSee it: `python3 run.py preset show`. Turn it off: `python3 run.py preset off`."
    )

    assert without_commands(says) == (
        "Imported 4 of 4 messages.\n5 messages wait: that happens while it runs.\n\nUse `tea`."
    )


def test_a_file_that_cannot_be_read_is_a_sentence(page: PageProcess) -> None:
    """Of the verb that tried; and none at all is one too."""
    broken = upload(page, "<script>.png", b"no picture")
    missing = upload(page, "", b"")

    assert (broken.status, missing.status) == (400, 400)
    assert "<script>" not in broken.body.partition("<main")[2]
    assert "no file was sent" in missing.body


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("Mira.png", b"\x89PNG", "card"),
        ("Mira.json", b'{"spec": "chara_card_v2"}', "card"),
        ("Eldoria.json", b'{"entries": {}}', "lorebook"),
        ("Default.json", b'{"prompts": []}', "preset"),
        ("log.json", b"[]", "chat"),
        ("evening.jsonl", b"{}", "chat"),
        ("handbook.pdf", b"%PDF", "document"),
        ("broken.json", b"{", "document"),
    ],
)
def test_a_file_is_known_by_what_it_looks_like(name: str, content: bytes, kind: str) -> None:
    """Its ending, and for JSON what it holds."""
    assert guess_kind(name, content) == kind


@given(st.text(max_size=300))
def test_the_name_of_a_file_never_leads_out_of_a_folder(name: str) -> None:
    """Whatever a browser says it is called."""
    kept = safe_name(name)

    assert Path(kept).name == kept
    assert kept not in ("", ".", "..")
    assert len(kept) <= 200


@given(st.binary(max_size=500), st.text(max_size=40))
def test_any_body_is_read_as_a_form_or_as_none(body: bytes, boundary: str) -> None:
    """A file comes out as it went in; nonsense is no field."""
    parse_multipart(f"multipart/form-data; boundary={boundary}", body)
    form = b'--xx\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + body + b"\r\n--xx--\r\n"
    if b"--xx" not in body:
        assert parse_multipart("multipart/form-data; boundary=xx", form) == {"file": ("a", body)}
