"""Attacks on the page that take patience: connections that never end, bodies without end, floods, crooked addresses."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.errors import HomeError
from familiar_connect.platforms.web import guard
from familiar_connect.platforms.web.access import Doorkeeper
from familiar_connect.platforms.web.guard import Guard
from familiar_connect.support.clock import ManualClock
from familiar_connect.support.http_server import server
from familiar_connect.support.http_server.checks import PageAddress, Receive, RequestRate, Scope, Send, limit_body
from tests.fakes.page import PageClient, PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.scripted_familiar import scripted_familiar
from tests.fakes.served_page import served_page
from tests.fakes.terminal import TerminalSession
from tests.fakes.waiting import wait_until

pytestmark = needs_page

SECRETS = {
    "OPENROUTER_API_KEY": "sk-very-secret-0123456789",
    "DISCORD_BOT": "discord-very-secret-0123456789",
    "TWITCH_TOKEN": "twitch-very-secret-0123456789",
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageProcess]:
    home = tmp_path_factory.mktemp("attacks")
    with model_endpoint() as model:
        make_home(home, model)
        (home / "secrets.env").write_text("".join(f"{name}={value}\n" for name, value in SECRETS.items()))
        (home / "secrets.env").chmod(0o600)
        with PageProcess(home) as running:
            running.enter()
            yield running


def raw(page: PageProcess, request: str) -> str:
    """What is answered to bytes as they are, until the connection is closed."""
    host, port = page.listens_at.split(":")
    head = request.format(host=page.host, cookie=page.cookie, origin=page.origin)
    with socket.create_connection((host, int(port)), timeout=200) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode("latin-1"))
        found = b""
        while piece := connection.recv(65536):
            found += piece
    return found.decode("latin-1")


def start_of(address: str, words: str) -> socket.socket:
    host, port = address.split(":")
    connection = socket.create_connection((host, int(port)), timeout=200)
    connection.sendall(words.replace("\n", "\r\n").encode())
    return connection


@pytest.mark.parametrize(
    "words",
    ["", "GET / HTTP/1.1\nHost: x\nX-Slow: ", "GET /open HTTP/1.1\nHost: {host}\n\nGET / HT"],
    ids=["nothing", "half a head", "half of a second request"],
)
async def test_a_connection_that_sends_no_request_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """Whoever trickles a request holds a connection for a moment only."""
    monkeypatch.setattr(server, "REQUEST_WITHIN_S", 0.01)
    async with scripted_familiar(tmp_path, ()) as house, served_page(house.familiar) as page:
        with await asyncio.to_thread(start_of, page.listens_at, words.format(host=page.host)) as connection:

            def read() -> bytes:
                found = b""
                try:
                    while piece := connection.recv(65536):
                        found += piece
                except ConnectionResetError:
                    pass
                return found

            ended = await asyncio.to_thread(read)

    assert b"200 OK" not in ended


async def test_a_client_that_reads_nothing_of_its_answer_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection is free again, and the others were served meanwhile."""
    monkeypatch.setattr(server, "READ_WITHIN_S", 0.01)
    async with scripted_familiar(tmp_path, ()) as house, served_page(house.familiar) as page:
        get = f"GET {page.at}/chats/1 HTTP/1.1\nHost: {page.host}\nCookie: {page.cookie}\n\n"
        with await asyncio.to_thread(start_of, page.listens_at, "") as stuck:
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

            def flood() -> bool:
                try:
                    for _ in range(100_000):
                        stuck.sendall(get.replace("\n", "\r\n").encode())
                except (ConnectionResetError, BrokenPipeError):
                    return True
                return False

            was_let_go = await asyncio.to_thread(flood)
        answer = await asyncio.to_thread(page.ask, "GET", "/static/page.css")

    assert was_let_go
    assert answer.status in (200, 429)


