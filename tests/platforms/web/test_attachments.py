"""Pictures and texts that go with a message, over real HTTP against the real program."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import Answered, PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint

pytestmark = needs_page

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>'


def make_png(width: int = 2, height: int = 2, colour: bytes = b"\xc0\x40\x10") -> bytes:
    """A picture of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + colour * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


PNG = make_png()


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("I see.")) as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    """Its model sees."""
    made = tmp_path_factory.mktemp("attachments")
    settings = make_home(made, model) / "character.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + "vision = true\n", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def page(home: Path) -> Iterator[PageProcess]:
    with PageProcess(home) as running:
        running.enter()
        running.ask("GET", "/chats/1")
        yield running


def send(page: PageProcess, text: str, *files: tuple[str, bytes], accept: str = "application/json") -> Answered:
    """A message with files, as a browser sends it."""
    parts = [f'--xx\r\nContent-Disposition: form-data; name="text"\r\n\r\n{text}\r\n'.encode()]
    for name, content in files:
        head = f'--xx\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        parts.append(head.encode() + content + b"\r\n")
    body = b"".join([*parts, b"--xx--\r\n"])
    return page.ask(
        "POST",
        "/chats/1/messages",
        body,
        origin=page.origin,
        accept=accept,
        content_type="multipart/form-data; boundary=xx",
    )


def picture_path(page: PageProcess) -> str:
    """Where the page finds the picture that was sent last."""
    return page.ask("GET", "/chats/1").body.rpartition('<img src="')[2].partition('"')[0]


def test_a_picture_is_shown_to_a_model_that_sees_and_to_the_page(page: PageProcess, model: ModelServer) -> None:
    """The bytes themselves, with the words; a message may also be the picture alone."""
    with page.events() as events:
        assert send(page, "What is this?", ("cat <b>.png", PNG)).status == 202
        events.until("done")
    asked = str(model.requests[-1].payload["messages"])
    with page.events() as events:
        assert send(page, "", ("again.png", PNG)).status == 202
        events.until("done")
    shown = page.ask("GET", "/chats/1").body

    assert f"data:image/png;base64,{base64.b64encode(PNG).decode()}" in asked
    assert "What is this?" in asked
    assert 'alt="cat &lt;b&gt;.png"' in shown
    assert 'alt="again.png"' in shown


def test_a_picture_is_served_as_the_picture_it_is_and_can_do_nothing(page: PageProcess) -> None:
    """Its type by its bytes, no sniffing, no script, and only for those who were let in."""
    send(page, "Look", ("page.html", PNG), accept="text/html")
    path = picture_path(page)
    connection = page.ask("GET", path + "x")
    cookie, page.cookie = page.cookie, None
    stranger = page.ask("GET", path)
    page.cookie = cookie
    import http.client

    client = http.client.HTTPConnection(page.listens_at)
    client.request("GET", path, headers={"Cookie": cookie or "", "Host": page.host})
    answer = client.getresponse()
    served = answer.read()
    client.close()

    assert served == PNG
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert (connection.status, stranger.status) == (404, 401)


def test_a_text_is_said_in_a_fence_that_it_cannot_close(page: PageProcess, model: ModelServer) -> None:
    """A drawing that could hold a script is a text like any other."""
    with page.events() as events:
        send(page, "Read this", ("notes.txt", b"The lamp burns ```blue```."), ("logo.svg", SVG))
        events.until("done")
    asked = str(model.requests[-1].payload["messages"])
    shown = page.ask("GET", "/chats/1").body

    assert "````" in asked
    assert "The lamp burns ```blue```." in asked
    assert "&lt;svg xmlns" in shown
    assert "<script>alert" not in shown


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ([("film.bin", b"\0\1\2")], "film.bin is neither a picture"),
        ([("film.mp4", b"\0\0\0\x18ftypisom")], "film.mp4 is neither a picture"),
        ([("big.png", PNG + bytes(5 * 1024 * 1024))], "more than 5 MB"),
        ([("long.txt", b"x" * 200_001)], "import it as a document"),
        ([(f"{number}.txt", b"x") for number in range(5)], "at most 4 files"),
        ([], "nothing to send"),
    ],
)
def test_what_cannot_go_with_a_message_is_a_sentence(
    page: PageProcess, home: Path, files: list[tuple[str, bytes]], sentence: str
) -> None:
    """And nothing is said or kept."""
    folder = home / "familiars" / "ember" / "attachments"
    before = sorted(folder.glob("*"))
    answer = send(page, "", *files)

    assert answer.status == 400
    assert sentence in answer.json()["problem"]
    assert sorted(folder.glob("*")) == before


def test_a_body_without_end_is_refused_before_it_is_read(page: PageProcess) -> None:
    """More than several pictures can have."""
    answer = page.ask(
        "POST", "/chats/1/messages", "", origin=page.origin, content_length="30000000", content_type="text/plain"
    )

    assert answer.status == 413


def test_a_model_that_sees_nothing_is_told_that_there_is_a_picture(tmp_path: Path) -> None:
    """As with a picture that somebody sends on Discord; the bytes are not sent."""
    with model_endpoint(stream_answer("Tell me about it.")) as server:
        make_home(tmp_path, server)
        with PageProcess(tmp_path) as running:
            running.enter()
            running.ask("GET", "/chats/1")
            with running.events() as events:
                send(running, "Look at this", ("cat.png", PNG))
                events.until("done")
    asked = str(server.requests[-1].payload["messages"])

    assert "1 image" in asked
    assert "you cannot see it" in asked
    assert "base64" not in asked


def test_a_picture_goes_with_the_person_who_is_forgotten(tmp_path: Path) -> None:
    """No file of theirs is left in the familiar's folder."""
    from tests.fakes.program import run_program

    with model_endpoint(stream_answer("Nice.")) as server:
        root = make_home(tmp_path, server)
        with PageProcess(tmp_path) as running:
            running.enter()
            running.ask("GET", "/chats/1")
            with running.events() as events:
                send(running, "My cat", ("cat.png", PNG))
                events.until("done")
        kept = list((root / "attachments").iterdir())
        done = run_program(tmp_path, "memory", "forget", "terminal:you", "--yes")

    assert len(kept) == 1
    assert done.returncode == 0, done.stderr
    assert list((root / "attachments").iterdir()) == []
