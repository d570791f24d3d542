"""The picture of a familiar: from its card, or given on the page; over real HTTP against the real program."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.bootstrap.card_files.png import plain_picture, png_card
from familiar_connect.bootstrap.starter import make_starter
from tests.fakes.cards import V3, charx, picture
from tests.fakes.model_server import stream_answer
from tests.fakes.page import Answered, PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint, run_program

pytestmark = needs_page

FACE = plain_picture(40, 60)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Ember without a picture, Mira from a card that is one, Moth from an archive with one."""
    made = tmp_path_factory.mktemp("pictures")
    with model_endpoint(stream_answer("Aye.")) as server:
        make_home(made, server)
        (made / "card.png").write_bytes(png_card(FACE, V3))
        icon = {"type": "icon", "uri": "embeded://assets/face.png", "name": "main", "ext": "png"}
        payload = {**V3, "data": {**V3["data"], "name": "Moth", "assets": [icon]}}
        (made / "moth.charx").write_bytes(charx(payload, **{"assets/face.png": picture(width=7)}))
        for name in ("card.png", "moth.charx"):
            done = run_program(made, "init", "--from-card", str(made / name))
            assert done.returncode == 0, done.stderr
        yield made


@pytest.fixture(scope="module")
def page(home: Path) -> Iterator[PageProcess]:
    with PageProcess(home, "--familiar", "ember") as running:
        running.enter()
        yield running


def fetch(page: PageProcess, path: str) -> tuple[int, dict[str, str], bytes]:
    """The bytes that are served at *path*."""
    connection = http.client.HTTPConnection(page.listens_at, timeout=60)
    try:
        connection.request("GET", page.full(path), headers={"Cookie": page.cookie or "", "Host": page.host})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def send(page: PageProcess, content: bytes, path: str = "/picture") -> Answered:
    body = (
        b'--xx\r\nContent-Disposition: form-data; name="file"; filename="x.png"\r\n\r\n' + content + b"\r\n--xx--\r\n"
    )
    return page.ask("POST", path, body, origin=page.origin, content_type="multipart/form-data; boundary=xx")


def test_the_card_s_picture_is_the_familiar_s(page: PageProcess) -> None:
    """In the menu and beside its messages, without the card's text in it."""
    menu = page.ask("GET", "/familiars").body
    chat = page.ask("GET", "/f/mira/chats/1").body
    status, headers, content = fetch(page, "/pictures/mira?v=1")

    assert '<img src="/f/ember/pictures/mira?v=' in menu
    assert "A lighthouse keeper." in menu
    assert chat.count('<img src="/f/mira/pictures/mira?v=') >= 3  # menu, header, first words
    assert (status, headers["content-type"]) == (200, "image/png")
    assert content == FACE
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]


def test_the_picture_in_an_archive_is_kept(page: PageProcess) -> None:
    """A CHARX names its icon."""
    assert fetch(page, "/pictures/moth")[2] == picture(width=7)


def test_without_a_picture_the_first_letter_stands(page: PageProcess) -> None:
    """And nothing is asked for."""
    body = page.ask("GET", "/chats/1").body

    assert '<span class="avatar" aria-hidden="true">E</span>' in body
    assert "/pictures/ember" not in body
    assert fetch(page, "/pictures/ember")[0] == 404


def test_a_picture_is_given_and_taken_away(page: PageProcess, home: Path) -> None:
    """The card's comes back; the address changes with the picture."""
    before = page.ask("GET", "/f/mira/picture").body
    given = send(page, picture(width=9), "/f/mira/picture")
    during, served = page.ask("GET", "/f/mira/picture").body, fetch(page, "/f/mira/pictures/mira")[2]
    kept = (home / "familiars/mira/picture.png").read_bytes()
    page.post("/f/mira/picture/remove")

    assert given.headers["location"] == "/f/mira/picture"
    assert served == kept == picture(width=9)
    assert "Take it away" in during
    assert "Take it away" not in before
    assert before.split("/pictures/mira?v=")[1][:16] != during.split("/pictures/mira?v=")[1][:16]
    assert fetch(page, "/pictures/mira")[2] == FACE


@pytest.mark.parametrize(
    "content",
    [b"", b"<svg onload='alert(1)'/>", b"GIF89a" + bytes(50), FACE[:-30], b"\x89PNG\r\n\x1a\n" + bytes(99)],
    ids=["none", "markup", "animation", "cut short", "no chunks"],
)
def test_what_is_no_picture_is_refused(page: PageProcess, home: Path, content: bytes) -> None:
    """With a sentence, and nothing is kept."""
    answer = send(page, content)

    assert answer.status == 400
    assert "picture" in answer.body
    assert not list((home / "familiars/ember").glob("picture.*"))


@pytest.mark.parametrize("name", ["..%2Fmira", "_default", "nobody", "mira%2F..%2Fember", "%2e%2e"])
def test_a_name_leads_to_no_other_file(page: PageProcess, name: str) -> None:
    """Only a familiar's id names a picture."""
    assert fetch(page, f"/pictures/{name}")[0] == 404


def test_a_link_is_no_picture(page: PageProcess, home: Path) -> None:
    """What lies outside of the folder is not served."""
    make_starter(home, "linked")
    outside = home / "outside.png"
    outside.write_bytes(FACE)
    (home / "familiars/linked/picture.png").symlink_to(outside)

    assert fetch(page, "/pictures/linked")[0] == 404
    assert "/pictures/linked" not in page.ask("GET", "/familiars").body


def test_a_stranger_sees_no_picture(page: PageProcess) -> None:
    """Pictures are behind the same guard."""
    cookie, page.cookie = page.cookie, None
    try:
        assert fetch(page, "/pictures/mira")[0] == 401
    finally:
        page.cookie = cookie