async def test_one_other_computer_cannot_hold_every_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past its share a connection is closed at once; those it has are served."""
    monkeypatch.setattr(server, "is_loopback", lambda host: False)
    monkeypatch.setattr(server, "MAX_PER_CLIENT", 2)
    async with scripted_familiar(tmp_path, ()) as house, served_page(house.familiar) as page:
        with ExitStack() as stack:
            held = [
                stack.enter_context(
                    await asyncio.to_thread(start_of, page.listens_at, f"GET /nowhere HTTP/1.1\nHost: {page.host}\n\n")
                )
                for _ in range(2)
            ]
            answers = [await asyncio.to_thread(each.recv, 100) for each in held]
            third = stack.enter_context(await asyncio.to_thread(start_of, page.listens_at, ""))
            try:
                refused = await asyncio.to_thread(third.recv, 100)
            except ConnectionResetError:
                refused = b""

    assert all(answer.startswith(b"HTTP/1.1 401") for answer in answers)
    assert refused == b""


async def test_a_body_that_never_comes_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request ends when its time is up."""
    monkeypatch.setattr(guard, "BODY_WITHIN_S", 0.01)
    async with scripted_familiar(tmp_path, ()) as house, served_page(house.familiar) as page:
        head = (
            f"POST {page.at}/chats/1/messages HTTP/1.1\nHost: {page.host}\nCookie: {page.cookie}\n"
            f"Origin: {page.origin}\nAccept: application/json\nContent-Length: 50\n\ntext="
        )
        with await asyncio.to_thread(start_of, page.listens_at, head) as connection:
            answer = await asyncio.to_thread(connection.recv, 65536)

    assert b"400 Bad Request" in answer


def test_chunks_without_end_are_cut_off_with_a_sentence(page: PageProcess) -> None:
    """No length was told, so it is counted as it comes; nothing of it is taken."""
    head = (
        f"POST {page.at}/chats/1/greeting HTTP/1.1\nHost: {page.host}\nCookie: {page.cookie}\nOrigin: {page.origin}\n"
        "Accept: application/json\nTransfer-Encoding: chunked\n\n"
    )
    chunk = f"100000\n{'x' * 0x100000}\n"
    with start_of(page.listens_at, head + 2 * chunk) as connection:
        answer = ""
        while not answer.endswith("}"):
            answer += connection.recv(65536).decode()

    assert "400 Bad Request" in answer
    assert "more than 2,000,000 bytes" in answer
    assert "Traceback" not in page.output


@pytest.mark.parametrize("path", ["/login", "/open", "/static/page.css"])
def test_a_stranger_can_send_little(page: PageProcess, path: str) -> None:
    """A password is short; nobody fills the memory before the door."""
    body = "password=" + "x" * 20_000
    answer = page.ask("POST", path, body, origin=page.origin, content_type="application/x-www-form-urlencoded")

    assert answer.status == 413


async def test_a_flood_of_strangers_does_not_keep_the_owner_out() -> None:
    """From the same computer: who was let in has a share of their own."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    clock = ManualClock(datetime(2026, 5, 1, tzinfo=UTC))
    door = Doorkeeper(key=b"k" * 32, port=80, clock=clock)
    address = PageAddress(host="127.0.0.1", port=80)
    watched = Guard(app, address=address, door=door, rate=RequestRate(1.0, 5, clock))

    async def ask(*headers: tuple[bytes, bytes]) -> int:
        codes: list[int] = []

        async def send(message: Any) -> None:
            codes.append(message.get("status", 0))

        async def receive() -> dict[str, Any]:
            return {"type": "http.request"}

        scope = {"type": "http", "method": "GET", "path": "/chats/1", "headers": [(b"host", b"localhost"), *headers]}
        await watched({**scope, "client": ("127.0.0.1", 9)}, receive, send)
        return codes[0]

    strangers = [await ask() for _ in range(8)]
    owner = await ask((b"cookie", f"{door.cookie_name}={door.issue_cookie()}".encode()))

    assert strangers == [401] * 5 + [429] * 3
    assert owner == 200


@pytest.mark.parametrize(
    "path",
    [
        "/f/ember//evil.example/",
        "/f/ember/%2F/evil.example/",
        "/f/ember/%5Cevil.example/",
        "/f/ember/%0d%0aSet-Cookie:%20stolen=1",
        "/f/ember/%0dSet-Cookie:%20stolen=1",
        "/f/ember/\\evil.example",
        "/f/ember/%E2%80%AE",
    ],
)
def test_no_address_leads_to_another_host_or_adds_a_header(page: PageProcess, path: str) -> None:
    """A redirect within the page is written anew."""
    answer = raw(page, "GET " + path + " HTTP/1.1\nHost: {host}\nCookie: {cookie}\nConnection: close\n\n")
    location = re.search(r"(?im)^location: (.*)$", answer)

    assert not re.search(r"(?im)^set-cookie: stolen", answer)
    assert location is None or re.match(r"/(?![/\\])", location[1])
    assert " 500 " not in answer.splitlines()[0]


@pytest.mark.parametrize("number", ["0", "-1", "9" * 19, "9" * 30, "9" * 5000, "１"])
@pytest.mark.parametrize(
    "path",
    [
        "/chats/{}",
        "/chats/1/messages/{}",
        "/chats/{}/events",
        "/places/{}",
        "/running/{}",
        "/chats/1/messages?after={}",
    ],
)
def test_a_number_that_names_nothing_is_no_failure(page: PageProcess, path: str, number: str) -> None:
    """However large; neither an answer nor the terminal shows how the program is made."""
    from urllib.parse import quote

    before = len(page.output)
    answer = page.ask("GET", path.format(quote(number)))

    assert answer.status in (200, 400, 404)
    assert "Traceback" not in answer.body + page.output[before:]


def test_no_page_shows_a_secret(page: PageProcess) -> None:
    """Every page that links lead to: settings, health, connections, files; neither keys nor our own token."""
    seen, waiting = set[str](), ["/chats/1", "/settings", "/health", "/connect", "/memory", "/turns", "/import"]
    while waiting and len(seen) < 120:
        path = waiting.pop(0)
        answer = page.ask("GET", path, encoding="latin-1")  # pictures are among them
        seen.add(path)
        shown = f"{answer.headers}{answer.body}"
        assert not any(value in shown for value in SECRETS.values()), path
        assert page.token not in shown, path
        found = re.findall(r'href="(/[^"#]*)"', answer.body)
        waiting += [each for each in dict.fromkeys(found) if each not in seen and each not in waiting]

    assert {"/settings", "/health", "/memory"} <= seen


def test_the_token_stays_out_of_what_is_logged(page: PageProcess) -> None:
    """It is printed once, for the person who started the page; no request writes it down again."""
    page.ask("GET", f"/open?token={page.token}")
    page.ask("GET", f"/open?token={page.token}x")

    assert page.output.count(page.token) == 1


def test_the_address_that_a_browser_is_started_with_opens_once(tmp_path: Path) -> None:
    """Whoever else lists the processes of this computer can read it; the printed one is not in it."""
    make_home(tmp_path)
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {seen}.part\nmv {seen}.part {seen}\n')
    browser.chmod(0o755)
    with TerminalSession(tmp_path, "web", "--port", "0", env={"BROWSER": str(browser)}) as terminal:
        terminal.wait_for_text("Ctrl-C stops.")
        wait_until(seen.exists, "a browser is started")
        started = seen.read_text()
        printed = re.search(r"http://(\S+)/open\?token=(\S+)", terminal.text)
        assert printed is not None
        client = PageClient()
        client.host = printed[1]
        path = "/" + started.partition("/")[2].partition("/")[2].partition("/")[2]
        codes = [client.ask("GET", path).status for _ in range(2)]
        owner = client.ask("GET", f"/open?token={printed[2]}").status

    assert started.startswith(f"http://{printed[1]}/open?token=")
    assert printed[2] not in started
    assert (codes, owner) == ([303, 403], 303)


async def test_who_keeps_a_half_sent_password_waiting_is_let_go() -> None:
    """What a stranger sends must come soon: it may hold no request open for minutes."""

    async def never() -> dict[str, Any]:
        return await asyncio.Future()

    with pytest.raises(HomeError, match="did not arrive in time"):
        await limit_body(never, 10, within_s=0.0)()
